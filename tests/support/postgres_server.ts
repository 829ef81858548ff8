/**
 * Starts a real PostgreSQL for tests: in a temporary folder, on a loopback
 * port.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { systemClock } from "../../services/shared/clock.ts";
import type { DatabaseConnection } from "../../services/shared/postgres/connection.ts";
import {
  openPool,
  type Pool,
  type PoolOptions,
} from "../../services/shared/postgres/pool.ts";
import { ServerWatch } from "../../services/shared/postgres/server_watch.ts";
import {
  openSession,
  type Row,
  type Session,
} from "../../services/shared/postgres/session.ts";
import { ServerFolder } from "../../scripts/server_folder.ts";
import { RecordingLogger } from "./recording_logger.ts";
import { freePort } from "./redis_server.ts";
import { canRun } from "./services.ts";
import { stopProcess } from "./stop_process.ts";
import { waitUntil } from "./wait_until.ts";

/** Options of a {@linkcode PostgresServer}. */
export interface PostgresServerOptions {
  /**
   * Settings of `postgresql.conf`, such as `{ fsync: "off" }`.
   *
   * @default {}
   */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * The password of the role `postgres`.
   *
   * @default none is asked for
   */
  readonly password?: string;
  /**
   * The server whose standby this one is.
   *
   * @default it is a primary
   */
  readonly primary?: PostgresServer;
  /**
   * The name of the standby in `synchronous_standby_names` of the primary.
   *
   * @default {"standby"}
   */
  readonly standbyName?: string;
  /**
   * The port.
   *
   * @default a free one
   */
  readonly port?: number;
  /**
   * The server's certificate and key as PEM; it then speaks TLS as well.
   *
   * @default no TLS
   */
  readonly tls?: { readonly certPem: string; readonly keyPem: string };
}

const HOST = "127.0.0.1";
const USER = "postgres";
const START_MS = 60_000;
/** The last lines of the log that tell why a start failed. */
const HELD_LINES = 5;
/** Small and quick; a test's own settings win. */
const SETTINGS = {
  listen_addresses: HOST,
  unix_socket_directories: "",
  shared_buffers: "16MB",
  max_connections: "60",
  // Not over a pipe: tests would be said to leave its reading open.
  logging_collector: "on",
  log_directory: ".",
  log_filename: "log",
  // A standby connects at once after a break.
  wal_retrieve_retry_interval: "100ms",
};

/**
 * The environment variable with a folder for what is the same for all tests of
 * a run; see `scripts/launch/test_run.ts`.
 */
const CONSTANTS_VARIABLE = "TEST_CONSTANTS";

/** The servers of the isolate, by their options. */
const SHARED = new Map<string, PostgresServer>();

/**
 * A server for all tests of a file, and for those of other files that share its
 * isolate and ask for the same; it runs from before the first of them until
 * after the last. Register the tests by `serviceTest(["postgres"], …)`: it says
 * when they are left out. Each test uses a schema of its own.
 */
export function sharedPostgres(
  options: Omit<PostgresServerOptions, "primary"> = {},
): PostgresServer {
  const key = JSON.stringify(options);
  const there = SHARED.get(key);
  if (there !== undefined) return there;
  const server = new PostgresServer(options);
  SHARED.set(key, server);
  if (canRun("postgres")) {
    Deno.test.beforeAll(() => server.start());
    Deno.test.afterAll(() => server.stop());
  }
  return server;
}

/** A pool of a test, with what it was given. */
export interface TestPool {
  /** The pool, which the test closes. */
  readonly pool: Pool;
  /** What it has seen of servers. */
  readonly watch: ServerWatch;
  /** What it has logged. */
  readonly logger: RecordingLogger;
}

/** Makes a pool by the machine's clock. */
export function makeTestPool(
  connection: DatabaseConnection,
  options: Partial<PoolOptions> = {},
): TestPool {
  const logger = new RecordingLogger();
  const watch = options.watch ??
    new ServerWatch({ clock: systemClock, logger });
  const pool = openPool({
    connection,
    clock: systemClock,
    logger,
    ...options,
    watch,
  });
  return { pool, watch, logger };
}

