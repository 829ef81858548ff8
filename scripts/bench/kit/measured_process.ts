/**
 * Starts programs whose cost is measured, and tells what they have used.
 *
 * @module
 */

import {
  decidedSource,
  runtimeVariables,
  withStd,
} from "../../launch/deno_process.ts";
import { tell } from "../../terminal.ts";
import {
  KEEPS_CODE,
  permissionFlags,
  type ServiceName,
} from "../../permissions.ts";
import { pause } from "./numbers.ts";

/** How a program is started. */
export interface ProcessStart {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /**
   * Its environment, beside the variables of the runtime.
   *
   * @default nothing
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The processor cores that it may use, as `taskset` takes them.
   *
   * @default all
   */
  readonly cores?: string;
  /**
   * The URL that answers with a success once the program is ready; one of
   * `tcp:` only has to be listened on.
   *
   * @default none: the first line that the program prints is its port
   */
  readonly readyUrl?: string;
  /**
   * A line for its standard input, which then stays open; the program is ready
   * once it answers with a line.
   *
   * @default nothing: it has no standard input
   */
  readonly asks?: string;
}

/** Resources that a process has used since its start. */
export interface Usage {
  /** Processor time in microseconds, counted in ticks of 10 ms. */
  readonly cpuUs: number;
  /**
   * Processor time in microseconds, counted exactly, without threads that have
   * ended.
   */
  readonly threadsUs: number;
  /** Resident memory, in bytes. */
  readonly residentBytes: number;
}

/** The root folder of the project. */
export const ROOT: string = decodeURIComponent(
  new URL("../../../", import.meta.url).pathname,
);

const READY_MS = 120_000;
const STOP_MS = 60_000;
const POLL_MS = 5;
const US_PER_TICK = 10_000;
const PAGE_BYTES = 4_096;

/** Returns the command that runs a service with its production permissions. */
export function serviceCommand(
  service: ServiceName,
  { env, args = [], flags = [] }: {
    /** The settings of the service. */
    readonly env: Readonly<Record<string, string>>;
    /** Arguments of the program; none, which serves, unless given. */
    readonly args?: readonly string[];
    /** Flags of the runtime beside the permissions. */
    readonly flags?: readonly string[];
  },
): readonly string[] {
  const execPath = Deno.execPath();
  const permissions = permissionFlags(service, {
    execPath,
    ...(args.length === 0 ? { serving: (name) => env[name] } : {}),
  });
  const run = withStd(["run", ...permissions, ...flags], decidedSource());
  return [execPath, ...run, `${ROOT}services/${service}/main.ts`, ...args];
}

/**
 * Returns the command that runs a file of `scripts/bench/`, with the flags of
 * the runtime that services have.
 */
export function scriptCommand(
  path: string,
  args: readonly string[],
): readonly string[] {
  const run = withStd(["run", "-A", KEEPS_CODE], decidedSource());
  return [Deno.execPath(), ...run, `${ROOT}scripts/bench/${path}`, ...args];
}

/** A process that is measured. */
export class MeasuredProcess {
  /** The port of the URL, or the one that the program printed. */
  readonly port: number;
  /** Milliseconds from the start until the process was ready. */
  readonly readyMs: number;
  readonly #child: Deno.ChildProcess;
  readonly #log: Promise<string>;
  #hasEnded = false;
  #isEnding = false;

