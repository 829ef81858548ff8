import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  makeTestPool,
  PostgresServer,
} from "../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { createTestAuthority } from "../../../tests/support/test_certificates.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection } from "./connection.ts";
import type { Pool } from "./pool.ts";

async function nameOf(pool: Pool): Promise<unknown> {
  return (await pool.query("SELECT current_setting('port') AS port"))[0]
    ?.["port"];
}

serviceTest(["postgres"], {
  name: "Pool.query() fails in time when the server hangs",
  fn: async () => {
    const server = new PostgresServer();
    await server.start();
    const quick = { queryTimeoutMs: 200, connectTimeoutMs: 200 };
    const { pool } = makeTestPool(server.connection(), quick);
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
    const { pool } = makeTestPool(
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
