import { assertEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

type Item = Readonly<Record<string, unknown>>;

function sendBatch(api: TasksApi, items: readonly Item[], atomic = false) {
  const tasks = items.map((item) => ({ worker: "mailer", ...item }));
  return api.send("POST", "/v1/tasks/batch", { tasks, atomic });
}

type Batch = Awaited<ReturnType<typeof sendBatch>>;

function listStatuses(answer: Batch): readonly unknown[] {
  const results = answer.at("results") as readonly { status: number }[];
  return results.map(({ status }) => status);
}

const FLOW: readonly Item[] = [
  { ref: "sum", dependencies: ["left", "right"], job: "sum" },
  { ref: "left", dependencies: ["load"], job: "left" },
  { ref: "right", dependencies: ["load"], job: "right" },
  { ref: "load", job: "load" },
];

Deno.test("POST /v1/tasks/batch creates tasks that depend on each other by ref, in any order", async () => {
  for (const atomic of [true, false]) {
    const api = await openTasksApi();
    const answer = await sendBatch(api, FLOW, atomic);
    assertEquals(listStatuses(answer), [201, 201, 201, 201]);
    const id = (index: number) => answer.at("results", index, "task", "id");
    const dependencies = FLOW.map((_, index) =>
      answer.at("results", index, "task", "dependencies")
    );
    assertEquals(dependencies, [[id(1), id(2)], [id(3)], [id(3)], []]);
    const order: unknown[] = [];
    for (let count = 0; count < 4; count++) {
      order.push(await api.work("complete"));
      await api.clock.advanceAsync(0);
    }
    assertEquals([order[0], order[3]], [id(3), id(0)]);
    await api.close();
  }
});

Deno.test("POST /v1/tasks/batch mixes refs with ids, and lets a ref mean the task that has the key", async () => {
  const api = await openTasksApi();
  const there = (await api.create({ key: "k", delay: "60s" })).textAt("id");
  const other = (await api.create({ delay: "60s" })).textAt("id");
  const answer = await sendBatch(api, [
    { ref: "kept", key: "k" },
    { dependencies: [other, "kept"] },
  ]);
  assertEquals(listStatuses(answer), [200, 201]);
  assertEquals(answer.at("results", 1, "task", "dependencies"), [other, there]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch refuses circles, refs that are taken or unknown, and refs that look like ids", async () => {
  const api = await openTasksApi();
  const answer = await sendBatch(api, [
    { ref: "a", dependencies: ["b"] },
    { ref: "b", dependencies: ["a"] },
    { ref: "c", dependencies: ["c"] },
    { dependencies: ["a"] },
    { ref: "d" },
    { ref: "d" },
    { dependencies: ["nobody"] },
    { ref: "tsk_1" },
    {},
  ]);
  const faults = listStatuses(answer).map((_, index) =>
    listFaults({
      at: (...path) => answer.at("results", index, "problem", ...path),
    })
  );
  assertEquals(faults, [
    [["/tasks/0/dependencies", "circular"]],
    [["/tasks/1/dependencies", "circular"]],
    [["/tasks/2/dependencies", "circular"]],
    [["/tasks/3/dependencies/0", "refused_dependency"]],
    [],
    [["/tasks/5/ref", "not_unique"]],
    [["/tasks/6/dependencies/0", "unknown_task"]],
    [["/tasks/7/ref", "wrong_form"]],
    [],
  ]);
  const alone = await api.create({ ref: "a" });
  assertEquals(listFaults(alone), [["/ref", "needs_batch"]]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch creates nothing that depends on a task that it refuses", async () => {
  const broken = { ref: "load", worker: "nobody" };
  for (const atomic of [true, false]) {
    const api = await openTasksApi();
    const items = [...FLOW.slice(0, 3), broken, { job: "other" }];
    const answer = await sendBatch(api, items, atomic);
    if (atomic) assertEquals(answer.status, 422);
    else assertEquals(listStatuses(answer), [422, 422, 422, 422, 201]);
    const list = await api.call("GET", "/v1/tasks");
    assertEquals((list.at("data") as unknown[]).length, atomic ? 0 : 1);
    await api.close();
  }
});

Deno.test("POST /v1/tasks/batch refuses what depends on a task that the plan has no room for", async () => {
  const api = await openTasksApi({ limits: { activeTasks: 2 } });
  const answer = await sendBatch(api, [
    { job: "one" },
    { ref: "early", dependencies: ["late"] },
    { ref: "late" },
  ]);
  assertEquals(listStatuses(answer), [201, 422, 403]);
  const [fault] = listFaults({
    at: (...path) => answer.at("results", 1, "problem", ...path),
  });
  assertEquals(fault, ["/tasks/1/dependencies/0", "refused_dependency"]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch closes no circle over a key that two of its tasks have", async () => {
  const api = await openTasksApi();
  const answer = await sendBatch(api, [
    { ref: "a", key: "k" },
    { ref: "b", dependencies: ["a"] },
    { key: "k", on_conflict: "replace", dependencies: ["b"] },
    { key: "k", on_conflict: "replace", data: 7 },
  ]);
  assertEquals(listStatuses(answer), [201, 201, 422, 200]);
  assertEquals(
    answer.at("results", 2, "problem", "errors", 0, "code"),
    "circular",
  );
  const first = answer.at("results", 0, "task", "id");
  assertEquals(answer.at("results", 1, "task", "dependencies"), [first]);
  assertEquals(answer.at("results", 3, "task", "data"), 7);
  assertEquals(answer.at("results", 3, "task", "id"), first);
  await api.close();
});

Deno.test("POST /v1/tasks/batch gives the same flow again to the same Idempotency-Key", async () => {
  const api = await openTasksApi();
  const body = {
    tasks: FLOW.map((item) => ({ worker: "mailer", ...item })),
  };
  const headers = { "idempotency-key": "flow" };
  const [one, two] = [
    await api.send("POST", "/v1/tasks/batch", body, { headers }),
    await api.send("POST", "/v1/tasks/batch", body, { headers }),
  ];
  assertEquals(one.json, two.json);
  const list = await api.call("GET", "/v1/tasks");
  assertEquals((list.at("data") as unknown[]).length, 4);
  await api.close();
});
