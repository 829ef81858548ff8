import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Task } from "../../domain/task.ts";
import type { Store } from "../store.ts";
import {
  change,
  changed,
  creation,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { databasePath } from "./database_file.ts";
import { migrateTasks } from "./migrations.ts";
import { TaskCounts } from "./task_counts.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const TENANT = "tnt_a";
const STATUSES = ["scheduled", "blocked", "waiting"] as const;

async function fill(store: Store, count: number): Promise<readonly Task[]> {
  const ids = sampleIds(count);
  const tasks = Array.from({ length: count }, (_, index) =>
    sampleTask({
      id: ids.next(),
      workerId: `wrk_${index % 2}`,
      status: STATUSES[index % 3]!,
      // More tasks have the same instant than a piece counts, and others do
      // not.
      dateMs: SAMPLE_MS + (index % 5 === 0 ? index : 0),
    }));
  await store.commit(toTransactions(...tasks.map(creation)));
  return tasks;
}

/** Changes the database without the store's knowledge. */
function tamper(folder: string, sql: string): void {
  const db = new DatabaseSync(databasePath(folder), { timeout: 5_000 });
  db.exec(sql);
  db.close();
}

Deno.test("Store.proveCounts() finds and mends counts that are wrong, missing or too many", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      await fill(store, 300);
      const counts = await store.counts({ tenantId: TENANT });
      assertEquals(await store.proveCounts(), 0);
      tamper(
        folder,
        "UPDATE task_counts SET count = count + 7 " +
          "WHERE lane = 1 AND status = 2; " +
          "DELETE FROM task_counts WHERE lane = 2 AND status = 1; " +
          "INSERT INTO task_counts VALUES(1, 2, 9, 4)",
      );
      assertEquals(await store.proveCounts(), 3);
      const top = {
        tenantId: TENANT,
        by: "job",
        limit: 9,
        statuses: ["scheduled", "waiting"],
      } as const;
      const queues = await store.topCounts(top);
      tamper(
        folder,
        "UPDATE job_counts SET count = count + 2 WHERE lane = 1; " +
          "DELETE FROM job_counts WHERE lane = 2 AND status = 0; " +
          "INSERT INTO job_counts VALUES(1, 2, 9, 'none', 4)",
      );
      assertEquals(await store.proveCounts() >= 3, true);
      assertEquals(await store.topCounts(top), queues);
      assertEquals(await store.counts({ tenantId: TENANT }), counts);
      assertEquals(await store.proveCounts(), 0);
    })
  );
});

Deno.test("Store.proveCounts() finds nothing while tasks change", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 20_000);
      let isOver = false;
      const proof = store.proveCounts().finally(() => isOver = true);
      let commits = 0;
      for (let from = 0; !isOver && from < tasks.length; from += 100) {
        const some = tasks.slice(from, from + 100);
        await store.commit(toTransactions(
          ...some.map((task) =>
            change(changed(task, { status: "failed", workerId: "wrk_2" }))
          ),
        ));
        commits++;
      }
      assertEquals(await proof, 0);
      assertEquals(await store.proveCounts(), 0);
      assertEquals(commits > 0, true);
      const { failed } = await store.counts({
        tenantId: TENANT,
        workerId: "wrk_2",
      });
      assertEquals(failed, Math.min(commits * 100, tasks.length));
    })
  );
});

Deno.test("the counts of a database of version 1 are made when it is opened", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, (store) => fill(store, 30).then(() => {}));
    tamper(
      folder,
      "DROP TABLE task_counts; DROP INDEX tasks_blocked; DROP INDEX tasks_due_again; " +
        "DROP TABLE probe; DROP TABLE starts; DROP TABLE events; " +
        "DROP TABLE listeners; DROP TRIGGER history_events; " +
        "DROP TRIGGER audit_events; " +
        "DROP TABLE job_counts; " +
        "DROP TABLE activity; DROP INDEX tasks_failing; " +
        "ALTER TABLE tasks DROP COLUMN failing_ms; " +
        "DROP INDEX tasks_repeating; " +
        "DROP INDEX tasks_repeating_by_creation; " +
        "ALTER TABLE tasks DROP COLUMN repeats; " +
        "DROP INDEX tasks_awaiting; ALTER TABLE tasks DROP COLUMN awaits; " +
        "DROP TABLE task_tags; ALTER TABLE tasks DROP COLUMN tags; " +
        "DELETE FROM migrations WHERE version > 1",
    );
    await withStore(folder, async (store) => {
      const { scheduled, ...others } = await store.counts({ tenantId: TENANT });
      assertEquals([scheduled, Object.keys(others).length], [10, 2]);
      assertEquals(await store.proveCounts(), 0);
    });
  });
});

Deno.test("TaskCounts keeps the counts of tenants apart", () => {
  const db = new DatabaseSync(":memory:");
  try {
    migrateTasks(db, { nowMs: 0 });
    const counts = new TaskCounts(db);
    counts.beginGroup();
    for (const tenant of [1, 2, 2]) {
      counts.move(tenant, { to: { queueId: 5, status: 2, job: "one" } });
    }
    counts.endTransaction(true);
    counts.endGroup();
    assertEquals(
      db.prepare("SELECT tenant, count FROM task_counts ORDER BY tenant").all()
        .map((row) => [row["tenant"], row["count"]]),
      [[1, 1], [2, 2]],
    );
  } finally {
    db.close();
  }
});
