import { assert, assertEquals, assertMatch } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { systemClock } from "../../../shared/clock.ts";
import type { Task } from "../../domain/task.ts";
import type { CheckedHistories } from "../task_check.ts";
import { add, fold } from "../testing/told_tasks.ts";
import {
  creation,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { historyCheck } from "./history_check.ts";
import { withSchema } from "./schema_access.ts";
import {
  openSubject,
  type PostgresSubject,
  SILENT,
  TEST_SERVER,
} from "./testing/postgres_subject.ts";

function check(
  schema: string,
  onProgress?: (checked: CheckedHistories) => void,
): Promise<readonly string[]> {
  return withSchema({
    connection: TEST_SERVER.connection(),
    schema,
    clock: systemClock,
    logger: SILENT,
  }, (pool) => historyCheck(pool, { onProgress }));
}

async function tamper(schema: string, sql: string): Promise<void> {
  await TEST_SERVER.sql(`SET search_path TO ${schema}; ${sql}`);
}

async function withSubject(
  run: (subject: PostgresSubject) => Promise<void>,
): Promise<void> {
  const subject = await openSubject();
  try {
    await run(subject);
  } finally {
    await subject.close();
  }
}

/** A folded history, one with more records than a page holds, and none. */
async function addSamples(
  { store }: PostgresSubject,
): Promise<readonly Task[]> {
  const ids = sampleIds();
  const short = await add(store, sampleTask({ id: ids.next() }), 10);
  const long = await add(store, sampleTask({ id: ids.next() }), 1_700);
  return [
    await fold(store, short, 8),
    await fold(store, long, 300),
    await add(store, sampleTask({ id: ids.next() }), 0),
  ];
}

serviceTest(["postgres"], {
  name:
    "historyCheck() of PostgreSQL finds nothing where all is well, also beside a store that writes",
  fn: () =>
    withSubject(async (subject) => {
      await addSamples(subject);
      const { store, schema } = subject;
      const ids = sampleIds(2);
      let isOver = false;
      const writing = (async () => {
        for (let count = 0; count < 600; count++) {
          const task = sampleTask({ id: ids.next(), key: `key ${count}` });
          const made = await add(store, task, count % 4);
          if (count % 7 === 0) {
            await store.commit(toTransactions(removal(made)));
          }
          if (count === 300) await store.fold();
        }
        isOver = true;
      })();
      const seen: CheckedHistories[] = [];
      do {
        assertEquals(
          await check(schema, (checked) => void seen.push(checked)),
          [],
        );
      } while (!isOver);
      await writing;
      seen.length = 0;
      assertEquals(
        await check(schema, (checked) => void seen.push(checked)),
        [],
      );
      // 514 tasks are left, in more than one page.
      assertEquals(seen.at(-1)?.tasks, 3 + 514);
    }),
});

/** What is wrong in the schema, and the first fault that the check reports. */
const WRONG: Readonly<Record<string, readonly [string, RegExp]>> = {
  "a record was changed": [
    "UPDATE history SET text = replace(text, 'log', 'lag') WHERE seq = 1400",
    /^Cannot trust history of task "\w+" at record 1400: its content has another hash$/,
  ],
  "records are missing": [
    "DELETE FROM history WHERE seq BETWEEN 500 AND 1600",
    /^Cannot trust history of task "\w+" at record 1601: number 500 is missing$/,
  ],
  "a history has no end": [
    "DELETE FROM history WHERE seq = 12",
    /^Cannot trust history of task "\w+" at record 11: it is not the last one$/,
  ],
  "a history belongs to no task": [
    "INSERT INTO history VALUES('tsk_zz', 1, '{}', 'x'), ('tsk_zz', 2, '{}', 'x')",
    /^Cannot trust history of "tsk_zz": it belongs to no task$/,
  ],
  "the state of a task is no JSON": [
    "UPDATE task_state SET state = '{'",
    /^Cannot read task "\w+": its body is not JSON text$/,
  ],
  "a task was removed together with its history": [
    `DELETE FROM history WHERE id = (SELECT min(id) FROM tasks);
      DELETE FROM task_state WHERE id = (SELECT min(id) FROM tasks);
      DELETE FROM tasks WHERE id = (SELECT min(id) FROM tasks)`,
    /^Cannot trust the number of waiting tasks of worker "wrk_a" of tenant "tnt_a": there are 2, 3 were counted$/,
  ],
  "a count that is not folded yet is wrong": [
    "INSERT INTO count_deltas SELECT tenant, lane, 8, 2 FROM lanes",
    /^Cannot trust the number of failed tasks .*: there are 0, 2 were counted$/,
  ],
  "the status of a task is another in lists": [
    "UPDATE task_state SET status = 8 WHERE id = (SELECT min(id) FROM tasks)",
    /^Cannot trust task "\w+": its column "status" is not what its body says$/,
  ],
  "the rank of a task is another in claims": [
    "UPDATE task_state SET rank = rank + 1",
    /^Cannot trust task "\w+": its column "rank" is not what its body says$/,
  ],
  "two live tasks have one key": [
    `DROP INDEX live_keys; UPDATE task_state SET key = 'k'`,
    /^Cannot trust task "\w+": another live task of its worker has its key$/,
  ],
  "labels are not those of the task": [
    "UPDATE tasks SET labels = 'x'",
    /^Cannot trust task "\w+": its column "labels" is not what its body says$/,
  ],
  "a task is missing in lists by tags": [
    `UPDATE tasks SET labels = E'\\x1f"a"\\x1f',
      definition = left(definition, -1) || ',"tags":["a"]}'
      WHERE id = (SELECT min(id) FROM tasks);
      DELETE FROM task_tags`,
    /^Cannot trust task "\w+": its column "labels" is not what its body says$/,
  ],
  "a link is lost": [
    "DELETE FROM links",
    /^Cannot trust task "\w+": its column "links" is not what its body says$/,
  ],
  "the definition of a task is not there": [
    "DELETE FROM tasks WHERE id = (SELECT min(id) FROM tasks)",
    /^Cannot trust task "\w+": its definition is not there$/,
  ],
  "a definition belongs to no task": [
    "INSERT INTO tasks VALUES('tsk_zz', 1, 0, '{}', NULL, '{}')",
    /^Cannot trust the table "tasks": 1 of its rows refer to missing rows of "task_state"$/,
  ],
  "the tenant of tasks has no name": [
    "DELETE FROM tenants",
    /^Cannot trust task "\w+": its tenant has no name$/,
  ],
  "the worker of tasks is not there": [
    "DELETE FROM lanes",
    /^Cannot trust task "\w+": its column "lane" is not what its body says$/,
  ],
  "audit logs are of no tenant": [
    "INSERT INTO audit VALUES(7, 1, 5, 'a.one', '{}'), (7, 2, 5, 'a', '{}'), (8, 1, 5, 'a', '{}')",
    /^Cannot trust the table "audit": 3 of its rows refer to missing rows of "tenants"$/,
  ],
};

serviceTest(["postgres"], {
  name: "historyCheck() of PostgreSQL finds what is wrong, and says where",
  fn: () =>
    withSubject(async (subject) => {
      const { store, schema } = subject;
      const [first] = await addSamples(subject);
      assert(first !== undefined);
      const dependent = sampleTask({
        id: sampleIds(3).next(),
        status: "blocked",
        dependencies: [first.id],
      });
      await store.commit(toTransactions(creation(dependent)));
      const tables = "tenants, lanes, tasks, task_state, history, links, " +
        "records, idempotency, audit, task_counts, count_deltas";
      for (const table of tables.split(", ")) {
        await tamper(schema, `CREATE TABLE kept_${table} AS TABLE ${table}`);
      }
      assertEquals(await check(schema), []);
      for (const [what, [sql, told]] of Object.entries(WRONG)) {
        await tamper(schema, sql);
        assertMatch((await check(schema))[0] ?? "", told, what);
        await tamper(
          schema,
          `TRUNCATE ${tables};` + tables.split(", ").map((table) =>
            `INSERT INTO ${table} ${
              ["tenants", "lanes"].includes(table)
                ? "OVERRIDING SYSTEM VALUE "
                : ""
            }TABLE kept_${table}`
          ).join(";"),
        );
        assertEquals(await check(schema), [], what);
      }
    }),
});

serviceTest(["postgres"], {
  name:
    "historyCheck() of PostgreSQL tells a fault of each task, up to a bound",
  fn: () =>
    withSubject(async ({ store, schema }) => {
      const ids = sampleIds();
      for (let count = 0; count < 30; count++) {
        await add(store, sampleTask({ id: ids.next() }), 3);
      }
      await tamper(schema, "UPDATE history SET hash = 'x' WHERE seq = 2");
      const faults = await check(schema);
      assertEquals(faults.length, 20);
      assertEquals(new Set(faults).size, 20);
    }),
});
