import { assertEquals, assertStringIncludes } from "@std/assert";
import { keyRoutes } from "../routes/keys/key_routes.ts";
import { openLeaseApi } from "../routes/leases/testing/lease_api.ts";
import { openTasksApi } from "../routes/tasks/testing/tasks_api.ts";
import { openTestApi } from "../routes/testing/test_api.ts";
import type { TestAnswer } from "../routes/testing/test_caller.ts";
import { addTask } from "../routes/workers/testing/add_task.ts";
import { RequestRate } from "./request_rate.ts";

const TEN = { perSecond: 10, nowMs: 0 };

/** How many of `times` requests are let through. */
function countAdmitted(
  times: number,
  take: () => { readonly kind: string },
): number {
  return Array.from({ length: times }, take)
    .filter(({ kind }) => kind === "ok").length;
}

Deno.test("RequestRate.take() lets two seconds' worth through at once, then the rate", () => {
  const rate = new RequestRate();
  assertEquals(countAdmitted(30, () => rate.take("a", TEN)), 20);
  assertEquals(rate.take("a", TEN), { kind: "over", retryAfterMs: 100 });
  assertEquals(rate.take("b", TEN), { kind: "ok" });
  assertEquals(
    countAdmitted(30, () => rate.take("a", { ...TEN, nowMs: 500 })),
    5,
  );
});

Deno.test("RequestRate.take() lets one part have all of it while the others do not ask", () => {
  for (const perSecond of [1, 2, 3, 10, 1_000]) {
    const rate = new RequestRate();
    const take = (nowMs: number) => () =>
      rate.take("a", { perSecond, nowMs, part: "one" });
    const kept = Math.floor(perSecond / 2);
    assertEquals(countAdmitted(5_000, take(0)), perSecond * 2 - kept);
    // The part goes on at the full rate, asking again and again.
    let through = 0;
    for (let nowMs = 1; nowMs <= 10_000; nowMs++) {
      through += countAdmitted(3, take(nowMs));
    }
    assertEquals(Math.abs(through - perSecond * 10) <= 1, true, `${through}`);
  }
});

Deno.test("RequestRate.take() lets no part keep the others out", () => {
  const rate = new RequestRate();
  let others = 0;
  for (let nowMs = 0; nowMs < 10_000; nowMs += 10) {
    const options = { ...TEN, nowMs };
    countAdmitted(5, () => rate.take("a", { ...options, part: "greedy" }));
    // Once a second the quiet part asks, after the greedy one.
    if (nowMs % 1_000 === 500) {
      others += countAdmitted(
        1,
        () => rate.take("a", { ...options, part: "quiet" }),
      );
    }
  }
  assertEquals(others, 10);
});

Deno.test("RequestRate.take() tells when a part may ask again", () => {
  const rate = new RequestRate();
  const take = (nowMs: number) =>
    rate.take("a", { ...TEN, nowMs, part: "one" });
  countAdmitted(20, () => take(0));
  let nowMs = 0;
  for (let turn = 0; turn < 20; turn++) {
    const verdict = take(nowMs);
    if (verdict.kind === "ok") continue;
    nowMs += Math.ceil(verdict.retryAfterMs);
    assertEquals(take(nowMs).kind, "ok", `turn ${turn}`);
  }
});

Deno.test("RequestRate.take() lets one through also at a rate below one in two seconds", () => {
  const rate = new RequestRate();
  const take = (nowMs: number) =>
    rate.take("a", { perSecond: 0.1, nowMs, part: "one" });
  assertEquals(take(0), { kind: "ok" });
  assertEquals(take(0), { kind: "over", retryAfterMs: 10_000 });
  assertEquals(take(10_000), { kind: "ok" });
});

