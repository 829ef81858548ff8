import { assertEquals } from "@std/assert";
import { openTasksApi } from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks/:id/retry refuses a task whose worker was removed", async () => {
  const api = await openTasksApi();
  await api.create();
  const id = await api.work("complete");
  await api.write(api.engine.parts.repositories.workers.remove(api.worker));
  const answer = await api.call("POST", `/v1/tasks/${id}/retry`);
  assertEquals([answer.status, answer.at("code")], [422, "unknown_worker"]);
  const now = await api.call("GET", `/v1/tasks/${id}`);
  assertEquals([now.at("status"), now.at("version")], ["complete", 3]);
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
