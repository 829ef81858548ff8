import { assertEquals, assertStringIncludes } from "@std/assert";
import type { TestAnswer } from "../testing/test_caller.ts";
import { openTestApi, type TestApi } from "../testing/test_api.ts";
import type { Operations } from "../../engine/bulk/operations.ts";
import { allRoutes } from "../all_routes.ts";
import { openOperations } from "./bulk_routes.ts";

interface WaitApi extends TestApi {
  /** Makes a task and returns its id. */
  create(body?: object, key?: string): Promise<string>;
  /** Leases the task that is due, of which there is one at most. */
  lease(key?: string): Promise<TestAnswer>;
  /** Leases it and ends the attempt with a wait. */
  wait(waitFor: object): Promise<TestAnswer>;
  send(id: string, body: object, key?: string): Promise<TestAnswer>;
  decide(id: string, body: object, key?: string): Promise<TestAnswer>;
}

async function withApi(
  run: (api: WaitApi) => Promise<void>,
  options: Pick<Parameters<typeof openTestApi>[0], "limits"> = {},
): Promise<void> {
  let operations: Operations | undefined;
  const api = await openTestApi({
    ...options,
    routes: (parts) => {
      operations = openOperations(parts.engine);
      return allRoutes(parts, { operations });
    },
  });
  await api.addWorker({ name: "mailer" });
  const post = (path: string, body: unknown, key?: string) =>
    api.call("POST", path, { body, ...key === undefined ? {} : { key } });
  const lease = (key?: string) => post("/v1/workers/mailer/lease", {}, key);
  await run({
    ...api,
    create: async (body = {}, key) =>
      (await post("/v1/tasks", { worker: "mailer", ...body }, key))
        .textAt("id"),
    lease,
    async wait(waitFor) {
      const leased = await lease();
      const id = leased.textAt("leases", 0, "id");
      return await api.call("POST", `/v1/leases/${id}/wait`, {
        key: leased.textAt("leases", 0, "token"),
        body: { wait_for: waitFor },
      });
    },
    send: (id, body, key) => post(`/v1/tasks/${id}/events`, body, key),
    decide: (id, body, key) => post(`/v1/tasks/${id}/approval`, body, key),
  });
  await operations?.stop();
  await api.close();
}

Deno.test("POST /v1/leases/:id/wait lets the task wait until an event comes", async () => {
  await withApi(async (api) => {
    const id = await api.create();
    const state = { step: 2, list: ["é"] };
    const said = await api.wait({ event: "paid", timeout: "PT1H", state });
    assertEquals([said.status, said.at("status")], [200, "scheduled"]);
    const task = await api.call("GET", `/v1/tasks/${id}`);
    assertEquals(task.at("waiting_for"), {
      event: "paid",
      since: task.at("updated_at"),
      until: task.at("date"),
      on_timeout: "resume",
    });
    const explained = await api.call("GET", `/v1/tasks/${id}/explain`);
    assertEquals(explained.at("hindrances"), [{
      code: "awaits_event",
      message: 'It waits for the event "paid"',
      until: task.at("date"),
    }]);
    const attempts = await api.call("GET", `/v1/tasks/${id}/attempts`);
    assertEquals(attempts.at("data", 0, "outcome"), "waiting");
    const sent = await api.send(id, { event: "paid", data: { amount: 7 } });
    assertEquals([sent.status, sent.at("status")], [200, "waiting"]);
    assertEquals(sent.at("waiting_for"), undefined);
    const leased = await api.lease();
    assertEquals(leased.at("leases", 0, "attempt"), 1);
    assertEquals(leased.at("leases", 0, "resumed", "data"), { amount: 7 });
    assertEquals(leased.at("leases", 0, "resumed", "event"), "paid");
    assertEquals(leased.at("leases", 0, "resumed", "timed_out"), false);
    assertEquals(leased.at("leases", 0, "state"), state);
    const history = await api.call("GET", `/v1/tasks/${id}/history`);
    assertEquals(
      (history.at("data") as { type: string }[]).map(({ type }) => type),
      ["created", "started", "waiting", "resumed", "started"],
    );
    assertEquals(history.at("data", 3, "result"), '{"amount":7}');
    const check = await api.call("GET", `/v1/tasks/${id}/history/check`);
    assertEquals(check.at("is_whole"), true);
  });
});

