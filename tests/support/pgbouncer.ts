/**
 * Starts a real PgBouncer in transaction mode before a PostgreSQL of tests.
 *
 * @module
 */

import type { DatabaseConnection } from "../../services/shared/postgres/connection.ts";
import { ServerFolder } from "../../scripts/server_folder.ts";
import type { PostgresServer } from "./postgres_server.ts";
import { freePort } from "./redis_server.ts";
import { canRun } from "./services.ts";
import { waitUntil } from "./wait_until.ts";

/**
 * A PgBouncer for all tests of a file, before a server that they share.
 *
 * @returns how a client connects through it, once the tests run
 */
export function sharedPgBouncer(
  server: PostgresServer,
  options: { readonly poolSize: number },
): () => DatabaseConnection {
  let bouncer: PgBouncer | undefined;
  if (canRun("postgres") && canRun("pgbouncer")) {
    Deno.test.beforeAll(async () => {
      bouncer = await startPgBouncer(server, options);
    });
    Deno.test.afterAll(() => bouncer?.stop());
  }
  return () => {
    if (bouncer === undefined) throw new Error("Cannot connect: it is over");
    return bouncer.connection;
  };
}

/** A PgBouncer that is running. */
export interface PgBouncer {
  /** How a client connects through it. */
  readonly connection: DatabaseConnection;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Starts one and waits until it listens.
 *
 * @param poolSize how many connections to the server its clients share
 * @param login the role by which it connects to the server; that of its client
 * when absent
 */
export async function startPgBouncer(
  server: PostgresServer,
  { poolSize, login }: {
    readonly poolSize: number;
    readonly login?: string;
  },
): Promise<PgBouncer> {
  const folder = await ServerFolder.make("pgbouncer_");
  const port = freePort();
  const connection = server.connection();
  const users = await folder.write("users", `"${connection.user}" ""\n`);
  const config = await folder.write(
    "pgbouncer.ini",
    [
      "[databases]",
      `* = host=127.0.0.1 port=${server.port}` +
      (login === undefined ? "" : ` user=${login}`),
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = trust",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      `default_pool_size = ${poolSize}`,
      "",
    ].join("\n"),
  );
  const child = folder.command("pgbouncer", [config]).spawn();
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.status;
    await folder.remove();
  };
  try {
    await waitUntil(async () => {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    }, { what: "PgBouncer to listen" });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    connection: { ...connection, hosts: [{ host: "127.0.0.1", port }] },
    stop,
  };
}
