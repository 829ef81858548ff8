/**
 * Starts the server processes whose cost is measured, and the clients that send
 * loads to them. Servers are pinned to one core and clients to the other, where
 * the machine has two.
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

/** Resources that a process has used. */
export interface Usage {
  /** Processor time of all threads since its start, in microseconds. */
  readonly cpuUs: number;
  /** Resident memory of the process, in bytes. */
  readonly residentBytes: number;
}

/** A server process that is measured. */
export class MeasuredProcess {
  /** The port that gRPC loads are sent to. */
  readonly port: number;
  /** The port on which the service listens for HTTP. */
  readonly httpPort: number;
  /** The port on which the service tells its statistics. */
  readonly debugPort: number;
  /** Milliseconds from the start of the process until it answered. */
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
   * Starts the ratelimit service with the permissions that it has when it is
   * installed.
   *
   * @param env Settings of the service beside its ports.
   * @throws {Error} When the service is not ready in half a minute.
   */
  static async service(
    env: Readonly<Record<string, string>>,
    { isPinned = true }: {
      /**
       * Whether the service is pinned to one core.
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
   * Starts another implementation of the protocol with a shell command. It
   * takes the same settings as the service, and is ready when `/healthcheck`
   * says so.
   *
   * @throws {Error} When the server is not ready in half a minute.
   */
  static async reference(
    command: string,
    env: Readonly<Record<string, string>>,
  ): Promise<MeasuredProcess> {
    const ports = freePorts();
    // `exec` replaces the shell by the server, so that the measured process id
    // is that of the server.
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
   * Starts one of the peers that the service is compared with, by name.
   *
   * @throws {Error} When the peer does not print its port.
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

  /**
   * Returns what the process has used so far. Reads `/proc` with `cat`, since
   * Deno itself may read there only with all permissions.
   */
  async usage(): Promise<Usage> {
    const folder = `/proc/${this.#child.pid}`;
    const { stdout } = await new Deno.Command("cat", {
      args: [`${folder}/stat`, `${folder}/statm`],
    }).output();
    const [stat = "", statm = ""] = decoder.decode(stdout).split("\n");
    // The name of the program, which comes first, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    const pages = Number(statm.split(" ")[1]);
    return { cpuUs: ticks * US_PER_TICK, residentBytes: pages * PAGE_BYTES };
  }

  /** Returns a statistic of the service; 0 when no statistic has that name. */
  async statistic(name: string): Promise<number> {
    const url = `http://127.0.0.1:${this.debugPort}/stats?filter=${name}`;
    const text = await (await fetch(url)).text();
    const line = text.split("\n").find((line) => line.startsWith(`${name}: `));
    return Number(line?.slice(name.length + 2) ?? 0);
  }

  /** Makes the service read its rules again. */
  reload(): void {
    this.#child.kill("SIGHUP");
  }

  /** Ends the process. */
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

/** The settings that tell a server of the protocol where to listen. */
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

/** Runs a load with the bench's own client, as a process of its own. */
export async function frameLoad(job: FrameJob): Promise<FrameResult> {
  const program = `${ROOT}scripts/bench/decisions/frame_load.ts`;
  const args = withStd(["run", "--allow-net=127.0.0.1"], decidedSource());
  return JSON.parse(
    await outputOf(Deno.execPath(), [...args, program, JSON.stringify(job)]),
  );
}

/** The figures that h2load prints. */
export interface H2LoadResult {
  /** Calls that were answered. */
  readonly calls: number;
  /** Calls that were answered in a second. */
  readonly perSecond: number;
}

/**
 * Sends one message repeatedly with h2load.
 *
 * @throws {Error} When h2load is not on the path, or a call failed.
 */
export async function h2Load(
  { port, path, message, connections, streams, ...options }: {
    readonly port: number;
    /** Whether the server speaks TLS; its certificate is not verified. */
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
 * Reads the output of h2load.
 *
 * @throws {Error} When a call failed, or no call was made.
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

/** The figures that wrk prints. */
export interface WrkResult {
  /** Requests that were answered. */
  readonly calls: number;
}

/**
 * Sends one HTTP request repeatedly with wrk.
 *
 * @throws {Error} When wrk is not on the path, or a response was not a success.
 */
export async function wrkRequests(
  { port, path, body, connections, seconds }: {
    readonly port: number;
    readonly path: string;
    /** JSON that is sent by POST; without it the path is requested by GET. */
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
 * Reads the output of wrk.
 *
 * @throws {Error} When a response was not a success, or there was no response.
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
 * Measures with redis-benchmark how many commands a second a Redis server
 * answers.
 *
 * @throws {Error} When redis-benchmark prints no figure.
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
 * Reads the output of redis-benchmark.
 *
 * @throws {Error} When it contains no figure.
 */
export function readRedisRate(output: string): number {
  const shown = [...output.matchAll(/([\d.]+) requests per second/g)].at(-1);
  const rate = Number(shown?.[1]);
  if (rate > 0) return rate;
  throw new Error(`Cannot measure: redis-benchmark told "${output}"`);
}

/**
 * Runs a client, pinned to the core of the clients, and returns what it prints.
 */
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

/**
 * The environment variables that tell where programs and Deno's own files are.
 */
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
      // The service does not listen yet.
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
    // The process has already ended by itself.
    if (!(error instanceof TypeError)) throw error;
  }
  await child.status;
}