Deno.test("POST /v1/leases/:id/wait refuses waits that are not clear", async () => {
  await withApi(async (api) => {
    await api.create();
    const leased = await api.lease();
    const id = leased.textAt("leases", 0, "id");
    const key = leased.textAt("leases", 0, "token");
    for (
      const wait of [
        {},
        { event: "a", approval: {} },
        { event: "two words" },
        { approval: { by: "viewer" } },
        { event: "a", timeout: "PT0S" },
        { event: "a", timeout: "P2Y" },
        { event: "a", state: "x".repeat(65_536) },
      ]
    ) {
      const { status, text } = await api.call("POST", `/v1/leases/${id}/wait`, {
        key,
        body: { wait_for: wait },
      });
      assertEquals(status, 422, text);
    }
    const said = await api.call("POST", "/v1/leases/batch", {
      body: {
        leases: [{
          ...{ id, token: key, action: "wait" },
          wait_for: { event: "a" },
        }],
      },
    });
    assertEquals(said.at("results", 0, "lease", "status"), "scheduled");
    const again = await api.call("POST", `/v1/leases/${id}/wait`, {
      key,
      body: { wait_for: { event: "a" } },
    });
    assertEquals([again.status, again.at("repeated")], [200, true]);
  });
});

Deno.test("POST /v1/tasks/:id/events keeps an event that comes before the wait", async () => {
  await withApi(async (api) => {
    const id = await api.create();
    assertEquals(
      (await api.send(id, { event: "paid" })).at("status"),
      "waiting",
    );
    const said = await api.wait({ event: "paid" });
    assertEquals(said.at("status"), "waiting", "resumed at once");
    const leased = await api.lease();
    assertEquals(leased.at("leases", 0, "resumed", "data"), null);
  });
});

Deno.test("POST /v1/tasks/:id/events sends one event for one Idempotency-Key", async () => {
  await withApi(async (api) => {
    const id = await api.create();
    const send = () =>
      api.call("POST", `/v1/tasks/${id}/events`, {
        body: { event: "paid", data: 1 },
        headers: { "idempotency-key": "order-17" },
      });
    await send();
    assertEquals((await send()).headers["idempotency-replayed"], "true");
    const task = await api.store.task(api.tenant.id, id);
    assertEquals(task?.wait?.events?.length, 1);
  });
});

Deno.test("POST /v1/tasks/:id/events resumes a task once when several come at once", async () => {
  await withApi(async (api) => {
    const id = await api.create();
    await api.wait({ event: "paid" });
    const sent = await Promise.all(
      Array.from(
        { length: 10 },
        (_, data) => api.send(id, { event: "paid", data }),
      ),
    );
    assertEquals(sent.map(({ status }) => status), Array(10).fill(200));
    const task = await api.store.task(api.tenant.id, id);
    assertEquals(task?.wait?.events?.length, 9, "the others are kept");
    const history = await api.call(
      "GET",
      `/v1/tasks/${id}/history?type=resumed`,
    );
    assertEquals((history.at("data") as unknown[]).length, 1);
  });
});

Deno.test("POST /v1/tasks/:id/events refuses ended tasks, too much data and wrong names", async () => {
  await withApi(async (api) => {
    const id = await api.create();
    const long = await api.send(id, { event: "a", data: "x".repeat(1_023) });
    assertEquals([long.status, long.at("code")], [413, "too_large"]);
    assertEquals((await api.send(id, { event: "a b" })).status, 422);
    assertEquals((await api.send("tsk_none", { event: "a" })).status, 404);
    const viewer = await api.addKey({ role: "viewer" });
    assertEquals((await api.send(id, { event: "a" }, viewer)).status, 403);
    await api.call("POST", `/v1/tasks/${id}/cancel`);
    const ended = await api.send(id, { event: "a" });
    assertEquals([ended.status, ended.at("code")], [409, "wrong_state"]);
  }, { limits: { payloadBytes: 1_024 } });
});

