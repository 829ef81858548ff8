/**
 * A service as a process of its own, with its production permissions. Where
 * `TEST_BUNDLE` names a folder, as in a run of many tests, the process runs the
 * bundle in it, which starts sooner than the source.
 *
 * @module
 */

import { runtimeVariables } from "../../scripts/launch/deno_process.ts";
import {
  permissionFlags,
  type ServiceName,
} from "../../scripts/permissions.ts";
import { ProcessOutput } from "./process_output.ts";
import { waitUntil } from "./wait_until.ts";
import { withOwnStd } from "./with_own_std.ts";

/** Options of {@linkcode ServiceProcess}. */
export interface ServiceProcessOptions {
  /** The name of the service. */
  readonly service: ServiceName;
  /** The settings of the service. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Arguments of the program.
   *
   * @default none, which serves
   */
  readonly args?: readonly string[];
  /**
   * Flags of the runtime, beside the permissions.
   *
   * @default none
   */
  readonly runtimeFlags?: readonly string[];
  /**
   * Whether the process runs the source even where there is a bundle.
   *
   * @default {false}
   */
  readonly fromSource?: boolean | undefined;
}

/** The output of a finished run. */
export interface ServiceRun {
  /** The exit code. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
}

/**
 * Time limit for a start, and for a line of the log, in milliseconds; long, since
 * the very first start has to compile the code, and a busy machine takes long.
 */
export const START_MS = 60_000;
const STOP_MS = 15_000;
/** A bundle contains all that it needs. */
const BUNDLE_FLAGS = ["--no-config", "--no-lock", "--no-remote", "--no-npm"];
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** A process of the service, from its start to its end. */
export class ServiceProcess {
  readonly #child: Deno.ChildProcess;
  readonly #stdout: ProcessOutput;
  readonly #stderr: ProcessOutput;
  readonly #ended: Promise<number>;
  #exitCode: number | undefined;

  /** Starts the process without waiting for anything. */
  constructor(options: ServiceProcessOptions) {
    const { service, env, args = [], runtimeFlags = [], fromSource } = options;
    const execPath = Deno.execPath();
    const flags = permissionFlags(service, {
      execPath,
      ...(args.length === 0 ? { serving: (name) => env[name] } : {}),
    });
    this.#child = new Deno.Command(execPath, {
      args: [
        ...runCommand(service, {
          flags: [...flags, ...runtimeFlags],
          bundle: fromSource ? undefined : Deno.env.get("TEST_BUNDLE"),
        }),
        ...args,
      ],
      cwd: ROOT,
      clearEnv: true,
      env: { ...runtimeVariables(Deno.env.toObject()), ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#stdout = new ProcessOutput(this.#child.stdout);
    this.#stderr = new ProcessOutput(this.#child.stderr);
    this.#ended = this.#watch();
  }

  /** The process id. */
  get pid(): number {
    return this.#child.pid;
  }

  /** All of standard output so far. */
  get stdout(): string {
    return this.#stdout.text;
  }

  /** All of standard error so far. */
  get stderr(): string {
    return this.#stderr.text;
  }

  /** The lines of standard error so far, the log. */
  get lines(): readonly string[] {
    return this.#stderr.lines;
  }

  /** The exit code; `undefined` while the process runs. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /**
   * Waits for a line of the log that contains `text`, and returns it. Lines
   * before line number `from` don't count.
   *
   * @throws {Error} When the process ends without such a line, or it takes too
   * long.
   */
  async waitForLine(
    text: string,
    options: { readonly from?: number; readonly timeoutMs?: number } = {},
  ): Promise<string> {
    const { from = 0, timeoutMs = START_MS } = options;
    const find = (): string | undefined =>
      this.lines.slice(from).find((line) => line.includes(text));
    try {
      await waitUntil(
        () => find() !== undefined || this.#exitCode !== undefined,
        { what: `a log line with "${text}"`, timeoutMs },
      );
    } catch (error) {
      throw this.failure("the line did not come", error);
    }
    const line = find();
    if (line !== undefined) return line;
    throw this.failure(`it ended without a line with "${text}"`);
  }

  /** Waits until the process has ended; returns the exit code. */
  async waitForExit(timeoutMs = STOP_MS): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    const code = await Promise.race([this.#ended, promise]);
    clearTimeout(timer);
    if (code !== undefined) return code;
    await this.kill();
    throw this.failure(`it still ran after ${timeoutMs} ms`);
  }

  /** Sends a signal; does nothing when the process has ended. */
  signal(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      // The process has already ended.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Sends SIGTERM and returns the exit code. */
  async stop(): Promise<number> {
    this.signal("SIGTERM");
    return await this.waitForExit();
  }

  /** Kills the process, as a crash would; does nothing when it has ended. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended;
  }

  /** Kills the process if it is still running. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #watch(): Promise<number> {
    const { code } = await this.#child.status;
    await Promise.all([this.#stdout.ended, this.#stderr.ended]);
    this.#exitCode = code;
    return code;
  }

  /** Returns an error whose message contains the log. */
  failure(what: string, cause?: unknown): Error {
    return new Error(
      `Cannot use the process: ${what}; its log:\n${this.stderr}`,
      { cause },
    );
  }
}

/**
 * Returns the arguments of Deno that run a service: as an executable runs it,
 * when its bundle is in a folder, or from source.
 */
function runCommand(
  service: ServiceName,
  { flags, bundle }: {
    readonly flags: readonly string[];
    readonly bundle: string | undefined;
  },
): readonly string[] {
  return bundle === undefined
    ? [...withOwnStd(["run", ...flags]), `${ROOT}services/${service}/main.ts`]
    : ["run", ...BUNDLE_FLAGS, ...flags, `${bundle}/${service}.js`];
}

/** Returns the resident memory of a process, in MB. */
export async function residentMb(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", {
    args: ["-o", "rss=", "-p", String(pid)],
  }).output();
  return Number(new TextDecoder().decode(stdout).trim()) / 1_024;
}
