import { assertEquals } from "@std/assert";
import { SERVICE_HOST } from "../testing/test_api.ts";
import { openTasksApi } from "./testing/tasks_api.ts";

Deno.test("tasks of one tenant are not there for another one", async () => {
  const api = await openTasksApi();
  const other = await api.addTenant("globex");
  await api.addWorker({ tenantId: other.tenant.id, name: "theirs" });
  const call = { key: other.ownerKey, host: `globex.${SERVICE_HOST}` };
  const made = await api.create({ key: "k", data: 1 });
  const id = made.textAt("id");
  const never = "tsk_37efnd0000749gadqcbm8b2hrm";
  for (
    const [method, path, body] of [
      ["GET", "", undefined],
      ["PUT", "", { data: 2 }],
      ["PATCH", "", { data: 2 }],
      ["DELETE", "", undefined],
      ["GET", "/history", undefined],
      ["GET", "/attempts", undefined],
      ["GET", "/explain", undefined],
      ["POST", "/cancel", undefined],
      ["POST", "/retry", undefined],
      ["POST", "/run", undefined],
      ["POST", "/pause", undefined],
      ["POST", "/resume", undefined],
    ] as const
  ) {
    const bodies = [];
    for (const target of [id, never, "nonsense"]) {
      const answer = await api.call(method, `/v1/tasks/${target}${path}`, {
        ...call,
        ...(body === undefined ? {} : { body }),
      });
      const { request_id: _id, instance: _instance, ...rest } = Object(
        answer.json,
      );
      bodies.push({ status: answer.status, ...rest });
    }
    assertEquals(bodies[0]?.status, 404);
    assertEquals(bodies[1], bodies[0]);
    assertEquals(bodies[2], bodies[0]);
  }
  assertEquals((await api.call("GET", "/v1/tasks?count", call)).at("count"), 0);
  assertEquals((await api.call("GET", `/v1/tasks/${id}`)).json, made.json);
  await api.close();
});

Deno.test("a tenant's task cannot name another one's worker, task or key", async () => {
  const api = await openTasksApi();
  const other = await api.addTenant("globex");
  await api.addWorker({ tenantId: other.tenant.id, name: "theirs" });
  const call = { key: other.ownerKey, host: `globex.${SERVICE_HOST}` };
  const made = await api.create({ key: "k" });
  const send = (body: Record<string, unknown>) =>
    api.send("POST", "/v1/tasks", body, call);
  assertEquals((await send({ worker: "mailer" })).at("code"), "unknown_worker");
  assertEquals(
    (await send({ worker: api.worker.id })).at("code"),
    "unknown_worker",
  );
  const dependent = { worker: "theirs", dependencies: [made.textAt("id")] };
  assertEquals((await send(dependent)).status, 422);
  assertEquals((await send({ worker: "theirs", key: "k" })).status, 201);
  const bulk = await api.send("POST", "/v1/tasks/actions", {
    action: "cancel",
    ids: [made.textAt("id")],
  }, call);
  assertEquals([bulk.at("changed"), bulk.at("failed")], [0, 1]);
  assertEquals(bulk.at("errors", 0, "code"), "not_found");
  await api.close();
});

Deno.test("a key of one tenant is nobody's at another one's host", async () => {
  const api = await openTasksApi();
  const other = await api.addTenant("globex");
  const answer = await api.call("GET", "/v1/tasks", { key: other.ownerKey });
  assertEquals([answer.status, answer.at("code")], [
    401,
    "invalid_credentials",
  ]);
  await api.close();
});

Deno.test("an Idempotency-Key of one tenant means nothing to another one", async () => {
  const api = await openTasksApi();
  const other = await api.addTenant("globex");
  await api.addWorker({ tenantId: other.tenant.id });
  const headers = { "idempotency-key": "same" };
  const body = { worker: "mailer" };
  const ours = await api.send("POST", "/v1/tasks", body, { headers });
  const theirs = await api.send("POST", "/v1/tasks", body, {
    headers,
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals([ours.status, theirs.status], [201, 201]);
  assertEquals(theirs.headers["idempotency-replayed"], undefined);
  await api.close();
});
