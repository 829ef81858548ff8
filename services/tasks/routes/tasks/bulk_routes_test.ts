import { assertEquals, assertMatch } from "@std/assert";
import { SERVICE_HOST } from "../testing/test_api.ts";
import { openOperations } from "./bulk_routes.ts";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks/actions does something to tasks by ids and tells what it came to", async () => {
  const api = await openTasksApi();
  const ids = [];
  for (const status of ["waiting", "paused"]) {
    ids.push((await api.create({ status })).textAt("id"));
  }
  await api.create();
  const answer = await act(api, { action: "pause", ids: [...ids, "nope"] });
  assertEquals(answer.status, 200);
  assertEquals(answer.json, {
    action: "pause",
    dry_run: false,
    matched: 3,
    changed: 1,
    unchanged: 1,
    failed: 1,
    errors: [{
      id: "nope",
      code: "not_found",
      detail: "Cannot find task: no task has this id",
    }],
  });
  await api.close();
});

Deno.test("POST /v1/tasks/actions does each action by filter", async () => {
  const api = await openTasksApi();
  const status = async () => {
    const { data } = Object((await api.call("GET", "/v1/tasks")).json);
    return data.map((task: { status: string }) => task.status);
  };
  for (const delay of ["60s", "60s", "60s"]) {
    await api.create({ delay, tags: ["t"] });
  }
  await api.create({ delay: "90s" });
  const filter = { tag: "t" };
  const changed = async (action: string) =>
    (await act(api, { action, filter })).at("changed");
  assertEquals(await changed("pause"), 3);
  assertEquals(await status(), ["paused", "paused", "paused", "scheduled"]);
  assertEquals(await changed("resume"), 3);
  assertEquals(await changed("cancel"), 3);
  assertEquals(await changed("retry"), 3);
  assertEquals(
    (await status()).filter((one: string) => one === "waiting").length,
    3,
  );
  assertEquals(await changed("delete"), 3);
  assertEquals(await status(), ["scheduled"]);
  const actions =
    (await api.store.audit({ tenantId: api.tenant.id, limit: 99 }))
      .map(({ action }) => action);
  assertEquals(actions.filter((one) => one === "task.removed").length, 3);
  assertEquals(actions.filter((one) => one === "tasks.bulk").length, 5);
  await api.close();
});

Deno.test("POST /v1/tasks/actions only tells what it would do in a dry run", async () => {
  const api = await openTasksApi();
  await api.create();
  await api.create({ status: "paused" });
  await api.create();
  await api.work("complete");
  const filter = { status: ["active", "paused", "final"] };
  for (
    const [action, counts] of [
      ["pause", [1, 1, 1]],
      ["cancel", [2, 0, 1]],
      ["retry", [1, 0, 2]],
      ["delete", [3, 0, 0]],
    ] as const
  ) {
    const answer = await act(api, { action, filter, dry_run: true });
    const { changed, unchanged, failed } = Object(answer.json);
    assertEquals([action, [changed, unchanged, failed]], [action, counts]);
  }
  const list = await api.call("GET", "/v1/tasks?fields=version&count");
  assertEquals(list.at("count"), 3);
  assertEquals(
    await api.store.audit({ tenantId: api.tenant.id, limit: 9 }),
    [],
  );
  await api.close();
});

Deno.test("POST /v1/tasks/actions keeps to its limit, the oldest first", async () => {
  const api = await openTasksApi();
  const ids = [];
  for (const delay of ["90s", "60s", "30s"]) {
    ids.push((await api.create({ delay })).textAt("id"));
  }
  const answer = await act(api, {
    action: "cancel",
    filter: { status: "active" },
    limit: 2,
  });
  assertEquals(answer.at("changed"), 2);
  const left = await api.call("GET", "/v1/tasks?status=scheduled");
  assertEquals([left.at("data", 0, "id"), left.at("data", 1)], [
    ids[2],
    undefined,
  ]);
  await api.close();
});