Deno.test("a wait that is over begins another attempt, which is told so", async () => {
  await withApi(async (api) => {
    const id = await api.create();
    await api.wait({ event: "paid", timeout: "PT1M" });
    const empty = await api.lease();
    assertEquals(empty.at("leases"), []);
    // No clock runs in this test: the engine's wakes the task at its date.
    api.clock.advance(60_000);
    await api.engine.changes.apply({
      tenantId: api.tenant.id,
      id,
      event: { kind: "wake" },
      actor: { type: "system", id: "system" },
    });
    const leased = await api.lease();
    assertEquals(leased.at("leases", 0, "task", "id"), id);
    assertEquals(leased.at("leases", 0, "resumed", "kind"), "timeout");
    assertEquals(leased.at("leases", 0, "resumed", "timed_out"), true);
  });
});

Deno.test("GET /v1/tasks?waiting= lists what waits for a person", async () => {
  await withApi(async (api) => {
    await api.create();
    await api.wait({ event: "paid" });
    const id = await api.create();
    await api.wait({ approval: { by: "admin" }, message: "Send it?" });
    await api.create({ delay: "P1D" });
    const list = async (query: string) =>
      ((await api.call("GET", `/v1/tasks?${query}`)).at("data") as {
        id: string;
      }[]).map(({ id }) => id);
    assertEquals(await list("waiting=approval"), [id]);
    assertEquals((await list("waiting=event")).length, 1);
    assertEquals((await list("status=scheduled")).length, 3);
    assertEquals(await list("waiting=approval&worker=other"), []);
    const explained = await api.call("GET", `/v1/tasks/${id}/explain`);
    assertEquals(explained.at("hindrances", 0, "code"), "awaits_approval");
    assertEquals(
      explained.at("hindrances", 0, "message"),
      'It waits for the approval of an admin ("Send it?")',
    );
  });
});

Deno.test("POST /v1/tasks/:id/approval lets a caller with the role decide, once", async () => {
  await withApi(async (api) => {
    const member = await api.addKey({ role: "member" });
    const admin = await api.addKey({ role: "admin" });
    const id = await api.create();
    const early = await api.decide(id, { decision: "approve" }, admin);
    assertEquals([early.status, early.at("code")], [409, "wrong_state"]);
    await api.wait({ approval: { by: "admin" } });
    const refused = await api.decide(id, { decision: "approve" }, member);
    assertEquals(refused.status, 403);
    assertStringIncludes(refused.textAt("detail"), 'the role "admin"');
    const body = { decision: "reject", comment: "Not today" };
    assertEquals((await api.decide(id, body, admin)).at("status"), "waiting");
    assertEquals((await api.decide(id, body, admin)).status, 409);
    const leased = await api.lease();
    assertEquals(leased.at("leases", 0, "resumed", "approved"), false);
    assertEquals(leased.at("leases", 0, "resumed", "comment"), "Not today");
    const audit = await api.call("GET", "/v1/audit");
    assertEquals(
      [audit.at("data", 0, "action"), audit.at("data", 0, "target")],
      ["task.rejected", id],
    );
  });
});

Deno.test("POST /v1/tasks/:id/approval refuses the creator where another person has to decide", async () => {
  await withApi(async (api) => {
    const creator = await api.addKey({ role: "admin", madeBy: "usr_a" });
    const second = await api.addKey({ role: "admin", madeBy: "usr_a" });
    const other = await api.addKey({ role: "admin", madeBy: "usr_b" });
    const id = await api.create({}, creator);
    await api.wait({ approval: { by: "member", by_another: true } });
    const body = { decision: "approve" };
    assertEquals((await api.decide(id, body, creator)).status, 403);
    assertEquals((await api.decide(id, body, second)).status, 403);
    assertEquals((await api.decide(id, body, other)).status, 200);
  });
});

Deno.test("an event's data and the saved state are hidden from who sees no payloads", async () => {
  await withApi(async (api) => {
    const blind = await api.addKey({ role: "owner", payloads: false });
    const id = await api.create();
    await api.wait({ event: "paid", state: { secret: 1 } });
    await api.send(id, { event: "paid", data: { secret: 2 } });
    const history = await api.call("GET", `/v1/tasks/${id}/history`, {
      key: blind,
    });
    const leased = await api.lease(blind);
    assertEquals(leased.at("leases", 0, "resumed", "event"), "paid");
    for (const { text } of [history, leased]) {
      assertEquals(text.includes("secret"), false, text);
    }
  });
});
