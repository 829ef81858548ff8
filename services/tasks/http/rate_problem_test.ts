import { assertEquals, assertStringIncludes } from "@std/assert";
import { keyRoutes } from "../routes/keys/key_routes.ts";
import { openLeaseApi } from "../routes/leases/testing/lease_api.ts";
import { openTasksApi } from "../routes/tasks/testing/tasks_api.ts";
import { addTask } from "../routes/workers/testing/add_task.ts";
import { openTestApi } from "../routes/testing/test_api.ts";
import type { TestAnswer } from "../routes/testing/test_caller.ts";

const PATH = "/v1/keys";
const LIMITS = { requestsPerSecond: 3 };

async function statusesOf(
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
    await statusesOf(6, () => anonymous("203.0.113.1")),
    [401, 401, 401, 401, 401, 401],
  );
  const over = await wrong("203.0.113.1");
  assertEquals([over.status, over.at("code")], [429, "rate_limited"]);
  assertStringIncludes(over.textAt("detail"), "from one address");
  assertEquals(over.headers["ratelimit"], '"address";r=0;t=1');
  assertEquals((await wrong("203.0.113.2")).status, 401);
  // One customer has a whole network of them.
  await statusesOf(6, () => anonymous("2001:db8::1"));
  assertEquals((await anonymous("2001:db8::2")).status, 429);
  // The owner has all of the plan's, also from an address of strangers.
  const own = (): Promise<TestAnswer> =>
    api.call("GET", PATH, { address: "203.0.113.1" });
  assertEquals(await statusesOf(5, own), [200, 200, 200, 200, 200]);
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

Deno.test("a key that asks without end leaves the tenant's others something", async () => {
  const api = await openTestApi({ routes: keyRoutes, limits: LIMITS });
  const greedy = await api.addKey();
  for (let turn = 0; turn < 5; turn++) {
    await statusesOf(10, () => api.call("GET", PATH, { key: greedy }));
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
    await statusesOf(7, () => api.say(guess, "heartbeat")),
    [409, 409, 409, 409, 409, 409, 429],
  );
  // Of the plan's six one was spent on taking it.
  assertEquals(
    await statusesOf(6, () => api.say(lease, "heartbeat")),
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
  // Of 20 requests 5 are kept for other keys.
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
