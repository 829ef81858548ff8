import { assertEquals, assertStringIncludes } from "@std/assert";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

async function codesOf(api: TasksApi, id: string): Promise<readonly unknown[]> {
  const { hindrances } = Object(
    (await api.call("GET", `/v1/tasks/${id}/explain`)).json,
  );
  return hindrances.map(({ code }: { code: string }) => code);
}

Deno.test("GET /v1/tasks/:id/explain tells that a task is not due, and until when", async () => {
  const api = await openTasksApi();
  api.engine.liveness.seen({
    tenantId: api.tenant.id,
    workerId: api.worker.id,
  }, { nowMs: api.clock.nowMs() });
  const made = await api.create({ delay: "PT3H2M" });
  const answer = await api.call(
    "GET",
    `/v1/tasks/${made.textAt("id")}/explain`,
  );
  assertEquals(answer.json, {
    task: made.at("id"),
    status: "scheduled",
    hindrances: [{
      code: "not_due",
      message: "It is not due for 3 h 2 min",
      until: made.at("date"),
    }],
    earliest: made.at("date"),
  });
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of a silent and of a paused worker", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  assertEquals(await codesOf(api, id), ["worker_silent"]);
  const { books } = api.engine.parts;
  await api.write(books.workers.changing(api.worker, {
    ...api.worker,
    version: 2,
    isPaused: true,
  }));
  assertEquals(await codesOf(api, id), ["worker_paused", "worker_silent"]);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells the place in line", async () => {
  const api = await openTasksApi();
  await api.create({ priority: 5 });
  const first = (await api.create({ priority: 9 })).textAt("id");
  const last = (await api.create()).textAt("id");
  const now = { nowMs: api.clock.nowMs() };
  api.engine.liveness.seen({
    tenantId: api.tenant.id,
    workerId: api.worker.id,
  }, now);
  assertEquals(await codesOf(api, first), ["next_in_line"]);
  const answer = await api.call("GET", `/v1/tasks/${last}/explain`);
  assertStringIncludes(answer.textAt("hindrances", 0, "message"), "2 tasks");
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of full workers, dependencies, pauses and ends", async () => {
  const api = await openTasksApi({ limits: { concurrency: 1 } });
  const running = (await api.create()).textAt("id");
  await api.take();
  const waiting = (await api.create()).textAt("id");
  assertEquals(await codesOf(api, waiting), ["concurrency"]);
  assertEquals(await codesOf(api, running), ["running"]);
  const blocked = (await api.create({ dependencies: [waiting] })).textAt("id");
  const answer = await api.call("GET", `/v1/tasks/${blocked}/explain`);
  assertStringIncludes(answer.textAt("hindrances", 0, "message"), waiting);
  await api.call("POST", `/v1/tasks/${waiting}/pause`);
  assertEquals(await codesOf(api, waiting), ["paused"]);
  await api.call("POST", `/v1/tasks/${waiting}/cancel`);
  assertEquals(await codesOf(api, waiting), ["finished"]);
  await api.close();
});
