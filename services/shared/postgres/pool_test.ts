import { assertEquals, assertRejects } from "@std/assert";
import { startPgBouncer } from "../../../tests/support/pgbouncer.ts";
import {
  makeTestPool,
  PostgresServer,
  sharedPostgres,
} from "../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { Rows } from "./session.ts";
import { commitToDisk, type Pool, type PoolOptions } from "./pool.ts";

const server = sharedPostgres();

async function withPool(
  use: (pool: Pool, schema: string) => Promise<void>,
  options: Partial<PoolOptions> = {},
): Promise<void> {
  const schema = server.nextSchema();
  const { connection = server.connection(), ...rest } = options;
  const { pool } = makeTestPool(connection, rest);
  try {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await pool.query(`CREATE TABLE ${schema}.a (n int PRIMARY KEY, t text)`);
    await use(pool, schema);
  } finally {
    await pool.close();
  }
}

for (const prepare of [true, false]) {
  serviceTest(["postgres"], {
    name:
      `Pool.query() carries values of every type both ways when prepare is ${prepare}`,
    fn: () =>
      withPool(async (pool) => {
        const given = [
          ...[1, 2 ** 40, 1.5, true, false, null, 'a"b\\c', '{"a":"b"}'],
          Uint8Array.of(0, 255),
          ["x", 'y"z\\', "NULL", "", null],
          [1, 2],
          [true, false],
          [Uint8Array.of(1), Uint8Array.of(92)],
          [],
        ];
        const types = "int,bigint,float8,bool,bool,text,text,jsonb,bytea," +
          "text[],bigint[],bool[],bytea[],text[]";
        const columns = types.split(",").map((type, at) =>
          `$${at + 1}::${type}`
        );
        for (let round = 0; round < 3; round++) {
          const [row] = await pool.query(
            `SELECT ${columns.map((c, at) => `${c} AS c${at}`).join(",")}, ` +
              "array_position($10::text[], NULL) AS missing",
            given,
          );
          const values = Object.values(row ?? {});
          assertEquals(values.splice(7, 1), ['{"a": "b"}']);
          assertEquals(values.pop(), 5);
          assertEquals(values, given.filter((_, at) => at !== 7));
        }
      }, { prepare }),
  });
}

serviceTest(["postgres"], {
  name: "Pool.batch() applies all statements or none, whichever fails",
  fn: () =>
    withPool(async (pool, schema) => {
      const insert = (n: number) => ({
        sql: `INSERT INTO ${schema}.a VALUES ($1, 'x')`,
        parameters: [n],
      });
      const counts = async () =>
        (await pool.query(`SELECT n FROM ${schema}.a ORDER BY n`))
          .map(({ n }) => n);
      for (let round = 0; round < 3; round++) {
        const from = 10 * round;
        const rows = await pool.batch([insert(from), insert(from + 1)]);
        assertEquals(rows.map(({ count }) => count), [1, 1]);
        const before = await counts();
        await assertRejects(
          () => pool.batch([insert(from + 2), insert(from), insert(from + 3)]),
          Error,
          "duplicate key",
        );
        assertEquals(await counts(), before);
      }
    }),
});

serviceTest(["postgres"], {
  name: "Pool.batch() applies nothing when a parameter cannot be sent",
  fn: () =>
    withPool(async (pool, schema) => {
      const sql = `INSERT INTO ${schema}.a VALUES ($1, 'x')`;
      const missing = undefined as unknown as null;
      for (const wrong of [[missing], [[missing]], Array(70_000).fill(1)]) {
        await assertRejects(
          () =>
            pool.batch([{ sql, parameters: [1] }, { sql, parameters: wrong }]),
          TypeError,
        );
      }
      await assertRejects(() => pool.query(sql, [missing]), TypeError);
      assertEquals([...await pool.query(`SELECT * FROM ${schema}.a`)], []);
    }, { max: 1 }),
});

serviceTest(["postgres"], {
  name: "Pool.transaction() undoes everything when its function throws",
  fn: () =>
    withPool(async (pool, schema) => {
      await assertRejects(
        () =>
          pool.transaction(async (transaction) => {
            await transaction.query(`INSERT INTO ${schema}.a VALUES (1, 'x')`);
            throw new RangeError("no");
          }),
        RangeError,
        "no",
      );
      assertEquals([...await pool.query(`SELECT * FROM ${schema}.a`)], []);
    }, { max: 1 }),
});

serviceTest(["postgres"], {
  name: "Pool.batch() runs nothing outside when a plan is out of date",
  fn: () =>
    withPool(async (pool, schema) => {
      const insert = (n: number) => ({
        sql: `INSERT INTO ${schema}.a VALUES ($1, 'x') RETURNING *`,
        parameters: [n],
      });
      await pool.batch([insert(1)]);
      // The plan's result changes: the client would send the statement again,
      // behind the COMMIT.
      await pool.query(`ALTER TABLE ${schema}.a ALTER t TYPE varchar(9)`);
      await assertRejects(
        () => pool.batch([insert(2), insert(3)]),
        Error,
        "cached plan must not change result type",
      );
      const rows = await pool.query(`SELECT n FROM ${schema}.a`);
      assertEquals([...rows], [{ n: 1 }]);
    }, { max: 1 }),
});

