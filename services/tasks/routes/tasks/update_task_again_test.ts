import { assertEquals } from "@std/assert";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

const HOUR_MS = 3_600_000;

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Reads a task, changes some members and sends all of it back. */
async function sendBack(
  api: TasksApi,
  id: string,
  changes: Readonly<Record<string, unknown>> = {},
) {
  const path = `/v1/tasks/${id}`;
  const read = await api.call("GET", path);
  const answer = await api.send("PUT", path, {
    ...Object(read.json),
    ...changes,
  });
  return { read, answer };
}

/** Makes tasks in ordinary states whose fields a new task could not have. */
const MAKERS: Readonly<Record<string, (api: TasksApi) => Promise<string>>> = {
  "done, its next date behind its expiry": async (api) => {
    await api.create({ repeat: { interval: "P1D" }, expires: "PT1H" });
    return await api.work("complete");
  },
  "in retry behind its expiry": async (api) => {
    const retry = { limit: 2, interval: "P1D" };
    await api.create({ retry, expires: "PT1H" });
    return await api.work("fail");
  },
  "paused behind its expiry": async (api) => {
    await api.create({ repeat: { interval: "P1D" }, expires: "PT1H" });
    const id = await api.work("complete");
    await api.call("POST", `/v1/tasks/${id}/pause`);
    return id;
  },
  "failed behind its expiry": async (api) => {
    const retry = { limit: 1, interval: "P1D" };
    await api.create({ retry, expires: "PT1H" });
    const id = await api.work("fail");
    await api.call("POST", `/v1/tasks/${id}/cancel`);
    return id;
  },
  "in retry behind the end of its schedule": async (api) => {
    const until = iso(api.clock.nowMs() + HOUR_MS);
    await api.create({
      repeat: { interval: "PT1H", until },
      retry: { limit: 2, interval: "P1D" },
    });
    return await api.work("fail");
  },
  "blocked by a dependency that was removed": async (api) => {
    const first = (await api.create({ delay: "60s" })).textAt("id");
    const second = await api.create({
      dependencies: [first],
      on_dependency_failure: "wait",
    });
    await api.call("DELETE", `/v1/tasks/${first}`);
    return second.textAt("id");
  },
  "of a job that its worker dropped": async (api) => {
    const worker = { worker: "other", job: "old" };
    const other = await api.addWorker({ name: "other", jobs: { old: {} } });
    const id = (await api.create(worker)).textAt("id");
    const { workers } = api.engine.parts.repositories;
    const changed = { ...other, version: other.version + 1, jobs: { new: {} } };
    await api.write(workers.update(other, changed));
    return id;
  },
};

for (const [name, make] of Object.entries(MAKERS)) {
  Deno.test(`PUT /v1/tasks/:id takes back a task that is ${name}`, async () => {
    const api = await openTasksApi();
    const id = await make(api);
    const { read, answer } = await sendBack(api, id);
    assertEquals([answer.status, answer.json], [200, read.json]);
    const labeled = await sendBack(api, id, { tags: ["t"] });
    assertEquals(labeled.answer.status, 200);
    assertEquals(labeled.answer.json, {
      ...Object(read.json),
      tags: ["t"],
      version: Number(read.at("version")) + 1,
    });
    await api.close();
  });
}