Deno.test("POST /v1/tasks/actions goes through more tasks than one step has", async () => {
  const api = await openTasksApi();
  const tasks = Array.from({ length: 450 }, () => ({ worker: "mailer" }));
  await api.send("POST", "/v1/tasks/batch", { tasks });
  const answer = await act(api, {
    action: "cancel",
    filter: { worker: "mailer" },
  });
  assertEquals([answer.at("matched"), answer.at("changed")], [450, 450]);
  await api.close();
});

Deno.test("POST /v1/tasks/actions refuses orders that say too little or too much", async () => {
  const api = await openTasksApi();
  const faults = async (body: unknown) => listFaults(await act(api, body));
  assertEquals(await faults({ action: "cancel" }), [["", "exclusive"]]);
  assertEquals(
    await faults({ action: "cancel", ids: ["a"], filter: { job: "a" } }),
    [["", "exclusive"]],
  );
  assertEquals(await faults({ action: "cancel", filter: {} }), [[
    "/filter",
    "empty_filter",
  ]]);
  assertEquals(await faults({ action: "cancel", filter: { tz: "UTC" } }), [[
    "/filter",
    "empty_filter",
  ]]);
  assertEquals(await faults({ action: "explode", ids: ["a"] }), [[
    "/action",
    "unknown_choice",
  ]]);
  assertEquals(await faults({ action: "cancel", filter: { statsu: "x" } }), [[
    "/filter/statsu",
    "unknown_field",
  ]]);
  assertEquals(
    await faults({ action: "cancel", filter: { worker: "nobody" } }),
    [["/filter/worker", "unknown_worker"]],
  );
  assertEquals(
    await faults({ action: "cancel", filter: { start: "2016-13" } }),
    [["/filter/start", "bad_time"]],
  );
  await api.close();
});

Deno.test("POST /v1/tasks/actions begins what is too much to be done at once", async () => {
  const api = await openTasksApi();
  pretendMany(api);
  await api.send("POST", "/v1/tasks/batch", {
    tasks: Array.from({ length: 300 }, () => ({ worker: "mailer" })),
  });
  const body = { action: "cancel", filter: { status: "active" } };
  const call = { headers: { "idempotency-key": "bulk" } };
  const answer = await api.send("POST", "/v1/tasks/actions", body, call);
  assertEquals([answer.status, answer.at("status")], [202, "running"]);
  const id = answer.textAt("id");
  assertMatch(id, /^opr_/);
  assertEquals(
    answer.headers.location,
    `http://acme.tercet.test/api/v1/operations/${id}`,
  );
  const again = await api.send("POST", "/v1/tasks/actions", body, call);
  assertEquals([again.status, again.at("id")], [202, id]);
  const done = await untilDone(api, id);
  assertEquals([done.at("status"), done.at("changed")], ["done", 300]);
  const left = await api.call("GET", "/v1/tasks?status=active&limit=1");
  assertEquals(left.at("data"), []);
  await api.close();
});

Deno.test("GET /v1/operations/:id finds nothing of another tenant", async () => {
  const api = await openTasksApi();
  const other = await api.addTenant("globex");
  pretendMany(api);
  await api.create();
  const begun = await act(api, {
    action: "cancel",
    filter: { status: "active" },
  });
  const path = `/v1/operations/${begun.textAt("id")}`;
  const call = { key: other.ownerKey, host: `globex.${SERVICE_HOST}` };
  assertEquals((await api.call("GET", path, call)).status, 404);
  assertEquals((await api.call("GET", "/v1/operations/nope")).status, 404);
  await untilDone(api, begun.textAt("id"));
  await api.close();
});

Deno.test("Operations goes on after a restart with what was under way", async () => {
  const api = await openTasksApi();
  pretendMany(api);
  await api.send("POST", "/v1/tasks/batch", {
    tasks: Array.from({ length: 500 }, () => ({ worker: "mailer" })),
  });
  const begun = await act(api, {
    action: "cancel",
    filter: { status: "active" },
  });
  const id = begun.textAt("id");
  // Stopping waits for the step under way.
  await api.operations.stop();
  const stopped = await api.call("GET", `/v1/operations/${id}`);
  assertEquals(stopped.at("status"), "running");
  const later = openOperations(api.engine);
  assertEquals(await later.start(), 1);
  const done = await untilDone(api, id);
  assertEquals([done.at("status"), done.at("matched")], ["done", 500]);
  await later.stop();
  const last = openOperations(api.engine);
  assertEquals(await last.start(), 0);
  await last.stop();
  await api.close();
});

