/**
 * Runs one of the compared HTTP servers as a process.
 *
 * @module
 */

import { decidedSource, withStd } from "../../launch/deno_process.ts";

/**
 * The servers that are compared, by the names that
 * {@linkcode ServerProcess.start} takes.
 */
export const SERVER_NAMES = ["http1", "node", "deno"] as const;

/** One of {@linkcode SERVER_NAMES}. */
export type ServerName = typeof SERVER_NAMES[number];

const PROGRAM = decodeURIComponent(
  new URL("server_program.ts", import.meta.url).pathname,
);

/** The path at which a server answers with its {@linkcode Usage}. */
export const USAGE_PATH = "/usage";

/** Resources that a server process has used. */
export interface Usage {
  /** Resident memory, in bytes. */
  readonly rssBytes: number;
  /** Processor time since its start, in microseconds. */
  readonly cpuUs: number;
}

/** A running server process. */
export class ServerProcess {
  /** The port on which the server listens. */
  readonly port: number;
  readonly #child: Deno.ChildProcess;
  #hasEnded = false;

  private constructor(child: Deno.ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
    void child.status.then(() => this.#hasEnded = true);
  }

  /**
   * Starts a server and waits until it listens.
   *
   * @param options.maxFiles Files that the server may have open; the limit of
   * this process when left out.
   * @throws {Error} When the server does not start.
   */
  static async start(
    name: ServerName,
    { maxFiles }: { readonly maxFiles?: number } = {},
  ): Promise<ServerProcess> {
    const args = withStd(["run", "-A"], decidedSource());
    const command = [Deno.execPath(), ...args, PROGRAM, name];
    const limit = maxFiles === undefined ? "" : `ulimit -n ${maxFiles}; `;
    const child = new Deno.Command("sh", {
      args: ["-c", `${limit}exec "$@"`, "sh", ...command],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await lines.read();
    await lines.cancel();
    const port = Number(value);
    if (port > 0) return new ServerProcess(child, port);
    throw new Error(`Cannot start server "${name}": it names no port`);
  }

  /**
   * Returns what the server has used so far.
   *
   * @throws {Error} When the server does not answer.
   */
  async usage(): Promise<Usage> {
    const response = await fetch(`http://127.0.0.1:${this.port}${USAGE_PATH}`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(5_000),
    });
    return await response.json() as Usage;
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // The process has already ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
  }
}
