import { assertEquals, assertRejects } from "@std/assert";
import { makeTestPool } from "../../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { systemClock } from "../../../shared/clock.ts";
import {
  migrate,
  type Migration,
} from "../../../shared/postgres/migrations.ts";
import {
  change,
  changed,
  creation,
  HOURLY,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { historyCheck } from "./history_check.ts";
import type { PostgresStore } from "./postgres_store.ts";
import { migrationPlan, withSchema } from "./schema_access.ts";
import {
  newStore,
  openSubject,
  SILENT,
  TEST_SERVER,
} from "./testing/postgres_subject.ts";

const LATEST = migrationPlan("any").migrations.at(-1)!;

/** What a later program adds: a column to every table. */
const ADDING: Migration = {
  version: LATEST.version + 1,
  name: "a column everywhere",
  compatibleSince: LATEST.compatibleSince,
  sql: `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables
      WHERE schemaname = current_schema() AND tablename <> 'migrations'
    LOOP EXECUTE format('ALTER TABLE %I ADD later text', name); END LOOP;
  END $$`,
};
/** What programs of now cannot work with. */
const CHANGING: Migration = {
  version: LATEST.version + 2,
  name: "another form",
  compatibleSince: LATEST.version + 2,
  sql: "ALTER TABLE tasks RENAME data TO payload",
};

/** Migrates a schema as a later program does when it starts. */
async function migrateLater(
  schema: string,
  ...later: readonly Migration[]
): Promise<void> {
  const plan = migrationPlan(schema);
  const { pool } = makeTestPool(TEST_SERVER.connection());
  try {
    await migrate(pool, {
      ...plan,
      migrations: [...plan.migrations, ...later],
    });
  } finally {
    await pool.close();
  }
}

/** Makes a task, starts it, ends it, and reads all kinds of things. */
async function live(store: PostgresStore, seed: number): Promise<void> {
  const task = sampleTask({ id: sampleIds(seed).next(), key: `key ${seed}` });
  const { tenantId, workerId } = task;
  const worker = { tenantId, workerId };
  const kindsOf = (results: readonly { readonly kind: string }[]) =>
    results.map(({ kind }) => kind);
  const ok = ["ok"];
  assertEquals(kindsOf(await store.commit([{ writes: [creation(task)] }])), ok);
  const started = await store.claim(
    { ...worker, limits: "worker" },
    async ({ candidates }) => {
      const found = await candidates({ ...worker, limit: 1 });
      return found.map((one) => ({
        writes: [change(changed(one, { run: 1 }))],
      }));
    },
  );
  assertEquals(kindsOf(started), ok);
  const now = await store.task(tenantId, task.id);
  assertEquals(now?.run, 1);
  const ended = changed(now ?? task, { status: "complete", isDue: false });
  assertEquals(kindsOf(await store.commit(toTransactions(change(ended)))), ok);
  await store.fold();
  await store.tenantQueues();
  await store.check();
}

serviceTest(["postgres"], {
  name:
    "PostgresStore works on, and starts, on the tables of a later program that only adds to them",
  async fn() {
    const { store, schema, another, close } = await openSubject();
    // Statements are prepared by now, so their plans have to change.
    await live(store, 1);
    await migrateLater(schema, ADDING);
    await live(store, 2);
    await live(await another(), 3);
    const faults = await withSchema({
      connection: TEST_SERVER.connection(),
      schema,
      clock: systemClock,
      logger: SILENT,
    }, (pool) => historyCheck(pool));
    assertEquals(faults, []);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresStore lists the tasks that repeat which programs of version 4 made, before and after the migration",
  async fn() {
    const { store, schema, another, close } = await openSubject();
    // What programs write is as in version 4.
    await TEST_SERVER.sql(`SET search_path TO ${schema};
      DROP TRIGGER task_repeats ON tasks;
      DROP TRIGGER task_repeats_changed ON tasks;
      DROP FUNCTION note_repeats;
      DROP INDEX tasks_repeating;
      ALTER TABLE task_state DROP repeats;
      DROP FUNCTION note_tags CASCADE;
      DROP TABLE task_tags;
      ALTER TABLE tasks DROP tags_written;
      DELETE FROM migrations WHERE version > 4`);
    const ids = sampleIds();
    const make = async (repeat?: typeof HOURLY) => {
      const task = sampleTask({ id: ids.next(), repeat });
      await store.commit(toTransactions(creation(task)));
      return task;
    };
    const [first, second] = [await make(HOURLY), await make()];
    const later = await another();
    const [third, fourth] = [await make(HOURLY), await make(HOURLY)];
    const begun = changed(second, { repeat: HOURLY });
    const ceased = changed(third, { repeat: undefined });
    await store.commit(toTransactions(change(begun), change(ceased)));
    for (const sort of ["date", "created_at"] as const) {
      const { tasks } = await later.listTasks({
        tenantId: first.tenantId,
        by: "date",
        sort,
        order: "asc",
        limit: 9,
        repeats: true,
      });
      assertEquals(
        tasks.map(({ id }) => id),
        [first, begun, fourth].map(({ id }) => id),
      );
    }
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresStore lists the tasks with tags which programs of version 6 made, before and after the migration",
  async fn() {
    const { store, schema, another, close } = await openSubject();
    const ids = sampleIds();
    const make = (...tags: readonly string[]) =>
      sampleTask({ id: ids.next(), tags });
    const [first, second] = [make("a", 'q"uo\\te'), make()];
    await store.commit(toTransactions(creation(first), creation(second)));
    await TEST_SERVER.sql(`SET search_path TO ${schema};
      DROP FUNCTION note_tags CASCADE;
      DROP TABLE task_tags;
      ALTER TABLE tasks DROP tags_written;
      DELETE FROM migrations WHERE version > 6`);
    const later = await another();
    // Programs of version 6 know no column for what they have not written.
    const [third, fourth] = [make(...first.tags), make(...first.tags)];
    for (const { id } of [third, fourth]) {
      await TEST_SERVER.sql(`SET search_path TO ${schema};
        INSERT INTO tasks(id, tenant, created_ms, definition, labels, data)
          SELECT '${id}', tenant, created_ms, definition, labels, data
          FROM tasks WHERE id = '${first.id}';
        CREATE TEMP TABLE copied AS SELECT * FROM task_state
          WHERE id = '${first.id}';
        UPDATE copied SET id = '${id}';
        INSERT INTO task_state SELECT * FROM copied;
        DROP TABLE copied`);
    }
    const list = (tag: string) =>
      later.listTasks({
        ...{ tenantId: first.tenantId, by: "date", sort: "date" },
        ...{ order: "asc", limit: 9, tags: [tag] },
      });
    assertEquals(
      (await list("a")).tasks.map(({ id }) => id),
      [first, third, fourth].map(({ id }) => id),
    );
    const begun = changed(second, { tags: ["a"], metadata: { tags: "[" } });
    const ceased = changed(third, { tags: ["b"] });
    await later.commit(toTransactions(
      change(begun),
      change(ceased),
      removal(fourth),
    ));
    for (
      const [tag, wanted] of [
        ["a", [first, begun]],
        ["b", [ceased]],
        ['q"uo\\te', [first]],
      ] as const
    ) {
      const { tasks } = await list(tag);
      assertEquals(tasks.map(({ id }) => id), wanted.map(({ id }) => id));
    }
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresStore refuses to start on tables that only later programs work with, and changes nothing",
  async fn() {
    const { store, schema, close } = await openSubject();
    await store.stop();
    await migrateLater(schema, ADDING, CHANGING);
    const older = newStore(schema);
    await assertRejects(
      () => older.start(),
      Error,
      `Cannot use the schema "${schema}": it is of version ` +
        `${CHANGING.version}, which works with programs of version ` +
        `${CHANGING.version} or later, and this one is of version ` +
        `${LATEST.version}; start a later program, or restore a backup`,
    );
    await migrateLater(schema, ADDING, CHANGING);
    await close();
  },
});
