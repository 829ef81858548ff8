/**
 * Starts the programs of others that send loads, and Redis servers.
 *
 * @module
 */

import { runtimeVariables } from "../../launch/deno_process.ts";
import { freePorts } from "../../smoke/smoke.ts";
import { MeasuredProcess } from "./measured_process.ts";

/** The core of servers that are pinned; clients have the other one. */
export const SERVER_CORE = "0";
const CLIENT_CORE = "1";
const HOST = "127.0.0.1";
const decoder = new TextDecoder();

/** A load that `wrk` sends. */
export interface WrkJob {
  /** The port of the server on this machine. */
  readonly port: number;
  /** Number of connections, each with one request under way. */
  readonly connections: number;
  /** The requests, taken in turns; they must be ASCII. */
  readonly requests: readonly Uint8Array[];
  /** Duration in whole seconds. */
  readonly seconds: number;
  /**
   * Whether late responses and those with a status of 400 or more are accepted.
   *
   * @default {false}
   */
  readonly takesRefusals?: boolean;
}

/** The result of a load. */
export interface LoadFigures {
  /** Responses in all. */
  readonly calls: number;
  /** Responses per second. */
  readonly perSecond: number;
  /** Median latency, in milliseconds. */
  readonly p50Ms: number;
  /** 99th percentile of the latency, in milliseconds. */
  readonly p99Ms: number;
}

/**
 * Sends a load with `wrk`, which costs a third of what a client in JavaScript
 * does; whatever the client costs lowers the measured rate.
 *
 * @throws {Error} When `wrk` is not on the path, or a request failed.
 */
export async function wrkLoad(
  job: WrkJob,
  { isPinned = false }: { readonly isPinned?: boolean } = {},
): Promise<LoadFigures> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  try {
    await Deno.writeTextFile(script, wrkScript(job));
    const args = [
      ...["--threads", "1", "--connections", String(job.connections)],
      ...["--duration", `${job.seconds}s`, "--script", script],
      // On a busy machine a response is late, and still one.
      ...["--timeout", "10s"],
      `http://${HOST}:${job.port}/`,
    ];
    return readWrk(await outputFrom("wrk", args, { isPinned }), job);
  } finally {
    await Deno.remove(script);
  }
}

/**
 * Returns the Lua script for `wrk`: the requests that it sends and what it
 * prints at the end. `wrk` asks no script for a request that is always the same.
 */
function wrkScript({ requests, takesRefusals = false }: WrkJob): string {
  // A JSON string of ASCII text is also a valid Lua string.
  const texts = requests.map((bytes) => JSON.stringify(decoder.decode(bytes)));
  const refusals = takesRefusals ? "" : " + e.status + e.timeout";
  const next = texts.length === 1
    ? "wrk.format = function() return requests[1] end"
    : `local at = 0
request = function()
  at = at % #requests + 1
  return requests[at]
end`;
  return `local requests = {${texts.join(",\n")}}
${next}
done = function(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"count":%d,"us":%d,"bad":%d,"p50Us":%d,"p99Us":%d}',
    summary.requests, summary.duration,
    e.connect + e.read + e.write${refusals},
    latency:percentile(50), latency:percentile(99)
  ))
end
`;
}

/**
 * Reads what the script for `wrk` prints.
 *
 * @throws {Error} When a request failed; or when none was answered, unless late
 * responses are accepted.
 */
export function readWrk(
  output: string,
  { takesRefusals = false }: Pick<WrkJob, "takesRefusals"> = {},
): LoadFigures {
  const line = output.split("\n").find((line) => line.startsWith("{"));
  const { count = 0, us = 0, bad = 0, p50Us = 0, p99Us = 0 } = JSON.parse(
    line ?? "{}",
  ) as Readonly<Record<string, number>>;
  if (us === 0 || bad > 0 || count === 0 && !takesRefusals) {
    throw new Error(`Cannot measure: wrk told "${output.slice(-600)}"`);
  }
  return {
    calls: count,
    perSecond: count / us * 1e6,
    p50Ms: p50Us / 1_000,
    p99Ms: p99Us / 1_000,
  };
}