Deno.test("Operations tries again after the store failed", async () => {
  const api = await openTasksApi();
  pretendMany(api);
  await api.create();
  const { store } = api.engine.parts;
  const list = store.listTasks.bind(store);
  let failures = 2;
  store.listTasks = (query) =>
    query.count !== true && failures-- > 0
      ? Promise.reject(new Error("disk on fire"))
      : list(query);
  const begun = await act(api, {
    action: "cancel",
    filter: { status: "active" },
  });
  for (const _ of [1, 2, 3]) await api.clock.advanceAsync(1_000);
  const done = await untilDone(api, begun.textAt("id"));
  assertEquals([done.at("status"), done.at("changed")], ["done", 1]);
  await api.close();
});

Deno.test("Operations leaves alone what was made after the order, and bounds what is under way", async () => {
  const api = await openTasksApi();
  pretendMany(api);
  await api.operations.stop();
  const body = { action: "cancel", filter: { status: "active" } };
  await api.create();
  const first = await act(api, body);
  for (let index = 1; index < 10; index++) {
    assertEquals((await act(api, body)).status, 202);
  }
  const eleventh = await act(api, body);
  assertEquals([eleventh.status, eleventh.at("code")], [409, "wrong_state"]);
  await api.clock.advanceAsync(1);
  const late = await api.create();
  const runner = openOperations(api.engine);
  assertEquals(await runner.start(), 10);
  const done = await untilDone(api, first.textAt("id"));
  assertEquals(done.at("changed"), 1);
  await runner.stop();
  const read = await api.call("GET", `/v1/tasks/${late.textAt("id")}`);
  assertEquals(read.at("status"), "waiting");
  await api.close();
});

Deno.test("POST /v1/tasks/actions retries no task whose worker was removed", async () => {
  const api = await openTasksApi();
  await api.create();
  const orphan = await api.work("complete");
  const other = await api.addWorker({ name: "other" });
  const fine = (await api.create({ worker: other.name })).textAt("id");
  await api.call("POST", `/v1/tasks/${fine}/cancel`);
  await api.write(api.engine.parts.repositories.workers.remove(api.worker));
  for (const dry_run of [true, false]) {
    const answer = await api.send("POST", "/v1/tasks/actions", {
      action: "retry",
      ids: [orphan, fine],
      dry_run,
    });
    assertEquals([answer.status, answer.at("changed")], [200, 1]);
    assertEquals(answer.at("errors"), [{
      id: orphan,
      code: "unknown_worker",
      detail: `Cannot retry task: its worker "${api.worker.id}" was removed; ` +
        "give the task another one",
    }]);
  }
  const read = async (id: string) =>
    (await api.call("GET", `/v1/tasks/${id}`)).at("status");
  assertEquals([await read(orphan), await read(fine)], ["complete", "waiting"]);
  const removed = await api.send("POST", "/v1/tasks/actions", {
    action: "delete",
    ids: [orphan],
    dry_run: true,
  });
  assertEquals(removed.at("changed"), 1);
  await api.close();
});

function act(api: TasksApi, body: unknown) {
  return api.send("POST", "/v1/tasks/actions", body);
}

/** Makes the store report that there are more tasks than it can count. */
function pretendMany({ engine: { parts: { store } } }: TasksApi): void {
  const list = store.listTasks.bind(store);
  store.listTasks = async (query) => ({
    ...await list(query),
    ...(query.count === true
      ? { count: { value: 10_001, isExact: false } }
      : {}),
  });
}

async function untilDone(api: TasksApi, id: string) {
  for (let tries = 0; tries < 1_000; tries++) {
    const answer = await api.call("GET", `/v1/operations/${id}`);
    if (answer.at("status") !== "running") return answer;
  }
  throw new Error(`operation ${id} does not end`);
}
