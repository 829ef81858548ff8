/**
 * The terminals that a reader of a page uses: one shell for commands, and
 * another one for each service that the reader starts.
 *
 * @module
 */

import { ProcessOutput } from "../support/process_output.ts";
import { waitUntil } from "../support/wait_until.ts";

/** Where a terminal runs. */
export interface TerminalOptions {
  /** The working folder. */
  readonly cwd: string;
  /** The environment variables. */
  readonly env: Readonly<Record<string, string>>;
}

/** The output and the failures of a block. */
export interface BlockRun {
  /** The standard output of the block. */
  readonly stdout: string;
  /** The standard error output of the block. */
  readonly stderr: string;
  /**
   * The commands that failed, with their exit codes; empty when all succeeded.
   */
  readonly failed: readonly string[];
}

/**
 * Timeouts are long, so that only a wrong page fails and not a machine that is
 * busy with other work.
 */
const BLOCK_TIMEOUT_MS = 120_000;
const SERVE_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 15_000;

/**
 * A shell in a process session of its own, so that everything started in it can
 * be ended with it.
 */
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

  /**
   * Signals the shell and everything started in it, and kills whatever is still
   * running after a timeout.
   */
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
    // The id of a session's first process is also that of its process group.
    // When all processes of the group have ended, `kill` fails, which is no
    // error here.
    await new Deno.Command("bash", {
      args: ["-c", `kill -${name} -- -${this.child.pid}`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
  }
}

/**
 * A shell that runs blocks one after the other and keeps its variables between
 * them.
 */
export class PageShell {
  readonly #session: Session;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #folder: string;
  #blocks = 0;

  /** Starts a shell, which stores the output of blocks in `folder`. */
  constructor(folder: string, options: TerminalOptions) {
    this.#folder = folder;
    this.#session = new Session(["--noprofile", "--norc"], options);
    this.#stdin = this.#session.child.stdin.getWriter();
  }

  /**
   * Runs a block.
   *
   * @throws {Error} When the block does not end within its timeout.
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

  /** Ends the shell and everything started in it. */
  async end(): Promise<void> {
    await this.#stdin.close().catch(() => {
      // The shell has already ended by itself, which `run` has reported.
    });
    await this.#session.end("KILL");
  }
}

/** A terminal in which a service runs until Ctrl+C. */
export class ServiceTerminal {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Runs a block and waits until its output contains all texts of `until`.
   *
   * @throws {Error} When the output does not contain them in time; the terminal
   * is then ended.
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

  /** Everything printed so far, on stdout and stderr. */
  get output(): string {
    return this.#session.stdout.text + this.#session.stderr.text;
  }

  /** Presses Ctrl+C and waits until the service has ended. */
  async end(): Promise<void> {
    await this.#session.child.stdin.close().catch(() => {
      // The service has already ended by itself.
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
