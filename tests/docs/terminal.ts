/**
 * Terminals as a reader of a page has them: one shell for its commands, and one more for
 * each service that it starts.
 *
 * @module
 */

import { ProcessOutput } from "../support/process_output.ts";
import { waitUntil } from "../support/wait_until.ts";

/** Where a terminal works. */
export interface TerminalOptions {
  /** Its folder. */
  readonly cwd: string;
  /** Its variables. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a block has printed. */
export interface BlockRun {
  /** What went to standard output. */
  readonly stdout: string;
  /** What went to standard error. */
  readonly stderr: string;
  /** Commands that failed; none when all went well. */
  readonly failed: readonly string[];
}

/** Long, for a machine that has other work: what is waited for comes, or the page is wrong. */
const BLOCK_TIMEOUT_MS = 120_000;
const SERVE_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 15_000;

/** A shell in a session of its own, which ends with all that was started in it. */
class Session {
  readonly child: Deno.ChildProcess;
  readonly stdout: ProcessOutput;
  readonly stderr: ProcessOutput;
  readonly ended: Promise<void>;
  hasEnded = false;

  constructor(args: readonly string[], { cwd, env }: TerminalOptions) {
    this.child = new Deno.Command("setsid", {
      args: ["bash", ...args],
      cwd,
      env: { ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.stdout = new ProcessOutput(this.child.stdout);
    this.stderr = new ProcessOutput(this.child.stderr);
    this.ended = this.child.status.then(() => {
      this.hasEnded = true;
    });
  }

  /** Ends the shell and all that it has started, by a signal and then for certain. */
  async end(signal: "INT" | "KILL"): Promise<void> {
    await this.#signal(signal);
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, STOP_TIMEOUT_MS);
    await Promise.race([this.ended, late.promise]);
    clearTimeout(timer);
    await this.#signal("KILL");
    await this.ended;
    await Promise.all([this.stdout.ended, this.stderr.ended]);
  }

  async #signal(name: "INT" | "KILL"): Promise<void> {
    // The number of a session's first process is that of its group, too; a group
    // whose processes have all ended cannot be signalled, which is no fault.
    await new Deno.Command("bash", {
      args: ["-c", `kill -${name} -- -${this.child.pid}`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
  }
}

/** A shell that runs one block after the other and keeps its variables between them. */
export class PageShell {
  readonly #session: Session;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #folder: string;
  #blocks = 0;

  /** Starts a shell, which keeps what blocks print in `folder`. */
  constructor(folder: string, options: TerminalOptions) {
    this.#folder = folder;
    this.#session = new Session(["--noprofile", "--norc"], options);
    this.#stdin = this.#session.child.stdin.getWriter();
  }

  /**
   * Runs a block.
   *
   * @throws {Error} When it takes too long.
   */
  async run(text: string): Promise<BlockRun> {
    const base = `${this.#folder}/${++this.#blocks}`;
    await Deno.writeTextFile(`${base}.sh`, text);
    await Deno.writeTextFile(`${base}.failed`, "");
    const lines = [
      "set -E -o pipefail",
      `trap 'printf "%s (%s)\\n" "$BASH_COMMAND" "$?" >> ${base}.failed' ERR`,
      `. ${base}.sh > ${base}.stdout 2> ${base}.stderr < /dev/null`,
      "trap - ERR",
      `: > ${base}.done`,
      "",
    ];
    await this.#stdin.write(new TextEncoder().encode(lines.join("\n")));
    await waitUntil(
      async () => this.#session.hasEnded || await exists(`${base}.done`),
      { what: `the end of a block:\n${text}`, timeoutMs: BLOCK_TIMEOUT_MS },
    );
    const read = async (end: string): Promise<string> =>
      await Deno.readTextFile(`${base}.${end}`);
    return {
      stdout: await read("stdout"),
      stderr: await read("stderr"),
      failed: [
        ...(await read("failed")).split("\n").filter((line) => line !== ""),
        ...this.#session.hasEnded ? ["the shell has ended"] : [],
      ],
    };
  }

  /** Ends the shell and all that it has started. */
  async end(): Promise<void> {
    await this.#stdin.close().catch(() => {
      // The shell has ended by itself, which `run` has told.
    });
    await this.#session.end("KILL");
  }
}

/** A terminal in which something goes on until Ctrl+C. */
export class ServiceTerminal {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Runs a block and waits until its output has all of `until`.
   *
   * @throws {Error} When that does not come; the terminal is ended then.
   */
  static async start(
    text: string,
    options: TerminalOptions & { readonly until: readonly string[] },
  ): Promise<ServiceTerminal> {
    const session = new Session(["--noprofile", "--norc", "-c", text], options);
    const output = (): string => session.stdout.text + session.stderr.text;
    const isReady = (): boolean =>
      options.until.every((one) => output().includes(one));
    try {
      await waitUntil(() => session.hasEnded || isReady(), {
        what: `"${options.until.join('", "')}" in a terminal`,
        timeoutMs: SERVE_TIMEOUT_MS,
      });
      if (!isReady()) throw new Error("Cannot go on: the service has ended");
    } catch (error) {
      await session.end("KILL");
      throw new Error(`${text}\nprinted:\n${output()}`, { cause: error });
    }
    return new ServiceTerminal(session);
  }

  /** Everything that was printed. */
  get output(): string {
    return this.#session.stdout.text + this.#session.stderr.text;
  }

  /** Presses Ctrl+C and waits for the end. */
  async end(): Promise<void> {
    await this.#session.child.stdin.close().catch(() => {
      // It has ended by itself.
    });
    await this.#session.end("INT");
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
