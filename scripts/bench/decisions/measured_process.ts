/**
 * Processes whose cost is measured, and the loads that are sent to them: servers on one
 * core, clients on the other, where the machine can do that.
 *
 * @module
 */

import { decidedSource, withStd } from "../../launch/deno_process.ts";
import { permissionFlags } from "../../permissions.ts";
import { freePort } from "../tasks/free_port.ts";
import type { FrameJob, FrameResult } from "./frame_load.ts";

const SERVER_CORE = "0";
const CLIENT_CORE = "1";
const READY_MS = 30_000;
const ROOT = decodeURIComponent(
  new URL("../../../", import.meta.url).pathname,
);
const decoder = new TextDecoder();

/** What a process has used. */
export interface Usage {
  /** Processor time of all threads since its start, in microseconds. */
  readonly cpuUs: number;
  /** Memory that it holds, in bytes. */
  readonly residentBytes: number;
}

/** A server that runs. */
export class MeasuredProcess {
  /** The port that loads are sent to. */
  readonly port: number;
  /** The port of HTTP, of the service. */
  readonly httpPort: number;
  /** The port of statistics, of the service. */
  readonly debugPort: number;
  /** Milliseconds from its start until it answered. */
  readonly readyMs: number;
  readonly #child: Deno.ChildProcess;

  private constructor(
    child: Deno.ChildProcess,
    ports: Ports,
    readyMs: number,
  ) {
    this.#child = child;
    this.debugPort = ports.debugPort;
    this.port = ports.port;
    this.httpPort = ports.httpPort;
    this.readyMs = readyMs;
  }

  /**
   * Starts the service with the permissions that it has when it is installed.
   *
   * @param env Its settings beside the ports.
   * @throws {Error} When it is not ready in half a minute.
   */
  static async service(
    env: Readonly<Record<string, string>>,
    { isPinned = true }: {
      /**
       * Whether it has one core.
       *
       * @default true
       */
      readonly isPinned?: boolean | undefined;
    } = {},
  ): Promise<MeasuredProcess> {
    const ports = freePorts();
    const settings = { ...settingsFor(ports), ...env };
    const execPath = Deno.execPath();
    const flags = permissionFlags("ratelimit", {
      execPath,
      serving: (name) => settings[name],
    });
    return await MeasuredProcess.#start(
      [execPath, ...withStd(["run", ...flags], decidedSource()), MAIN],
      settings,
      { ports, isPinned },
    );
  }

  /**
   * Starts another server of the protocol by a line for the shell. It takes the same
   * settings, and is ready when `/healthcheck` says so.
   *
   * @throws {Error} When it is not ready in half a minute.
   */
  static async reference(
    command: string,
    env: Readonly<Record<string, string>>,
  ): Promise<MeasuredProcess> {
    const ports = freePorts();
    // The shell gives its place to the server, whose time is looked at.
    return await MeasuredProcess.#start(
      ["sh", "-c", `exec ${command}`],
      { ...settingsFor(ports), ...env },
      { ports, isPinned: true },
    );
  }

  static async #start(
    command: readonly string[],
    settings: Readonly<Record<string, string>>,
    { ports, isPinned }: { readonly ports: Ports; readonly isPinned: boolean },
  ): Promise<MeasuredProcess> {
    const sinceMs = performance.now();
    const child = spawnPinned(command, settings, { isPinned });
    try {
      await isHealthy(ports.httpPort);
    } catch (error) {
      await stopped(child);
      throw error;
    }
    return new MeasuredProcess(child, ports, performance.now() - sinceMs);
  }

  /**
   * Starts one of those that it is measured beside.
   *
   * @throws {Error} When it names no port.
   */
  static async peer(name: string): Promise<MeasuredProcess> {
    const program = `${ROOT}scripts/bench/decisions/peer_program.ts`;
    const args = withStd(["run", "-A"], decidedSource());
    const sinceMs = performance.now();
    const child = spawnPinned(
      [Deno.execPath(), ...args, program, name],
      {},
      { stdout: "piped" },
    );
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await lines.read();
    await lines.cancel();
    const port = Number(value);
    if (port > 0) {
      const readyMs = performance.now() - sinceMs;
      const ports = { port, httpPort: port, debugPort: port };
      return new MeasuredProcess(child, ports, readyMs);
    }
    await stopped(child);
    throw new Error(`Cannot start "${name}": it names no port`);
  }

  /** What it has used; by `cat`, since Deno keeps files of `/proc` to itself. */
  async usage(): Promise<Usage> {
    const folder = `/proc/${this.#child.pid}`;
    const { stdout } = await new Deno.Command("cat", {
      args: [`${folder}/stat`, `${folder}/statm`],
    }).output();
    const [stat = "", statm = ""] = decoder.decode(stdout).split("\n");
    // The name of the program may have spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    const pages = Number(statm.split(" ")[1]);
    return { cpuUs: ticks * US_PER_TICK, residentBytes: pages * PAGE_BYTES };
  }

  /** A statistic of the service; 0 where there is none of that name. */
  async statistic(name: string): Promise<number> {
    const url = `http://127.0.0.1:${this.debugPort}/stats?filter=${name}`;
    const text = await (await fetch(url)).text();
    const line = text.split("\n").find((line) => line.startsWith(`${name}: `));
    return Number(line?.slice(name.length + 2) ?? 0);
  }

  /** Has the service read its rules again. */
  reload(): void {
    this.#child.kill("SIGHUP");
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await stopped(this.#child);
  }
}

