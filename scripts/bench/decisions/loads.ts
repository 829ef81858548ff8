/**
 * Starts the servers of the benchmark of decisions, and sends them loads.
 * Servers are pinned to one core and clients to the other.
 *
 * @module
 */

import { freePorts } from "../../smoke/smoke.ts";
import { tell } from "../../terminal.ts";
import type { BenchRun, Figures } from "../kit/bench_run.ts";
import {
  h2Load,
  outputFrom,
  SERVER_CORE,
  startRedis,
  wrkLoad,
} from "../kit/clients.ts";
import { requestBytes } from "../kit/http_socket.ts";
import {
  MeasuredProcess,
  scriptCommand,
  serviceCommand,
} from "../kit/measured_process.ts";
import { CALL_PATH, callMessage } from "./call_frames.ts";
import type { FrameJob, FrameResult } from "./frame_load.ts";

const HOST = "127.0.0.1";
const RULES = `domain: bench
descriptors:
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 1000000000}
  - key: path
    descriptors:
      - key: method
        rate_limit: {unit: minute, requests_per_unit: 1000000000}
  - key: plan
    value: free
    rate_limit: {unit: hour, requests_per_unit: 100}
`;
const MESSAGE = callMessage({ descriptors: 2 }, 0);
/**
 * The default load of the bench's own client; the port and the duration are
 * added for each run.
 */
export const FRAMES: Omit<FrameJob, "port" | "ms"> = {
  isEcho: false,
  connections: 8,
  streams: 32,
  values: 1,
  descriptors: 2,
  isHeaderNew: false,
};

/** A server that is measured, and the ports on which it listens. */
export interface Served {
  /** Its process. */
  readonly process: MeasuredProcess;
  /** The port that gRPC loads are sent to. */
  readonly port: number;
  /** The port on which it listens for HTTP. */
  readonly httpPort: number;
  /** The port on which the service tells its statistics. */
  readonly debugPort: number;
}

/**
 * Starts the ratelimit service with the bench's rules; or, by a command of the
 * shell, another server that takes the same settings.
 */
export async function startService(
  run: BenchRun,
  { env = {}, rules = RULES, isPinned = true, command }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly rules?: string;
    /** Whether the service has one core alone; true unless given. */
    readonly isPinned?: boolean;
    readonly command?: string;
  } = {},
): Promise<Served> {
  const root = await run.makeFolder();
  await Deno.mkdir(`${root}/config`);
  await Deno.writeTextFile(`${root}/config/bench.yaml`, rules);
  const [port = 0, httpPort = 0, debugPort = 0] = freePorts(3);
  const settings = {
    HOST,
    GRPC_HOST: HOST,
    PORT: String(httpPort),
    GRPC_PORT: String(port),
    DEBUG_PORT: String(debugPort),
    LOG_LEVEL: "error",
    RUNTIME_ROOT: root,
    RUNTIME_SUBDIRECTORY: "",
    ...env,
  };
  const process = await MeasuredProcess.start({
    // `exec` replaces the shell by the server, so that the measured process is
    // the server.
    command: command === undefined
      ? serviceCommand("ratelimit", { env: settings })
      : ["sh", "-c", `exec ${command}`],
    env: settings,
    ...(isPinned ? { cores: SERVER_CORE } : {}),
    readyUrl: `http://${HOST}:${httpPort}/healthcheck`,
  });
  return { process: run.keep(process), port, httpPort, debugPort };
}

/**
 * Starts one of the servers that the service is compared with.
 *
 * @param options.mostFiles Files that it may have open; as many as this process
 * unless given.
 */
export async function startPeer(
  run: BenchRun,
  name: string,
  { mostFiles }: { readonly mostFiles?: number } = {},
): Promise<Served> {
  const program = scriptCommand("decisions/servers.ts", [name]);
  const limit = mostFiles === undefined
    ? []
    : ["sh", "-c", `ulimit -n ${mostFiles}; exec "$@"`, "sh"];
  const process = await MeasuredProcess.start({
    command: [...limit, ...program],
    cores: SERVER_CORE,
  });
  const { port } = run.keep(process);
  return { process, port, httpPort: port, debugPort: port };
}

