import { assert, assertEquals } from "@std/assert";
import {
  makeTestPool,
  PostgresServer,
} from "../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { Pool } from "./pool.ts";

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
    const { pool, watch } = makeTestPool(primary.connection({
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
      const again = makeTestPool(
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
    const { pool } = makeTestPool(
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