interface Ports {
  readonly port: number;
  readonly httpPort: number;
  readonly debugPort: number;
}

function freePorts(): Ports {
  return { port: freePort(), httpPort: freePort(), debugPort: freePort() };
}

/** Where a server of the protocol listens. */
function settingsFor(
  { port, httpPort, debugPort }: Ports,
): Readonly<Record<string, string>> {
  return {
    HOST: "127.0.0.1",
    GRPC_HOST: "127.0.0.1",
    PORT: String(httpPort),
    GRPC_PORT: String(port),
    DEBUG_PORT: String(debugPort),
    LOG_LEVEL: "error",
  };
}

const MAIN = `${ROOT}services/ratelimit/main.ts`;
const US_PER_TICK = 10_000;
const PAGE_BYTES = 4_096;

/** Sends calls by the bench's own client. */
export async function frameLoad(job: FrameJob): Promise<FrameResult> {
  const program = `${ROOT}scripts/bench/decisions/frame_load.ts`;
  const args = withStd(["run", "--allow-net=127.0.0.1"], decidedSource());
  return JSON.parse(
    await outputOf(Deno.execPath(), [...args, program, JSON.stringify(job)]),
  );
}

/** What h2load tells. */
export interface H2LoadResult {
  /** Calls that were answered. */
  readonly calls: number;
  /** Calls a second. */
  readonly perSecond: number;
}

/**
 * Sends one message again and again by h2load.
 *
 * @throws {Error} When there is none on the path, or a call failed.
 */
export async function h2Load(
  { port, path, message, connections, streams, ...options }: {
    readonly port: number;
    /** Whether the server speaks TLS; its certificate is not looked at. */
    readonly isTls?: boolean;
    readonly path: string;
    readonly message: Uint8Array;
    readonly connections: number;
    readonly streams: number;
    readonly seconds: number;
  },
): Promise<H2LoadResult> {
  const { seconds, isTls = false } = options;
  const file = await Deno.makeTempFile({ suffix: ".bin" });
  try {
    const body = new Uint8Array(5 + message.length);
    new DataView(body.buffer).setUint32(1, message.length);
    body.set(message, 5);
    await Deno.writeFile(file, body);
    return readH2Load(
      await outputOf("h2load", [
        ...["-c", String(connections), "-m", String(streams), "-t", "1"],
        ...["-D", String(seconds), "-d", file],
        ...["-H", "content-type: application/grpc", "-H", "te: trailers"],
        `${isTls ? "https" : "http"}://127.0.0.1:${port}${path}`,
      ]),
      { seconds },
    );
  } finally {
    await Deno.remove(file);
  }
}

/**
 * Reads what h2load prints.
 *
 * @throws {Error} When a call failed, or nothing was done.
 */