/**
 * Sends one gRPC message repeatedly with h2load.
 *
 * @throws {Error} When h2load is not on the path, or a call failed.
 */
export async function h2Load(
  { port, path, message, connections, streams, seconds, isTls = false }: {
    /** The port of the server on this machine. */
    readonly port: number;
    /** Whether the server speaks TLS; its certificate is not verified. */
    readonly isTls?: boolean;
    /** The path of the method. */
    readonly path: string;
    /** The message, without its length. */
    readonly message: Uint8Array;
    /** Number of connections. */
    readonly connections: number;
    /** Calls that are under way on each connection. */
    readonly streams: number;
    /** Duration in whole seconds. */
    readonly seconds: number;
  },
): Promise<Pick<LoadFigures, "calls" | "perSecond">> {
  const file = await Deno.makeTempFile({ suffix: ".bin" });
  try {
    const body = new Uint8Array(5 + message.length);
    new DataView(body.buffer).setUint32(1, message.length);
    body.set(message, 5);
    await Deno.writeFile(file, body);
    const output = await outputFrom("h2load", [
      ...["-c", String(connections), "-m", String(streams), "-t", "1"],
      ...["-D", String(seconds), "-d", file],
      ...["-H", "content-type: application/grpc", "-H", "te: trailers"],
      `${isTls ? "https" : "http"}://${HOST}:${port}${path}`,
    ]);
    return readH2Load(output, { seconds });
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
): Pick<LoadFigures, "calls" | "perSecond"> {
  const told =
    /(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/
      .exec(output)?.slice(1).map(Number);
  const [, calls = 0, failed = 0, errored = 0, late = 0] = told ?? [];
  if (calls === 0 || failed + errored + late > 0) {
    throw new Error(`Cannot measure: h2load told "${output.slice(-600)}"`);
  }
  return { calls, perSecond: calls / seconds };
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
  await outputFrom("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ...["-nodes", "-days", "1", "-subj", "/CN=localhost"],
    ...["-keyout", key, "-out", cert],
  ]);
  return { cert, key };
}

/**
 * Starts a Redis server; {@linkcode MeasuredProcess.port} is where it listens.
 *
 * @param folder The folder of the server's files.
 * @param options.isDurable Whether it syncs each write to the disk before it
 * answers; else it keeps nothing on disk.
 * @returns `undefined` when redis-server is not on the path.
 */
export async function startRedis(
  folder: string,
  { isDurable = false }: { readonly isDurable?: boolean } = {},
): Promise<MeasuredProcess | undefined> {
  const [port] = freePorts(1);
  const command = [
    ...["redis-server", "--bind", HOST, "--port", String(port)],
    ...["--dir", folder, "--save", "", "--maxmemory-policy", "noeviction"],
    ...["--appendonly", isDurable ? "yes" : "no", "--appendfsync", "always"],
  ];
  try {
    const readyUrl = `tcp://${HOST}:${port}`;
    return await MeasuredProcess.start({ command, readyUrl });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Runs a client and returns what it prints.
 *
 * @param options.isPinned Whether it has the core of the clients; true unless
 * given.
 * @param options.env Variables beside those of the runtime.
 * @throws {Error} When it fails.
 */
export async function outputFrom(
  program: string,
  args: readonly string[],
  { isPinned = true, env = {} }: {
    readonly isPinned?: boolean;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<string> {
  const pinned = isPinned ? ["taskset", "-c", CLIENT_CORE] : [];
  const [first = "", ...rest] = [...pinned, program, ...args];
  const { success, stdout, stderr } = await new Deno.Command(first, {
    args: rest,
    stdin: "null",
    clearEnv: true,
    env: { ...runtimeVariables(Deno.env.toObject()), ...env },
  }).output();
  const text = decoder.decode(stdout);
  if (success) return text;
  throw new Error(
    `Cannot measure with ${program}: ${decoder.decode(stderr)}${text}`,
  );
}
