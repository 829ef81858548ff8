/**
 * A database as version 1 wrote it. Its rows are written here without the
 * program's own code, since existing files must stay readable forever. Its
 * tables are those of the first migration, which a test protects from changes.
 *
 * @module
 */

import { BLANK_TASK, type Task } from "../../../domain/task.ts";
import { DatabaseSync } from "node:sqlite";
import { databasePath } from "../database_file.ts";
import { MIGRATIONS } from "../migrations.ts";

/** The tenant of the fixture. */
export const FIXTURE_TENANT = "tnt_fixture";

const ID = "tsk_0d7v2k9g0m4abcdefghjkmnpqr";
/** The number in the id: its first ten characters and half of the next one. */
const N = 116_505_981_616_289;

/** The task in the database. */
export const FIXTURE_TASK: Task = {
  ...BLANK_TASK,
  tenantId: FIXTURE_TENANT,
  id: ID,
  version: 3,
  createdBy: { type: "key", id: "key_1" },
  createdAtMs: 1_798_000_000_000,
  workerId: "wrk_1",
  job: "default",
  dataJson: '{"a":[1,2]}',
  timezone: "UTC",
  dependencies: ["tsk_0d7v2k9g0m0abcdefghjkmnpqr"],
  onDependencyFailure: "fail",
  priority: 2,
  group: "g",
  key: "k",
  tags: [],
  metadata: { a: "1" },
  status: "retry",
  dateMs: 1_798_000_600_000,
  firstDateMs: 1_798_000_000_000,
  slotMs: 1_798_000_000_000,
  isDue: false,
  run: 0,
  executions: 1,
  retries: 1,
  repetitions: 0,
  lost: 0,
  lostInRow: 0,
  missed: 0,
  resultJson: `"${"r".repeat(3_000)}"`,
  fence: 1,
  updatedAtMs: 1_798_000_001_000,
  historyCount: 1,
  historyHash: "hash",
};

const BODY = '{"createdBy":{"type":"key","id":"key_1"},' +
  '"createdAtMs":1798000000000,"workerId":"wrk_1",' +
  '"dependencies":["tsk_0d7v2k9g0m0abcdefghjkmnpqr"],"priority":2,' +
  '"group":"g","key":"k","metadata":{"a":"1"},"status":"retry",' +
  '"dateMs":1798000600000,"firstDateMs":1798000000000,' +
  '"slotMs":1798000000000,"isDue":false,"executions":1,"retries":1,' +
  '"fence":1,"updatedAtMs":1798000001000,"historyCount":1,' +
  '"historyHash":"hash"}';

/** Creates the database in a folder. */
export function makeV1Fixture(dataFolder: string): void {
  const db = new DatabaseSync(databasePath(dataFolder));
  db.exec("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL");
  db.exec(
    "CREATE TABLE migrations(version INTEGER PRIMARY KEY, name TEXT NOT NULL, " +
      "applied_ms INTEGER NOT NULL) STRICT",
  );
  db.exec("INSERT INTO migrations VALUES(1, 'initial', 1798000000000)");
  db.exec(MIGRATIONS[0]?.sql ?? "");
  db.exec(`INSERT INTO tenants VALUES(1, '${FIXTURE_TENANT}')`);
  db.exec("INSERT INTO lanes VALUES(1, 1, 'wrk_1')");
  db.prepare(
    `INSERT INTO tasks VALUES(${N}, '${ID}', 1, 1798000000000, 3, 4, 1, 'g', ` +
      "'default', 'k', 1798000600000, NULL, NULL, 1798000600000, ?, " +
      `'{"a":[1,2]}', NULL, NULL, 2)`,
  ).run(BODY);
  db.prepare(`INSERT INTO task_results VALUES(${N}, ?)`)
    .run(FIXTURE_TASK.resultJson ?? "");
  db.exec(
    `INSERT INTO history VALUES(${N}, 1, '{"type":"created","run":0}', 'hash')`,
  );
  db.exec(
    `INSERT INTO dependents VALUES(1, '${FIXTURE_TASK.dependencies[0]}', ${N})`,
  );
  db.exec(
    "INSERT INTO records VALUES(1, 'worker', 'wrk_1', 1, 'Mail', NULL, '{}')",
  );
  db.exec(
    "INSERT INTO idempotency " +
      "VALUES(1, 'key', 3000000000000, 'b', 201, '{}', '{}')",
  );
  db.exec("INSERT INTO usage VALUES(1, '2026-12', 7)");
  db.exec(
    "INSERT INTO audit VALUES(1, 1, 1798000000000, 'worker.created', '{}')",
  );
  db.close();
}