export function readH2Load(
  output: string,
  { seconds }: { readonly seconds: number },
): H2LoadResult {
  const told =
    /(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/
      .exec(output)?.slice(1).map(Number);
  const [, calls = 0, failed = 0, errored = 0, late = 0] = told ?? [];
  if (calls === 0 || failed + errored + late > 0) {
    throw new Error(`Cannot measure: h2load told "${output.slice(-600)}"`);
  }
  return { calls, perSecond: calls / seconds };
}

/** What wrk tells. */
export interface WrkResult {
  /** Requests that were answered. */
  readonly calls: number;
}

/**
 * Sends one request again and again by wrk.
 *
 * @throws {Error} When there is none on the path, or an answer was not good.
 */
export async function wrkRequests(
  { port, path, body, connections, seconds }: {
    readonly port: number;
    readonly path: string;
    /** JSON that is posted; without it the path is asked for. */
    readonly body?: string | undefined;
    readonly connections: number;
    readonly seconds: number;
  },
): Promise<WrkResult> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  try {
    await Deno.writeTextFile(
      script,
      body === undefined ? "" : `wrk.method = "POST"
wrk.body = ${JSON.stringify(body)}
wrk.headers["content-type"] = "application/json"
`,
    );
    const output = await outputOf("wrk", [
      ...["-t", "1", "-c", String(connections), "-d", `${seconds}s`],
      ...["-s", script, `http://127.0.0.1:${port}${path}`],
    ]);
    return readWrk(output);
  } finally {
    await Deno.remove(script);
  }
}

/**
 * Reads what wrk prints.
 *
 * @throws {Error} When an answer was not good, or there was none.
 */
export function readWrk(output: string): WrkResult {
  const calls = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0);
  if (calls === 0 || /Socket errors|Non-2xx/.test(output)) {
    throw new Error(`Cannot measure: wrk told "${output.slice(-600)}"`);
  }
  return { calls };
}

/**
 * Makes a certificate and its key in a folder.
 *
 * @throws {Error} When there is no openssl on the path.
 */
export async function makeCertificate(
  folder: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = [`${folder}/bench.crt`, `${folder}/bench.key`];
  await outputOf("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ...["-nodes", "-days", "1", "-subj", "/CN=localhost"],
    ...["-keyout", key, "-out", cert],
  ]);
  return { cert, key };
}

/**
 * How many commands a second a Redis server does by redis-benchmark.
 *
 * @throws {Error} When it tells no figure.
 */
export async function redisRate(
  port: number,
  command: readonly string[],
): Promise<number> {
  const output = await outputOf("redis-benchmark", [
    ...["-p", String(port), "-c", "50", "-P", "16", "-n", "400000", "-q"],
    ...command,
  ]);
  return readRedisRate(output);
}

/**
 * Reads what redis-benchmark prints.
 *
 * @throws {Error} When there is no figure in it.
 */
export function readRedisRate(output: string): number {
  const shown = [...output.matchAll(/([\d.]+) requests per second/g)].at(-1);
  const rate = Number(shown?.[1]);
  if (rate > 0) return rate;
  throw new Error(`Cannot measure: redis-benchmark told "${output}"`);
}

/** Runs a client on its core. */
async function outputOf(
  program: string,
  args: readonly string[],
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("taskset", {
    args: ["-c", CLIENT_CORE, program, ...args],
    stdin: "null",
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "" },
  }).output();
  const text = decoder.decode(stdout);
  if (success) return text;
  throw new Error(
    `Cannot measure with ${program}: ${decoder.decode(stderr)}${text}`,
  );
}

function spawnPinned(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  { stdout = "null", isPinned = true }: {
    readonly stdout?: "null" | "piped" | undefined;
    readonly isPinned?: boolean | undefined;
  } = {},
): Deno.ChildProcess {
  const cores = isPinned
    ? SERVER_CORE
    : `0-${navigator.hardwareConcurrency - 1}`;
  return new Deno.Command("taskset", {
    args: ["-c", cores, ...command],
    cwd: ROOT,
    clearEnv: true,
    env: { ...keptEnvironment(), ...env },
    stdin: "null",
    stdout,
    stderr: "inherit",
  }).spawn();
}

/** Where programs and Deno's own files are. */
function keptEnvironment(): Readonly<Record<string, string>> {
  const names = ["PATH", "HOME", "DENO_DIR"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

async function isHealthy(port: number): Promise<void> {
  const endMs = performance.now() + READY_MS;
  while (performance.now() < endMs) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/healthcheck`);
      await response.body?.cancel();
      if (response.ok) return;
    } catch (error) {
      // It does not listen yet.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("Cannot start the service: it is not healthy in 30 s");
}

async function stopped(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGTERM");
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof TypeError)) throw error;
  }
  await child.status;
}