Deno.test("RequestRate.charge() lets a part pay for what it did before it asks again", () => {
  const rate = new RequestRate();
  const one = { ...TEN, part: "one" };
  assertEquals(rate.take("a", one), { kind: "ok" });
  // Of 20 tokens one is spent, and the last 5 are reserved for other parts.
  rate.charge("a", 34, one);
  assertEquals(rate.take("a", one), { kind: "over", retryAfterMs: 2_100 });
  assertEquals(rate.take("a", { ...TEN, part: "other" }), { kind: "ok" });
  assertEquals(rate.take("a", { ...one, nowMs: 2_199 }).kind, "over");
  assertEquals(rate.take("a", { ...one, nowMs: 2_201 }), { kind: "ok" });
});

Deno.test("RequestRate.charge() lets ten seconds' worth be owed at most", () => {
  const rate = new RequestRate();
  const one = { ...TEN, part: "one" };
  for (let time = 0; time < 3; time++) rate.charge("a", 1_000_000, one);
  assertEquals(rate.take("a", one), { kind: "over", retryAfterMs: 10_600 });
});

Deno.test("RequestRate.charge() lets no number of parts have much more than the rate", () => {
  const rate = new RequestRate();
  const parts = 10;
  let spent = 0;
  for (let nowMs = 0; nowMs < 600_000; nowMs += 100) {
    for (let part = 0; part < parts; part++) {
      const options = { ...TEN, nowMs, part: `part ${part}` };
      if (rate.take("a", options).kind === "over") continue;
      rate.charge("a", 99, options);
      spent += 100;
    }
  }
  // While the name is in debt, each part may begin once, and seldom again.
  assertEquals(spent <= 1.5 * 600 * TEN.perSecond, true, `${spent}`);
});

Deno.test("RequestRate.take() lets parts that ask little go on beside one in debt", () => {
  const rate = new RequestRate();
  rate.charge("a", 1_000_000, { ...TEN, part: "greedy" });
  for (let second = 1; second <= 9; second++) {
    const part = { ...TEN, nowMs: second * 1_000, part: "other" };
    assertEquals(rate.take("a", part), { kind: "ok" });
    assertEquals(rate.take("a", part), { kind: "ok" });
    assertEquals(rate.take("a", { ...part, part: "greedy" }).kind, "over");
  }
});

const PATH = "/v1/keys";
const LIMITS = { requestsPerSecond: 3 };

async function collectStatuses(
  times: number,
  ask: () => Promise<TestAnswer>,
): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time++) statuses.push((await ask()).status);
  return statuses;
}

Deno.test("requests without credentials cost the tenant nothing, and are counted by address", async () => {
  const api = await openTestApi({ routes: keyRoutes, limits: LIMITS });
  const anonymous = (address: string): Promise<TestAnswer> =>
    api.call("GET", PATH, { key: null, address });
  const wrong = (address: string): Promise<TestAnswer> =>
    api.call("GET", PATH, { key: "dk_wrong", address });
  assertEquals(
    await collectStatuses(6, () => anonymous("203.0.113.1")),
    [401, 401, 401, 401, 401, 401],
  );
  const over = await wrong("203.0.113.1");
  assertEquals([over.status, over.at("code")], [429, "rate_limited"]);
  assertStringIncludes(over.textAt("detail"), "from one address");
  assertEquals(over.headers["ratelimit"], '"address";r=0;t=1');
  assertEquals((await wrong("203.0.113.2")).status, 401);
  // A network of IPv6 addresses belongs to one customer.
  await collectStatuses(6, () => anonymous("2001:db8::1"));
  assertEquals((await anonymous("2001:db8::2")).status, 429);
  // The owner may use all of the plan's rate, also from such an address.
  const own = (): Promise<TestAnswer> =>
    api.call("GET", PATH, { address: "203.0.113.1" });
  assertEquals(await collectStatuses(5, own), [200, 200, 200, 200, 200]);
  const most = await own();
  assertEquals([most.status, most.headers["ratelimit"]], [
    429,
    '"plan";r=0;t=1',
  ]);
  api.clock.advance(1_000);
  assertEquals((await own()).status, 200);
  assertEquals((await anonymous("203.0.113.1")).status, 401);
  await api.close();
});

