import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { databaseVersion } from "../../../shared/sqlite/migrations.ts";
import { sha256 } from "../digest.ts";
import {
  creation,
  HOURLY,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { databasePath } from "./database_file.ts";
import { historyCheck } from "./history_check.ts";
import { migrateTasks, MIGRATIONS } from "./migrations.ts";
import { withFolder, withStore } from "./testing/open_store.ts";
import {
  FIXTURE_TASK,
  FIXTURE_TENANT,
  makeV1Fixture,
} from "./testing/v1_fixture.ts";

Deno.test("MIGRATIONS are numbered without a gap", () => {
  assertEquals(
    MIGRATIONS.map(({ version }) => version),
    MIGRATIONS.map((_, index) => index + 1),
  );
});

Deno.test("MIGRATIONS that were released never change", () => {
  // Databases with these tables exist. A new migration gets another line here;
  // existing lines must never change.
  assertEquals(
    MIGRATIONS.map(({ version, name, sql }) => [version, name, sha256(sql)]),
    [
      [1, "initial", "Y5vO5TuRogjo9vd5j5s55PPaVWyz0f5XnVkFKJqpJmo"],
      [2, "counts", "Tz4Mbh4vU1xxi2QiehEcDtFzkv9Ft9xESyWYROfv5p8"],
      [3, "proofs", "3-6ZqNHDRIWt-KrHzvOU04C6LO4Wa108UOvmx76dVks"],
      [4, "mirrored users", "8eXUQ3Dgct5srkXYzCMtFND5e7oCnzkwjNDTEe7yF3s"],
      [5, "no proofs", "LG-dO7B5Ua7IRz-7roj8wBflRjHsLA82bqpRe1xJ9RA"],
      [6, "starts", "jeQ2q-km4Vj7z9L4nCCxWQ0qXrtyCz6nO4R-OE4t2xg"],
      [7, "events", "TWU2sRnYKrXeQHt4QWvtLz6BWG_AzWra3NmD94cvZ6k"],
      [8, "kept counts", "UbkxBbXxtb8Y25CkI4eW_DdB23d-c9fBPj-hOcn2XM8"],
      [9, "repeating tasks", "RTte3Zip3bHnReY2OTVwYDUyosENzgbEXvS1jfgN7_Y"],
      [10, "waiting tasks", "wV5ziBNgFywsc71VZJoJ_woIAJ05n7WXCt14gw-8TEc"],
      [11, "task tags", "8RvYbN7D_jnyWbY4UZD7zUTa7mGKIfdMBxQAZ9YpyQE"],
    ],
  );
});

Deno.test("migrateTasks() leads to the latest version, and only once", () => {
  const db = new DatabaseSync(":memory:");
  migrateTasks(db, { nowMs: 5 });
  migrateTasks(db, { nowMs: 6 });
  assertEquals(databaseVersion(db), MIGRATIONS.length);
  assertEquals(
    db.prepare("SELECT DISTINCT applied_ms AS at FROM migrations").all()
      .map((row) => row["at"]),
    [5],
  );
  db.close();
});

Deno.test("a store reads what version 1 left", async () => {
  await withFolder(async (folder) => {
    makeV1Fixture(folder);
    await withStore(folder, async (store) => {
      const tenantId = FIXTURE_TENANT;
      const { id, workerId } = FIXTURE_TASK;
      assertEquals(await store.task(tenantId, id), FIXTURE_TASK);
      assertEquals(
        await store.taskByKey({ tenantId, workerId, key: "k" }),
        FIXTURE_TASK,
      );
      assertEquals(
        await store.dependents({
          tenantId,
          ids: FIXTURE_TASK.dependencies.slice(0, 1),
          limit: 9,
        }),
        [id],
      );
      assertEquals(
        await store.waking(FIXTURE_TASK.dateMs, 9),
        [FIXTURE_TASK],
      );
      const { records } = await store.history({
        tenantId,
        taskId: id,
        order: "asc",
        limit: 9,
      });
      assertEquals(records.map(({ seq, hash }) => [seq, hash]), [[1, "hash"]]);
      assertEquals(
        (await store.recordByAlias("worker", tenantId, "Mail"))?.id,
        "wrk_1",
      );
      assertEquals((await store.idempotency(tenantId, "key", 5))?.status, 201);
      assertEquals(await store.usage(tenantId, "2026-12"), { executions: 7 });
      assertEquals(
        (await store.audit({ tenantId, limit: 9 })).length,
        1,
      );
    });
  });
});

Deno.test("a store keeps who mirrored users are, by their tenant, from version 3", () => {
  const db = new DatabaseSync(":memory:");
  for (const { sql } of MIGRATIONS.slice(0, 3)) db.exec(sql);
  db.exec(
    "INSERT INTO tenants VALUES(1, 'ten_1'), (2, ''), (3, 'ten_3');" +
      "INSERT INTO records(tenant, kind, id, version, text) VALUES" +
      "(1, 'service', 'mirror:usr_a', 2, 'idp|a')," +
      "(3, 'service', 'mirror:usr_b', 1, 'idp|b')," +
      "(3, 'service', 'guard:access', 1, '')," +
      "(2, 'service', 'mirror:ten_1:usr_a', 1," +
      ` '{"kind":"change","fields":["name"]}'),` +
      "(2, 'service', 'mirror:ten_3:usr_gone', 1," +
      ` '{"kind":"remove","subject":"idp|gone"}')`,
  );
  db.exec(MIGRATIONS[3]?.sql ?? "");
  const rows = db.prepare("SELECT tenant, id, text FROM records ORDER BY id")
    .all().map(({ tenant, id, text }) => [tenant, id, text]);
  assertEquals(rows, [
    [3, "guard:access", ""],
    [2, "mirror:ten_1:usr_a", '{"kind":"change","fields":["name"]}'],
    [2, "mirror:ten_3:usr_gone", '{"kind":"remove","subject":"idp|gone"}'],
    [2, "subject:ten_1:usr_a", "idp|a"],
    [2, "subject:ten_3:usr_b", "idp|b"],
    [2, "subject:ten_3:usr_gone", "idp|gone"],
  ]);
  db.close();
});

Deno.test("a store lists tasks of version 8 that repeat, or have a tag", async () => {
  await withFolder(async (folder) => {
    const repeating = sampleTask({
      id: sampleIds(1).next(),
      repeat: HOURLY,
      tags: ["on\u2028e", 't"wo'],
    });
    const other = sampleTask({
      id: sampleIds(2).next(),
      metadata: { '"repeat":{': '"repeat":{', '"tags":[': '"tags":["two"]' },
    });
    await withStore(folder, async (store) => {
      await store.commit(toTransactions(creation(repeating), creation(other)));
    });
    const db = new DatabaseSync(databasePath(folder));
    db.exec(
      "DROP INDEX tasks_repeating; DROP INDEX tasks_repeating_by_creation; " +
        "DROP TABLE task_tags; ALTER TABLE tasks DROP COLUMN tags; " +
        "DROP INDEX tasks_awaiting; ALTER TABLE tasks DROP COLUMN awaits; " +
        "ALTER TABLE tasks DROP COLUMN repeats; " +
        "DELETE FROM migrations WHERE version > 8",
    );
    db.close();
    await withStore(folder, async (store) => {
      const filters = [{ repeats: true }, { tags: ['t"wo', "on\u2028e"] }];
      for (const filter of filters) {
        for (const sort of ["date", "created_at"] as const) {
          const { tasks } = await store.listTasks({
            tenantId: repeating.tenantId,
            by: "date",
            sort,
            order: "asc",
            limit: 9,
            ...filter,
          });
          assertEquals(tasks, [repeating]);
        }
      }
    });
    assertEquals(await historyCheck(folder), []);
  });
});

Deno.test("a store does not open a database of a later version", async () => {
  await withFolder(async (folder) => {
    makeV1Fixture(folder);
    const db = new DatabaseSync(`${folder}/tasks.db`);
    db.exec("INSERT INTO migrations VALUES(99, 'later', 5)");
    db.close();
    let message = "";
    await withStore(folder, () => Promise.resolve()).catch((error) => {
      message = String(error);
    });
    assertEquals(message.includes("it is of version 99"), true, message);
  });
});