/** A `postgres` process with a folder of its own. */
export class PostgresServer {
  readonly #options: PostgresServerOptions;
  #folder: ServerFolder | undefined;
  #port = 0;
  #child: Deno.ChildProcess | undefined;
  #schemas = 0;
  #ended: Promise<unknown> = Promise.resolve();

  /** Creates a server that is not started yet. */
  constructor(options: PostgresServerOptions = {}) {
    this.#options = options;
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#port;
  }

  /** How a service connects, as `DATABASE_URL`. */
  get url(): string {
    const { password = "" } = this.#options;
    return `postgres://${USER}:${password}@${HOST}:${this.#port}/postgres`;
  }

  /** What the server has logged. */
  get log(): string {
    return Deno.readTextFileSync(`${this.#folder?.path}/data/log`);
  }

  /** How a client connects. */
  connection(other: Partial<DatabaseConnection> = {}): DatabaseConnection {
    return {
      hosts: [{ host: HOST, port: this.#port }],
      database: "postgres",
      user: USER,
      password: this.#options.password ?? "",
      applicationName: "test",
      ...other,
    };
  }

  /** A name for a schema that no other test has. */
  nextSchema(): string {
    return `schema_${++this.#schemas}`;
  }

  /** Makes the folder, the first time, starts the server and waits for it. */
  async start(): Promise<void> {
    if (this.#folder === undefined) {
      this.#port = this.#options.port ?? freePort();
      this.#folder = await this.#initialize();
    }
    const { path } = this.#folder;
    const deadlineMs = performance.now() + START_MS;
    while (!await this.#startProcess(this.#folder)) {
      const log = Deno.readTextFileSync(`${path}/data/log`);
      // The processes of a server that was killed end by themselves, and hold
      // its memory until then.
      const isHeld = log.trimEnd().split("\n").slice(-HELD_LINES)
        .some((line) => line.includes("pre-existing shared memory"));
      if (isHeld && performance.now() < deadlineMs) continue;
      await this.stop();
      throw new Error(`Cannot start PostgreSQL: ${log}`);
    }
  }

  /** Starts the server; returns whether it answers, or has ended. */
  async #startProcess(folder: ServerFolder): Promise<boolean> {
    const child = folder.command("postgres", [
      ...["-D", `${folder.path}/data`, "-p", String(this.#port)],
    ]).spawn();
    let hasEnded = false;
    this.#child = child;
    this.#ended = child.status.then(() => hasEnded = true);
    await waitUntil(async () => hasEnded || await this.#answers(), {
      what: "PostgreSQL to start",
    });
    if (hasEnded) this.#child = undefined;
    return !hasEnded;
  }

  /** Ends the server and removes its folder; a second call does nothing. */
  async stop(): Promise<void> {
    // An immediate shutdown: nothing has to be saved.
    await this.end("SIGQUIT");
    const folder = this.#folder;
    this.#folder = undefined;
    await folder?.remove();
  }

  /** Ends the server and keeps its folder; SIGKILL is a crash. */
  async end(signal: "SIGKILL" | "SIGQUIT" | "SIGINT"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    child.kill("SIGCONT");
    child.kill(signal);
    await this.#ended;
  }

  /** Makes the server accept nothing new; its connections go on. */
  pause(): void {
    if (this.#child !== undefined) stopProcess(this.#child);
  }

  /** Lets a paused server continue. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Runs a statement over a connection of its own. */
  async sql<R extends object = Row>(text: string): Promise<readonly R[]> {
    const session = await this.session();
    try {
      return [...await session.query<R>(text)];
    } finally {
      await session.close();
    }
  }

  /** Opens a connection of its own. */
  async session(other: Partial<DatabaseConnection> = {}): Promise<Session> {
    const connection = this.connection(other);
    const { session } = await openSession(connection.hosts[0]!, {
      connection,
      prepare: true,
      connectTimeoutMs: START_MS,
      queryTimeoutMs: START_MS,
      clock: systemClock,
    });
    return session;
  }

  /**
   * Writes a dump of the database beside the server's files, and what the server
   * has in memory into them; returns their folder, for searches.
   */
  async writtenFiles(): Promise<string> {
    const folder = this.#folder;
    if (folder === undefined) throw new Error("Cannot write: not started");
    await folder.run("pg_dump", [
      ...["-h", HOST, "-p", String(this.#port), "-U", USER, "--no-sync"],
      ...["-f", `${folder.path}/dump.sql`, "postgres"],
    ]);
    await this.sql("CHECKPOINT");
    return folder.path;
  }

  /** Makes a standby the primary; returns when it takes writes. */
  async promote(): Promise<void> {
    await this.sql("SELECT pg_promote(true, 30)");
  }

  async #initialize(): Promise<ServerFolder> {
    const { primary, standbyName = "standby", tls } = this.#options;
    const folder = await ServerFolder.make("postgres_server_");
    const data = `${folder.path}/data`;
    if (primary !== undefined) {
      const { hosts: [host] } = primary.connection();
      await folder.run("pg_basebackup", [
        ...["-D", data, "-c", "fast", "-X", "stream", "-R", "--no-sync", "-d"],
        `host=${HOST} port=${host?.port} user=${USER} ` +
        `application_name=${standbyName}`,
      ]);
    } else {
      await this.#makeData(folder, data);
    }
    const settings: Record<string, string> = {
      ...SETTINGS,
      ...(tls === undefined ? {} : {
        ssl: "on",
        ssl_cert_file: await folder.write("server.crt", tls.certPem),
        ssl_key_file: await folder.write("server.key", tls.keyPem),
      }),
      ...this.#options.settings,
    };
    // The last of several lines for a setting counts.
    const lines = Object.entries(settings)
      .map(([name, value]) => `${name} = '${value}'\n`);
    await Deno.writeTextFile(`${data}/postgresql.conf`, lines.join(""), {
      append: true,
    });
    return folder;
  }

  /**
   * Makes the files of a new server. In a run of many tests they are a copy of
   * those of the first one, which saves a second of processor time; these
   * servers have the same identifier.
   */
  async #makeData(folder: ServerFolder, data: string): Promise<void> {
    const { password } = this.#options;
    const constants = Deno.env.get(CONSTANTS_VARIABLE);
    const original = password === undefined && constants
      ? `${constants}/postgres`
      : undefined;
    if (original !== undefined && existsSync(original)) {
      return await copyFolder(original, data);
    }
    const auth = password === undefined ? ["-A", "trust"] : [
      "-A",
      "scram-sha-256",
      `--pwfile=${await folder.write("pw", password)}`,
    ];
    await folder.run("initdb", [
      ...["-D", data, "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync"],
      ...auth,
    ]);
    if (original !== undefined) await publish(data, original);
  }

  async #answers(): Promise<boolean> {
    await this.sql("SELECT 1");
    return true;
  }
}

/** Makes a copy that others see at once and whole; the first one stays. */
async function publish(data: string, original: string): Promise<void> {
  const copy = `${original}_${crypto.randomUUID()}`;
  await copyFolder(data, copy);
  try {
    await Deno.rename(copy, original);
  } catch (error) {
    if (!existsSync(original)) throw error;
  }
}

/** Copies a folder with the owners of its files. */
async function copyFolder(from: string, to: string): Promise<void> {
  const { success } = await new Deno.Command("bash", {
    args: ["-c", 'cp -a "$0" "$1"', from, to],
    stdin: "null",
    stdout: "null",
  }).output();
  if (!success) throw new Error(`Cannot copy "${from}": cp failed`);
}
