/**
 * One server of the bench as a process.
 *
 * @module
 */

import { decidedSource, withStd } from "../../launch/deno_process.ts";

/** The servers, as {@linkcode ServerProcess.start} names them. */
export const SERVER_NAMES = ["http1", "node", "deno"] as const;

/** One of {@linkcode SERVER_NAMES}. */
export type ServerName = typeof SERVER_NAMES[number];

const PROGRAM = decodeURIComponent(
  new URL("server_program.ts", import.meta.url).pathname,
);

/** Where a server tells its {@linkcode Usage}. */
export const USAGE_PATH = "/usage";

/** What a server has used. */
export interface Usage {
  /** Memory that it holds, in bytes. */
  readonly rssBytes: number;
  /** Processor time since its start, in microseconds. */
  readonly cpuUs: number;
}

/** A process that serves. */
export class ServerProcess {
  /** The port on which it listens. */
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
   * @param options.maxFiles Files it may have open; the limit of this process
   * when left out.
   * @throws {Error} When it does not start.
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
   * What it has used.
   *
   * @throws {Error} When it does not answer.
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

  /** Ends it. */
  async stop(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
  }
}
