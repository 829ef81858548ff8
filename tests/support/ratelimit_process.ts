/**
 * The rate limit service as a process of its own, with the permissions it has
 * in production.
 *
 * @module
 */

import { withStd } from "../../scripts/launch/deno_process.ts";
import { permissionFlags } from "../../scripts/permissions.ts";
import { ProcessOutput } from "./process_output.ts";
import { waitUntil } from "./wait_until.ts";

/** How a {@linkcode RatelimitProcess} is started. */
export interface RatelimitProcessOptions {
  /**
   * Settings, over those that keep it on this machine, on free ports and
   * without a statistics server; an empty one counts as not set.
   *
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Arguments of the program.
   *
   * @default none, which serves
   */
  readonly args?: readonly string[];
}

/** What a finished run has left. */
export interface RatelimitRun {
  /** The exit code. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
}

/** The listeners, by the names they have in log lines. */
export type RatelimitListener = "gRPC" | "HTTP" | "debug";

/** Long, because the first start of all has to compile the code. */
const START_MS = 30_000;
const STOP_MS = 15_000;
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  GRPC_HOST: "127.0.0.1",
  GRPC_PORT: "0",
  DEBUG_HOST: "127.0.0.1",
  DEBUG_PORT: "0",
  DISABLE_STATS: "true",
};

/** Variables that Deno itself needs to find programs and packages. */
const RUNTIME_VARIABLE =
  /^(PATH|HOME|TMPDIR|XDG_CACHE_HOME|DENO_\w+|JSR_URL|NPM_CONFIG_\w+|(HTTPS?|NO)_PROXY)$/i;

/** Starts the service and waits for all its listeners. */
export async function startRatelimit(
  options: RatelimitProcessOptions = {},
): Promise<RatelimitProcess> {
  const service = new RatelimitProcess(options);
  try {
    // Both public ones are told once both are open.
    await service.waitForListener("debug");
    await service.waitForListener("HTTP");
  } catch (error) {
    await service.kill();
    throw error;
  }
  return service;
}

/** Runs the program to its end, for commands and for starts that fail. */
export async function runRatelimit(
  options: RatelimitProcessOptions = {},
): Promise<RatelimitRun> {
  await using service = new RatelimitProcess(options);
  const code = await service.waitForExit(START_MS);
  return { code, stdout: service.stdout, stderr: service.stderr };
}

/** A process of the service, from its start to its end. */
export class RatelimitProcess {
  readonly #child: Deno.ChildProcess;
  readonly #stdout: ProcessOutput;
  readonly #stderr: ProcessOutput;
  readonly #ended: Promise<number>;
  #exitCode: number | undefined;

  /** Starts the process and does not wait for anything. */
  constructor(options: RatelimitProcessOptions = {}) {
    const execPath = Deno.execPath();
    const command = ["run", ...permissionFlags("ratelimit", { execPath })];
    this.#child = new Deno.Command(execPath, {
      args: [
        ...withStd(command, stdSource()),
        `${ROOT}services/ratelimit/main.ts`,
        ...options.args ?? [],
      ],
      cwd: ROOT,
      clearEnv: true,
      env: { ...runtimeVariables(), ...LOCAL_ENV, ...options.env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#stdout = new ProcessOutput(this.#child.stdout);
    this.#stderr = new ProcessOutput(this.#child.stderr);
    this.#ended = this.#watch();
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

  /** The exit code; undefined while it runs. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** What a gRPC client dials. */
  get grpcTarget(): string {
    return this.#address("gRPC");
  }

  /** Base of the public HTTP addresses, without a slash at its end. */
  get httpUrl(): string {
    return `http://${this.#address("HTTP")}`;
  }

  /** Base of the debug addresses, without a slash at its end. */
  get debugUrl(): string {
    return `http://${this.#address("debug")}`;
  }

  /** Whether the log tells that a listener is open. */
  isListening(listener: RatelimitListener): boolean {
    return this.#addressLine(listener) !== undefined;
  }

  /** Waits until the log tells where a listener is. */
  async waitForListener(listener: RatelimitListener): Promise<void> {
    await this.waitForLine(`Listening for ${listener} on `, {
      timeoutMs: START_MS,
    });
  }

  /**
   * Waits for a line of the log that contains `text`, and gives it. Lines
   * before number `from` don't count.
   *
   * @throws {Error} When the process ends without it, or it takes too long.
   */
  async waitForLine(
    text: string,
    options: { readonly from?: number; readonly timeoutMs?: number } = {},
  ): Promise<string> {
    const { from = 0, timeoutMs = 5_000 } = options;
    const find = (): string | undefined =>
      this.lines.slice(from).find((line) => line.includes(text));
    try {
      await waitUntil(
        () => find() !== undefined || this.#exitCode !== undefined,
        { what: `a log line with "${text}"`, timeoutMs },
      );
    } catch (error) {
      throw this.#failure("the line did not come", error);
    }
    const line = find();
    if (line !== undefined) return line;
    throw this.#failure(`it ended without a line with "${text}"`);
  }

  /** Waits for the end; gives the exit code. */
  async waitForExit(timeoutMs = STOP_MS): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    const code = await Promise.race([this.#ended, promise]);
    clearTimeout(timer);
    if (code !== undefined) return code;
    await this.kill();
    throw this.#failure(`it still ran after ${timeoutMs} ms`);
  }

  /** Sends a signal; nothing happens when the process has ended. */
  signal(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      // It has ended.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Sends SIGTERM and gives the exit code. */
  async stop(): Promise<number> {
    this.signal("SIGTERM");
    return await this.waitForExit();
  }

  /** Ends the process as a crash would; tolerates that it has ended. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended;
  }

  /** Ends the process if it still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #watch(): Promise<number> {
    const { code } = await this.#child.status;
    await Promise.all([this.#stdout.ended, this.#stderr.ended]);
    this.#exitCode = code;
    return code;
  }

  #addressLine(listener: RatelimitListener): string | undefined {
    for (const line of this.lines) {
      const found = new RegExp(`Listening for ${listener} on ([^"\\s]+)`)
        .exec(line)?.[1];
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #address(listener: RatelimitListener): string {
    const address = this.#addressLine(listener);
    if (address !== undefined) return address;
    throw this.#failure(`it has not told where it listens for ${listener}`);
  }

  #failure(what: string, cause?: unknown): Error {
    return new Error(
      `Cannot use the rate limit process: ${what}; its log:\n${this.stderr}`,
      { cause },
    );
  }
}

/** The packages the test itself runs with are those of the process. */
function stdSource(): "jsr" | "offline" {
  return import.meta.resolve("@std/assert").startsWith("file:")
    ? "offline"
    : "jsr";
}

function runtimeVariables(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject())
      .filter(([name]) => RUNTIME_VARIABLE.test(name)),
  );
}