/** Starts Redis; `undefined`, with a notice, when it is not installed. */
export async function startStore(
  run: BenchRun,
): Promise<Readonly<Record<string, string>> | undefined> {
  const redis = await startRedis(run.folder);
  if (redis === undefined) return void tell("  there is no redis-server");
  run.keep(redis);
  return {
    BACKEND_TYPE: "kvstore",
    KVSTORE_TYPE: "single",
    KVSTORE_URL: `${HOST}:${redis.port}`,
  };
}

/** Runs a load; returns its figures and what a call costs the server. */
async function measureCost(
  run: BenchRun,
  { process }: Served,
  load: () => Promise<Figures>,
): Promise<Figures> {
  const before = await process.usage();
  const figures = await load();
  const { cpuUs } = await process.usage();
  const { calls = NaN, ms = run.values.seconds * 1_000 } = figures;
  return {
    ...figures,
    cpuUs: (cpuUs - before.cpuUs) / calls,
    perSecond: calls / ms * 1_000,
  };
}

/** Sends gRPC calls with h2load. */
export function calls(
  run: BenchRun,
  server: Served,
  [connections, streams]: readonly [number, number],
  isTls = false,
): Promise<Figures> {
  const { port } = server;
  const { seconds } = run.values;
  return measureCost(run, server, async () => {
    const job = { port, connections, streams, isTls, seconds };
    return { ...await h2Load({ ...job, path: CALL_PATH, message: MESSAGE }) };
  });
}

/** Sends gRPC calls with the bench's own client. */
export function frames(
  run: BenchRun,
  server: Served,
  job: Partial<FrameJob>,
): Promise<Figures> {
  const ms = run.values.seconds * 1_000;
  return measureCost(run, server, async () => ({
    ...await frameLoad({ ...FRAMES, port: server.port, ms, ...job }),
  }));
}

/** Sends HTTP requests with wrk over 64 connections. */
export function requests(
  run: BenchRun,
  server: Served,
  { path, body }: { readonly path: string; readonly body?: string },
): Promise<Figures> {
  const { httpPort: port } = server;
  const request = requestBytes({
    ...{ method: body === undefined ? "GET" : "POST", path },
    ...{ host: `${HOST}:${port}`, ...(body === undefined ? {} : { body }) },
  });
  const { seconds } = run.values;
  const job = { port, connections: 64, requests: [request], seconds };
  return measureCost(run, server, async () => {
    const { calls } = await wrkLoad(job, { isPinned: true });
    return { calls };
  });
}

/** Runs a load of the bench's own client in a process of its own. */
export async function frameLoad(job: FrameJob): Promise<FrameResult> {
  const [program = "", ...args] = scriptCommand("decisions/frame_load.ts", [
    JSON.stringify(job),
  ]);
  return JSON.parse(await outputFrom(program, args));
}

/**
 * Runs loads in turns and adds what a call costs of each to the report, without
 * a bar to meet; a load without a name is left out there.
 *
 * @returns The medians of each load.
 */
export async function reportCosts(
  run: BenchRun,
  loads: readonly (readonly [string, () => Promise<Figures>])[],
): Promise<readonly Figures[]> {
  const costs = await run.inTurns(loads.map(([, load]) => load));
  for (const [at, figures] of costs.entries()) {
    const [name = ""] = loads[at] ?? [];
    if (name !== "") reportCost(run, name, figures);
  }
  return costs;
}

function reportCost(run: BenchRun, name: string, figures: Figures): void {
  const { cpuUs = NaN, perSecond = NaN, p50Ms, p99Ms, p999Ms } = figures;
  const rate = `${Math.round(perSecond).toLocaleString("en-US")}/s`;
  const times = [p50Ms, p99Ms, p999Ms].map((ms = NaN) => ms.toFixed(2));
  const note = p99Ms === undefined
    ? rate
    : `${rate}; p50, p99, p99.9 ${times.join(", ")} ms`;
  run.bars.push({ name, value: cpuUs, unit: "µs", digits: 1, note });
}

/** Returns a statistic of the service; 0 when none has that name. */
export async function statistic(
  { debugPort }: Served,
  name: string,
): Promise<number> {
  const url = `http://${HOST}:${debugPort}/stats?filter=${name}`;
  const text = await (await fetch(url)).text();
  const line = text.split("\n").find((line) => line.startsWith(`${name}: `));
  return Number(line?.slice(name.length + 2) ?? 0);
}
