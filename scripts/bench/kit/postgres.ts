/**
 * Starts a PostgreSQL that is measured, and tells what it has used.
 *
 * @module
 */

import type { DatabaseConnection } from "../../../services/shared/postgres/connection.ts";
import { freePorts } from "../../smoke/smoke.ts";
import { ServerFolder } from "../../server_folder.ts";
import { MeasuredProcess } from "./measured_process.ts";
import { pause } from "./numbers.ts";

const HOST = "127.0.0.1";
const READY_MS = 30_000;
const POLL_MS = 20;
const US_PER_TICK = 10_000;
/**
 * As small servers are set up: each commit goes to the disk, and no checkpoint
 * comes because the log is full.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: HOST,
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "256MB",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  max_wal_size: "4GB",
};

/** A server with a temporary folder of its own. */
export class BenchPostgres {
  /** The port on which it listens. */
  readonly port: number;
  readonly #process: MeasuredProcess;
  readonly #folder: ServerFolder;

  private constructor(process: MeasuredProcess, folder: ServerFolder) {
    this.port = process.port;
    this.#process = process;
    this.#folder = folder;
  }

  /** Starts a server; `undefined` when it is not on the path. */
  static async start(): Promise<BenchPostgres | undefined> {
    if (!await canStart()) return undefined;
    const folder = await ServerFolder.make("tercet-bench-postgres-");
    try {
      const data = `${folder.path}/data`;
      await folder.run("initdb", [
        ...["-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C"],
        ...["-A", "trust"],
      ]);
      const [port] = freePorts(1);
      const settings = Object.entries(SETTINGS)
        .flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      const process = await MeasuredProcess.start({
        command: folder.commandLine("postgres", [
          ...["-D", data, "-p", String(port), ...settings],
        ]),
        readyUrl: `tcp://${HOST}:${port}`,
      });
      const server = new BenchPostgres(process, folder);
      await server.#takesQueries();
      return server;
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  /** Where it is, as a URL. */
  get url(): string {
    return `postgres://postgres@${HOST}:${this.port}/postgres`;
  }

  /** Where it is, as the stores take it. */
  get database(): Pick<
    DatabaseConnection,
    "hosts" | "database" | "user" | "password"
  > {
    const hosts = [{ host: HOST, port: this.port }];
    return { hosts, database: "postgres", user: "postgres", password: "" };
  }

  /**
   * Returns the processor time that all of its processes have used so far, in
   * microseconds; of those that have ended in ticks of 10 ms.
   */
  async cpuUs(): Promise<number> {
    const own = this.#process.pid;
    const pids = [own];
    let usedUs = 0;
    // The list of children that the kernel keeps may lack some.
    for (const line of await readProc("/proc/[0-9]*/stat")) {
      // The name of the program, which comes first, may contain spaces.
      const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
      if (Number(fields[1]) === own) pids.push(parseInt(line));
      if (parseInt(line) !== own) continue;
      usedUs += (Number(fields[13]) + Number(fields[14])) * US_PER_TICK;
    }
    const files = pids.map((pid) => `/proc/${pid}/schedstat`).join(" ");
    for (const line of await readProc(files)) usedUs += parseInt(line) / 1_000;
    return usedUs;
  }

  /**
   * Does at once what the server would do by itself in the minutes after many
   * rows were added, so that it is not measured.
   */
  async settle(): Promise<void> {
    await this.#folder.run("vacuumdb", [
      ...["-h", HOST, "-p", String(this.port), "-U", "postgres"],
      ...["--all", "--analyze", "--quiet"],
    ]);
  }

  /** Ends the server, with all connections, and removes its folder. */
  async stop(): Promise<void> {
    this.#process.signal("SIGINT");
    await this.#process.stop();
    await this.#folder.remove();
  }

  /** Waits until it answers: it listens before it has looked at its files. */
  async #takesQueries(): Promise<void> {
    const endMs = performance.now() + READY_MS;
    while (performance.now() < endMs) {
      const args = ["-h", HOST, "-p", String(this.port), "-q"];
      const { success } = await new Deno.Command("pg_isready", { args })
        .output();
      if (success) return;
      await pause(POLL_MS);
    }
    await this.stop();
    throw new Error("Cannot measure: PostgreSQL does not answer");
  }
}

async function canStart(): Promise<boolean> {
  try {
    const args = ["--version"];
    return (await new Deno.Command("initdb", { args }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Returns the lines of files of proc(5), without those of processes that have
 * ended. Reads with `cat`, since Deno itself may read there only with all
 * permissions.
 */
async function readProc(files: string): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `cat ${files}`],
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout).trim().split("\n");
}
