import { assert, assertEquals, assertRejects } from "@std/assert";
import { startPgBouncer } from "../../../tests/support/pgbouncer.ts";
import {
  PostgresServer,
  sharedPostgres,
} from "../../../tests/support/postgres_server.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { createTestAuthority } from "../../../tests/support/test_certificates.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { systemClock } from "../clock.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection } from "./connection.ts";
import { Notifications } from "./notifications.ts";
import { openPool, type Pool, type PoolOptions } from "./pool.ts";
import { ServerWatch } from "./server_watch.ts";

function makePool(
  connection: DatabaseConnection,
  other: Partial<PoolOptions> = {},
) {
  const logger = new RecordingLogger();
  const watch = new ServerWatch({ clock: systemClock, logger });
  const pool = openPool({
    connection,
    clock: systemClock,
    logger,
    watch,
    ...other,
  });
  return { logger, watch, pool };
}

async function nameOf(pool: Pool): Promise<unknown> {
  return (await pool.query("SELECT current_setting('port') AS port"))[0]
    ?.["port"];
}

serviceTest(["postgres"], {
  name: "Pool loses nothing acknowledged when a standby takes over",
  fn: async () => {
    const primary = new PostgresServer({
      settings: { synchronous_standby_names: "ANY 1 (second)" },
    });
    const standby = new PostgresServer({
      primary,
      standbyName: "second",
      settings: { synchronous_standby_names: "" },
    });
    await primary.start();
    await standby.start();
    const { pool, watch } = makePool(primary.connection({
      hosts: [
        // Asked first; it takes no writes.
        ...standby.connection().hosts,
        ...primary.connection().hosts,
      ],
    }));
    try {
      await pool.query("CREATE TABLE a (n int)");
      const acknowledged: number[] = [];
      let isOver = false;
      let next = 0;
      const write = async (): Promise<void> => {
        while (!isOver) {
          const n = next++;
          try {
            await pool.batch([
              { sql: "INSERT INTO a VALUES ($1)", parameters: [n] },
            ]);
            acknowledged.push(n);
          } catch (error) {
            assert(error instanceof StoreFailedError, String(error));
          }
        }
      };
      const writers = Promise.all([1, 2, 3, 4].map(write));
      await waitUntil(() => acknowledged.length > 50, { what: "some writes" });
      assertEquals(watch.msSinceChange(), Infinity);
      await primary.end("SIGKILL");
      const before = acknowledged.length;
      await standby.promote();
      await waitUntil(() => acknowledged.length > before + 50, {
        what: "writes after the promotion",
      });
      isOver = true;
      await writers;
      assert(watch.msSinceChange() < 30_000);
      const rows = await pool.query("SELECT n FROM a");
      const there = new Set(rows.map(({ n }) => n));
      assertEquals(acknowledged.filter((n) => !there.has(n)), []);
      // The old primary comes back by itself, and first in the list.
      await primary.start();
      const again = makePool(
        primary.connection({
          hosts: [
            ...primary.connection().hosts,
            ...standby.connection().hosts,
          ],
        }),
        { watch },
      );
      assertEquals(await nameOf(again.pool), String(standby.port));
      await again.pool.close();
    } finally {
      await pool.close();
      await standby.stop();
      await primary.stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "Pool asks the next host when the first one keeps quiet",
  fn: async () => {
    const server = new PostgresServer();
    await server.start();
    const quiet = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { pool } = makePool(
      server.connection({
        hosts: [
          { host: "127.0.0.1", port: quiet.addr.port },
          ...server.connection().hosts,
        ],
      }),
      { connectTimeoutMs: 60_000 },
    );
    try {
      assertEquals(await nameOf(pool), String(server.port));
    } finally {
      await pool.close();
      quiet.close();
      await server.stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "Pool.query() fails in time when the server hangs",
  fn: async () => {
    const server = new PostgresServer();
    await server.start();
    const quick = { queryTimeoutMs: 200, connectTimeoutMs: 200 };
    const { pool } = makePool(server.connection(), quick);
    try {
      await assertRejects(
        () => pool.query("SELECT pg_sleep(60)"),
        StoreFailedError,
        "did not answer in time",
      );
      assertEquals(await nameOf(pool), String(server.port));
      server.pause();
      await pool.query("SELECT pg_terminate_backend(pg_backend_pid())")
        .catch(() => {});
      await assertRejects(() => pool.query("SELECT 1"), StoreFailedError);
      server.resume();
      await waitUntil(async () => await nameOf(pool) === String(server.port), {
        what: "the server to answer again",
      });
    } finally {
      await pool.close();
      await server.stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "openSession() checks certificates as far as it is told to",
  fn: async () => {
    const authority = createTestAuthority();
    const folder = await Deno.makeTempDir();
    const caFile = `${folder}/ca.pem`;
    const otherFile = `${folder}/other.pem`;
    await Deno.writeTextFile(caFile, authority.caPem);
    await Deno.writeTextFile(otherFile, createTestAuthority("B").caPem);
    const make = (name: string) =>
      new PostgresServer({
        tls: authority.issue(name),
        password: "pass word",
      });
    const server = make("localhost");
    const numbered = make("127.0.0.1");
    await Promise.all([server.start(), numbered.start()]);
    const named = [{ host: "localhost", port: server.port }];
    const attempt = async (
      other: Partial<DatabaseConnection>,
    ): Promise<unknown> => {
      try {
        const session = await server.session(other);
        const [row] = await session.query(
          "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        );
        await session.close();
        return row?.["ssl"];
      } catch (error) {
        return error instanceof StoreFailedError ? "refused" : error;
      }
    };
    try {
      const full = { verify: "full" } as const;
      const ca = { verify: "ca" } as const;
      const outcomes = {
        plain: await attempt({}),
        none: await attempt({ tls: { verify: "none" } }),
        full: await attempt({ tls: full, caFile, hosts: named }),
        "full, an address": await attempt({
          tls: full,
          caFile,
          hosts: numbered.connection().hosts,
        }),
        "full, another address": await attempt({
          tls: full,
          caFile,
          hosts: [{ host: "localhost", port: numbered.port }],
        }),
        "full, another name": await attempt({ tls: full, caFile }),
        "full, another authority": await attempt({
          tls: full,
          caFile: otherFile,
          hosts: named,
        }),
        "full, the system's": await attempt({ tls: full, hosts: named }),
        ca: await attempt({ tls: ca, caFile }),
        "ca, another authority": await attempt({ tls: ca, caFile: otherFile }),
      };
      assertEquals(outcomes, {
        plain: false,
        none: true,
        full: true,
        "full, an address": true,
        "full, another address": "refused",
        "full, another name": "refused",
        "full, another authority": "refused",
        "full, the system's": "refused",
        ca: true,
        "ca, another authority": "refused",
      });
    } finally {
      await Promise.all([server.stop(), numbered.stop()]);
      await Deno.remove(folder, { recursive: true });
    }
  },
});

serviceTest(["postgres"], {
  name: "Pool reads the password's file again for each connection",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    const passwordFile = `${folder}/password`;
    await Deno.writeTextFile(passwordFile, "first\n");
    const server = new PostgresServer({ password: "first" });
    await server.start();
    const { pool } = makePool(
      server.connection({ password: "", passwordFile }),
      { max: 1 },
    );
    try {
      await pool.query("ALTER ROLE postgres PASSWORD 'second'");
      const end = () =>
        pool.query("SELECT pg_terminate_backend(pg_backend_pid())")
          .catch(() => {});
      await end();
      const error = await assertRejects(
        () => pool.query("SELECT 1"),
        StoreFailedError,
        "password authentication failed",
      );
      assert(!Deno.inspect(error, { depth: 9 }).includes("first"));
      await Deno.writeTextFile(passwordFile, "second\n");
      assertEquals(await nameOf(pool), String(server.port));
    } finally {
      await pool.close();
      await Deno.writeTextFile(passwordFile, "");
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

const server = sharedPostgres();

serviceTest(["postgres", "pgbouncer"], {
  name: "Pool works behind PgBouncer in transaction mode without prepare",
  fn: async () => {
    const bouncer = await startPgBouncer(server, { poolSize: 2 });
    const schema = server.nextSchema();
    const pools = [1, 2, 3].map(() =>
      makePool(bouncer.connection, { prepare: false }).pool
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
  name: "Notifications say that they hear nothing behind PgBouncer",
  fn: async () => {
    const bouncer = await startPgBouncer(server, { poolSize: 2 });
    const { pool, watch } = makePool(bouncer.connection, { prepare: false });
    const logger = new RecordingLogger();
    const notifications = new Notifications({
      connection: bouncer.connection,
      runner: pool,
      watch,
      channel: server.nextSchema(),
      instanceId: "me",
      clock: systemClock,
      logger,
      onNotice: () => {},
      onGap: () => {},
    });
    try {
      notifications.start();
      await waitUntil(
        () =>
          logger.lines.some(({ message }) => message.includes("Cannot hear")),
        { what: "the warning" },
      );
    } finally {
      await notifications.stop();
      await pool.close();
      await bouncer.stop();
    }
  },
});