serviceTest(["postgres"], {
  name: "Pool.query() fails at once when nothing listens, and works afterwards",
  fn: async () => {
    const own = new PostgresServer();
    await own.start();
    try {
      await withPool(async (pool) => {
        await own.end("SIGINT");
        for (let round = 0; round < 3; round++) {
          await assertRejects(() => pool.query("SELECT 1"), StoreFailedError);
        }
        await own.start();
        assertEquals([...await pool.query("SELECT 1 AS one")], [{ one: 1 }]);
      }, { connection: own.connection() });
    } finally {
      await own.stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "Pool.transaction() gets its turn when queries never cease",
  fn: () =>
    withPool(async (pool) => {
      const queries = Array.from({ length: 200 }, (_, at) => at);
      let later = 0;
      let laterAtStart = Infinity;
      await Promise.all([
        ...queries.map(() => pool.query("SELECT 1")),
        pool.transaction((transaction) => {
          laterAtStart = later;
          return transaction.query("SELECT 2");
        }),
        ...queries.map(() => pool.query("SELECT 1").then(() => later++)),
      ]);
      assertEquals([laterAtStart, later], [0, 200]);
    }, { max: 2 }),
});

serviceTest(["postgres", "pgbouncer"], {
  name: "Pool works behind PgBouncer in transaction mode without prepare",
  fn: async () => {
    const bouncer = await startPgBouncer(server, { poolSize: 2 });
    const schema = server.nextSchema();
    const pools = [1, 2, 3].map(() =>
      makeTestPool(bouncer.connection, { prepare: false }).pool
    );
    try {
      await server.sql(`CREATE SCHEMA ${schema}`);
      await server.sql(`CREATE TABLE ${schema}.a (n int PRIMARY KEY)`);
      const insert = (n: number) => ({
        sql: `INSERT INTO ${schema}.a VALUES ($1)`,
        parameters: [n],
      });
      const numbers = Array.from({ length: 300 }, (_, n) => n);
      const results = await Promise.allSettled(
        numbers.flatMap((n) => {
          const pool = pools[n % 3]!;
          const pair = [insert(2 * n), insert(2 * n + 1)];
          return [
            pool.batch(pair),
            pool.query("SELECT $1::int AS n", [n]),
            pool.transaction(async (transaction) => {
              await transaction.query(
                `SELECT n FROM ${schema}.a WHERE n = $1 FOR UPDATE`,
                [n],
              );
              return await transaction.commit([insert(10_000 + n)]);
            }),
          ];
        }),
      );
      const failed = results.filter(({ status }) => status === "rejected");
      assertEquals(failed, []);
      const [row] = await server.sql(
        `SELECT count(*) AS count FROM ${schema}.a`,
      );
      assertEquals(row, { count: 900 });
    } finally {
      await Promise.all(pools.map((pool) => pool.close()));
      await bouncer.stop();
    }
  },
});

serviceTest(["postgres", "pgbouncer"], {
  name: "Pool runs everything with its settings, also behind PgBouncer",
  fn: async () => {
    const bouncer = await startPgBouncer(server, { poolSize: 1 });
    const settings = (name: string) => ({
      search_path: `"${name}"`,
      application_name: "it's",
    });
    const variants = [
      { connection: server.connection(), prepare: true },
      { connection: bouncer.connection, prepare: false },
    ];
    try {
      for (const { connection, prepare } of variants) {
        const pools = ["one", "other"].map((name) =>
          makeTestPool(connection, { prepare, settings: settings(name) }).pool
        );
        const sql = "SELECT current_setting('search_path') AS path, " +
          "current_setting('application_name') AS name, $1::integer AS n";
        for (let round = 0; round < 3; round++) {
          const rows = await Promise.all(pools.map(async (pool) => [
            (await pool.query(sql, [1]))[0],
            (await pool.batch([{ sql, parameters: [1] }]))[0]?.[0],
            await pool.transaction(async (open) =>
              (await open.query(sql, [1]))[0]
            ),
          ]));
          const rowOf = (path: string) => ({ path, name: "it's", n: 1 });
          assertEquals(rows, [
            Array(3).fill(rowOf('"one"')),
            Array(3).fill(rowOf('"other"')),
          ]);
        }
        await Promise.all(pools.map((pool) => pool.close()));
      }
    } finally {
      await bouncer.stop();
    }
  },
});

for (const prepare of [true, false]) {
  serviceTest(["postgres"], {
    name:
      `commitToDisk() waits for the disk where the pool does not, when prepare is ${prepare}`,
    fn: () =>
      withPool(async (pool, schema) => {
        const asked = { sql: "SELECT current_setting('synchronous_commit')" };
        const put = { sql: `INSERT INTO ${schema}.a VALUES($1::int)` };
        const [written, [row]] = await commitToDisk(pool, [
          { ...put, parameters: [1] },
          asked,
        ]) as [Rows, Rows];
        assertEquals([written.count, row], [1, { current_setting: "on" }]);
        const [[other]] = await pool.batch([asked]) as [Rows];
        assertEquals(other, { current_setting: "off" });
      }, { prepare, settings: { synchronous_commit: "off" } }),
  });
}
