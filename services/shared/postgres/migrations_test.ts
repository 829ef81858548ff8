import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  makeTestPool,
  sharedPostgres,
} from "../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import type { DatabaseConnection } from "./connection.ts";
import {
  migrate,
  type Migration,
  printMigrations,
  readVersion,
} from "./migrations.ts";
import type { Pool } from "./pool.ts";

const server = sharedPostgres();

const FIRST: Migration = {
  version: 1,
  name: "tables",
  compatibleSince: 1,
  sql: "CREATE TABLE a (n int); CREATE TABLE b (n int);",
};
const SECOND: Migration = {
  version: 2,
  name: "a column that it's well to have",
  compatibleSince: 1,
  sql: "ALTER TABLE a ADD m int",
};
const THIRD: Migration = {
  version: 3,
  name: "another form",
  compatibleSince: 3,
  sql: "ALTER TABLE a DROP n",
};

function planOf(schema: string, ...migrations: readonly Migration[]) {
  return { schema, migrations, command: "tasks migrate --print" };
}

async function withPool(
  use: (pool: Pool, schema: string) => Promise<void>,
  other: Partial<DatabaseConnection> = {},
): Promise<void> {
  const { pool } = makeTestPool(server.connection(other));
  try {
    await use(pool, server.nextSchema());
  } finally {
    await pool.close();
  }
}

serviceTest(["postgres"], {
  name: "migrate() applies each step once when instances start at once",
  fn: () =>
    withPool(async (pool, schema) => {
      // The first rounds open the connections.
      for (let round = 0; round < 10; round++) {
        const plan = planOf(`${schema}_${round}`, FIRST, SECOND);
        await Promise.all(Array.from({ length: 6 }, () => migrate(pool, plan)));
      }
      const steps = await pool.query(
        `SELECT version, name, compatible_since FROM ${schema}_9.migrations ` +
          "ORDER BY 1",
      );
      assertEquals([...steps], [
        { version: 1, name: FIRST.name, compatible_since: 1 },
        { version: 2, name: SECOND.name, compatible_since: 1 },
      ]);
      await pool.query(`SELECT m FROM ${schema}_9.a`);
    }),
});

serviceTest(["postgres"], {
  name: "migrate() applies all steps or none",
  fn: () =>
    withPool(async (pool, schema) => {
      const wrong = { ...SECOND, sql: "ALTER TABLE nowhere ADD m int" };
      await assertRejects(() => migrate(pool, planOf(schema, FIRST, wrong)));
      assertEquals(
        await readVersion(pool, schema),
        { version: 0, compatibleSince: 0 },
      );
    }),
});

serviceTest(["postgres"], {
  name: "migrate() lets an older program run as long as it is compatible",
  fn: () =>
    withPool(async (pool, schema) => {
      await migrate(pool, planOf(schema, FIRST, SECOND));
      await migrate(pool, planOf(schema, FIRST));
      await migrate(pool, planOf(schema, FIRST, SECOND, THIRD));
      await assertRejects(
        () => migrate(pool, planOf(schema, FIRST, SECOND)),
        Error,
        "it is of version 3, which works with programs of version 3 or " +
          "later, and this one is of version 2",
      );
    }),
});

serviceTest(["postgres"], {
  name:
    "migrate() tells a role without rights what to run, which then suffices",
  fn: () =>
    withPool(async (pool, schema) => {
      await pool.query(`CREATE ROLE "po""or" LOGIN`);
      await withPool(async (poor) => {
        const plan = planOf(schema, FIRST, SECOND);
        await assertRejects(
          () => migrate(poor, plan),
          Error,
          "let its owner run what `tasks migrate --print` prints",
        );
        await pool.query(printMigrations(plan, { role: 'po"or' }));
        await migrate(poor, plan);
        await poor.query(`INSERT INTO ${schema}.a VALUES (1, 2)`);
        const next = planOf(schema, FIRST, SECOND, THIRD);
        await assertRejects(() => migrate(poor, next), Error, "may not");
        const { version } = await readVersion(poor, schema);
        await pool.query(
          printMigrations(next, { from: version, role: 'po"or' }),
        );
        await migrate(poor, next);
      }, { user: 'po"or' });
      await pool.query(`DROP SCHEMA ${schema} CASCADE; DROP ROLE "po""or"`);
    }),
});

serviceTest(["postgres"], {
  name: "migrate() gives up when a transaction holds a table",
  fn: () =>
    withPool(async (pool, schema) => {
      await migrate(pool, planOf(schema, FIRST));
      await pool.transaction(async (holder) => {
        await holder.query(`LOCK TABLE ${schema}.a IN ACCESS EXCLUSIVE MODE`);
        const error = await assertRejects(
          () => migrate(pool, planOf(schema, FIRST, SECOND)),
          Error,
          "a transaction uses its tables",
        );
        assert(error.cause !== undefined);
      });
    }),
});