Deno.test("each of several instances gives its share of a tenant's rate", async () => {
  let instances = 4;
  const api = await openTestApi({
    routes: keyRoutes,
    limits: { requestsPerSecond: 8 },
    liveInstances: () => instances,
  });
  const ask = async (times: number): Promise<readonly TestAnswer[]> => {
    const answers: TestAnswer[] = [];
    for (let left = times; left > 0; left--) {
      answers.push(await api.call("GET", "/v1/keys"));
    }
    return answers.filter(({ status }) => status === 429);
  };
  // A bucket holds what comes in two seconds; one part leaves some of it.
  const over = await ask(6);
  assertEquals(over.length, 3);
  const [first] = over;
  assertStringIncludes(first?.textAt("detail") ?? "", "8 requests a second");
  assertStringIncludes(first?.textAt("detail") ?? "", "one of 4 instances");
  api.clock.advance(2_000);
  assertEquals((await ask(4)).length, 1);
  instances = 1;
  api.clock.advance(2_000);
  const alone = await ask(16);
  assertEquals(alone.length, 4);
  assertEquals(alone[0]?.textAt("detail").includes("instances"), false);
  await api.close();
});

Deno.test("a key that asks without end leaves the tenant's others something", async () => {
  const api = await openTestApi({ routes: keyRoutes, limits: LIMITS });
  const greedy = await api.addKey();
  for (let turn = 0; turn < 5; turn++) {
    await collectStatuses(10, () => api.call("GET", PATH, { key: greedy }));
    assertEquals((await api.call("GET", PATH)).status, 200, `turn ${turn}`);
    api.clock.advance(2_000);
  }
  await api.close();
});

Deno.test("words of leases are counted by address until it is known who says them", async () => {
  const api = await openLeaseApi({ limits: LIMITS });
  await addTask(api, api.mailer);
  const lease = await api.take();
  const guess = { ...lease, token: "lt_guess" };
  assertEquals(
    await collectStatuses(7, () => api.say(guess, "heartbeat")),
    [409, 409, 409, 409, 409, 409, 429],
  );
  // Leasing the task took one of the plan's six requests.
  assertEquals(
    await collectStatuses(6, () => api.say(lease, "heartbeat")),
    [200, 200, 200, 200, 200, 429],
  );
  await api.close();
});

Deno.test("a batch counts as a request for each ten tasks", async () => {
  const api = await openTasksApi({ limits: { requestsPerSecond: 10 } });
  const batch = (tasks: number): Promise<TestAnswer> =>
    api.send("POST", "/v1/tasks/batch", {
      tasks: Array.from({ length: tasks }, () => ({ worker: "mailer" })),
    });
  // Of 20 requests 5 are reserved for other keys.
  assertEquals((await batch(10)).status, 200);
  assertEquals((await batch(340)).status, 200);
  const refused = await batch(1);
  assertEquals([refused.status, refused.headers["ratelimit"]], [
    429,
    '"plan";r=0;t=3',
  ]);
  api.clock.advance(2_100);
  assertEquals((await batch(1)).status, 200);
  await api.close();
});

Deno.test("a bulk action counts as a request for each ten tasks that it finds", async () => {
  const api = await openTasksApi({ limits: { requestsPerSecond: 10 } });
  for (let made = 0; made < 3; made++) {
    await api.send("POST", "/v1/tasks/batch", {
      tasks: Array.from({ length: 100 }, () => ({ worker: "mailer" })),
    });
    api.clock.advance(60_000);
  }
  const act = (action: string): Promise<TestAnswer> =>
    api.send("POST", "/v1/tasks/actions", {
      action,
      filter: { worker: "mailer" },
    });
  assertEquals((await act("pause")).status, 200);
  assertEquals((await act("resume")).status, 429);
  await api.close();
});
