import { assert, assertEquals } from "@std/assert";
import {
  backupDatabase,
  restoreDatabase,
} from "../../services/tasks/store/sqlite/backup.ts";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { type TaskJson, TasksClient } from "./tasks_client.ts";
import { createOwnerKey, getTarget } from "./tenant_client.ts";

Deno.test("tasks goes on from a backup that was taken while it was written to", async () => {
  await using folder = await DataFolder.make();
  const [dataDir, restoredDir] = [
    `${folder.path}/data`,
    `${folder.path}/restored`,
  ];
  const file = `${folder.path}/backup.db`;
  await using service = await startTasks({ dataDir });
  const token = await createOwnerKey(service, "acme");
  const host = "acme.tasks.test";
  using client = new TasksClient({
    target: () => getTarget(service),
    host,
    token,
  });
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
  let isWriting = true;
  const ids: string[] = [];
  // The ids by writer, each of which waits for the answer before it goes on.
  const writers: string[][] = Array.from({ length: 4 }, () => []);
  const writing = writers.map(async (own) => {
    while (isWriting) {
      const { id } = await client.expect<TaskJson>(201, [
        "POST",
        "/api/v1/tasks",
        { worker: "mailer" },
      ]);
      ids.push(id);
      own.push(id);
    }
  });
  await waitUntil(() => ids.length >= 100, { what: "some tasks" });
  const before = ids.length;
  await backupDatabase({ dataFolder: dataDir, to: file });
  const during = ids.length;
  await waitUntil(() => ids.length >= during + 50, { what: "more tasks" });
  isWriting = false;
  await Promise.all(writing);
  assertEquals(await service.stop(), 0);

  await restoreDatabase({ from: file, dataFolder: restoredDir });
  await using restored = await startTasks({ dataDir: restoredDir });
  using later = new TasksClient({
    target: () => getTarget(restored),
    host,
    token,
  });
  const there = new Set<string>();
  for (const id of ids) {
    const { status } = await later.call("GET", `/api/v1/tasks/${id}`);
    if (status === 200) there.add(id);
  }
  // All tasks acknowledged before the backup began are there.
  assertEquals(ids.slice(0, before).filter((id) => !there.has(id)), []);
  // The copy is of one moment: it has no task without all those that its writer
  // had been answered for before.
  for (const own of writers) {
    const kept = own.filter((id) => there.has(id));
    assertEquals(kept, own.slice(0, kept.length));
  }
  const { id } = await later.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
    worker: "mailer",
  }]);
  assert(!ids.includes(id));
  assertEquals(await restored.stop(), 0);
});