  private constructor(
    child: Deno.ChildProcess,
    { port, readyMs, log }: {
      readonly port: number;
      readonly readyMs: number;
      readonly log: Promise<string>;
    },
  ) {
    this.#child = child;
    this.port = port;
    this.readyMs = readyMs;
    this.#log = log;
    void child.status.then(() => this.#hasEnded = true);
  }

  /**
   * Starts a process and waits until it is ready.
   *
   * @throws {Error} When the process ends, or is not ready in two minutes.
   */
  static async start(
    { command, env = {}, cores, readyUrl, asks }: ProcessStart,
  ): Promise<MeasuredProcess> {
    const pinned = cores === undefined ? [] : ["taskset", "-c", cores];
    const [program = "", ...args] = [...pinned, ...command];
    const sinceMs = performance.now();
    const child = new Deno.Command(program, {
      args,
      cwd: ROOT,
      clearEnv: true,
      env: { ...runtimeVariables(Deno.env.toObject()), ...env },
      stdin: asks === undefined ? "null" : "piped",
      stdout: readyUrl === undefined ? "piped" : "null",
      stderr: "piped",
    }).spawn();
    const log = new Response(child.stderr).text();
    const port = await Promise.race([
      asks !== undefined
        ? answersLine(child, asks)
        : readyUrl === undefined
        ? printedPort(child)
        : answers(readyUrl),
      child.status.then(() => undefined),
    ]);
    const readyMs = performance.now() - sinceMs;
    const process = new MeasuredProcess(child, {
      port: port ?? NaN,
      readyMs,
      log,
    });
    if (port !== undefined) return process;
    throw new Error(
      `Cannot start ${command.join(" ")}: its log:\n${await process.kill()}`,
    );
  }

  /** The id of the process. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Returns what the process has used so far, from proc(5). Reads with `cat`,
   * since Deno itself may read there only with all permissions.
   */
  async usage(): Promise<Usage> {
    const folder = `/proc/${this.#child.pid}`;
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", `cd ${folder} && cat stat statm task/*/schedstat`],
    }).output();
    const [stat = "", statm = "", ...threads] = new TextDecoder()
      .decode(stdout).trim().split("\n");
    // The name of the program, which comes first, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      cpuUs: (Number(fields[11]) + Number(fields[12])) * US_PER_TICK,
      threadsUs: threads.reduce((sum, line) => sum + parseInt(line), 0) / 1_000,
      residentBytes: Number(statm.split(" ")[1]) * PAGE_BYTES,
    };
  }

  /** Sends a signal; does nothing when the process has ended. */
  signal(name: Deno.Signal): void {
    try {
      this.#child.kill(name);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Kills the process, as a crash would; returns its log. */
  async kill(): Promise<string> {
    this.#isEnding = true;
    this.signal("SIGKILL");
    await this.#child.status;
    return await this.#log;
  }

  /**
   * Stops the process with SIGTERM; kills it when it goes on for a minute. Tells
   * the log of a process that has ended by itself.
   */
  async stop(): Promise<void> {
    if (this.#hasEnded && !this.#isEnding) {
      tell(`A process has ended by itself; its log:\n${await this.#log}`);
    }
    this.#isEnding = true;
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL"), STOP_MS);
    await this.#child.status;
    clearTimeout(timer);
    await this.#log;
  }
}

/** Waits until a program answers a line; returns no port, but a number. */
async function answersLine(
  child: Deno.ChildProcess,
  line: string,
): Promise<number | undefined> {
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(`${line}\n`));
  const lines = child.stdout.getReader();
  const { done } = await lines.read();
  return done ? undefined : NaN;
}

/** Returns the first line that a program prints, which is its port. */
async function printedPort(
  child: Deno.ChildProcess,
): Promise<number | undefined> {
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await lines.read();
  await lines.cancel();
  const port = Number(value);
  return port > 0 ? port : undefined;
}

/** Waits until a program is ready; returns the port of the URL. */
async function answers(url: string): Promise<number | undefined> {
  const port = Number(new URL(url).port);
  const isListening = async (): Promise<boolean> => {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  };
  const isHealthy = async (): Promise<boolean> => {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  };
  const isReady = url.startsWith("tcp:") ? isListening : isHealthy;
  const endMs = performance.now() + READY_MS;
  while (performance.now() < endMs) {
    // Nothing listens yet.
    if (await isReady().catch(() => false)) return port;
    await pause(POLL_MS);
  }
  return undefined;
}
