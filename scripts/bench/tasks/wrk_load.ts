/**
 * Sends load with `wrk`, which costs a third of what a client in JavaScript
 * does; whatever the client costs lowers the measured rate.
 *
 * @module
 */

/** Requests that are sent repeatedly over several connections. */
export interface WrkJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** Number of connections, each with one request under way. */
  readonly connections: number;
  /** The requests, taken in turns; they must be ASCII. */
  readonly requests: readonly Uint8Array[];
  /** Duration in milliseconds, rounded up to whole seconds for `wrk`. */
  readonly ms: number;
  /**
   * Whether late responses and those with a status of 400 or more are accepted.
   * @default {false}
   */
  readonly takesRefusals?: boolean;
}

/** The result of a load. */
export interface WrkResult {
  /** Responses per second. */
  readonly perSecond: number;
  /** Median latency, in milliseconds. */
  readonly p50Ms: number;
  /** 99th percentile of the latency, in milliseconds. */
  readonly p99Ms: number;
}

const decoder = new TextDecoder();

/**
 * Sends a load.
 *
 * @returns `undefined` when `wrk` is not on the path.
 * @throws {Error} When a request failed.
 */
export async function wrkLoad(job: WrkJob): Promise<WrkResult | undefined> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  try {
    await Deno.writeTextFile(script, scriptOf(job));
    const seconds = Math.ceil(job.ms / 1_000);
    const { success, stdout, stderr } = await new Deno.Command("wrk", {
      args: [
        ...["--threads", "1", "--connections", String(job.connections)],
        ...["--duration", `${seconds}s`, "--script", script],
        `http://127.0.0.1:${job.port}/`,
      ],
    }).output();
    if (success) return resultOf(decoder.decode(stdout));
    throw new Error(`Cannot send load: ${decoder.decode(stderr)}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  } finally {
    await Deno.remove(script);
  }
}

/**
 * Returns the Lua script for `wrk`: the requests that it sends and what it
 * prints at the end.
 */
function scriptOf({ requests, takesRefusals = false }: WrkJob): string {
  // A JSON string of ASCII text is also a valid Lua string.
  const texts = requests.map((bytes) => JSON.stringify(decoder.decode(bytes)));
  return `local requests = {${texts.join(",\n")}}
local at = 0
request = function()
  at = at % #requests + 1
  return requests[at]
end
done = function(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"count":%d,"us":%d,"bad":%d,"p50Us":%d,"p99Us":%d}',
    summary.requests, summary.duration,
    e.connect + e.read + e.write${
    takesRefusals ? "" : " + e.status + e.timeout"
  },
    latency:percentile(50), latency:percentile(99)
  ))
end
`;
}

function resultOf(output: string): WrkResult {
  const line = output.split("\n").find((line) => line.startsWith("{"));
  const told: unknown = JSON.parse(line ?? "null");
  const bad = numberOf(told, "bad");
  if (bad > 0) {
    throw new Error(`Cannot measure: there were ${bad} failures`);
  }
  return {
    perSecond: numberOf(told, "count") / numberOf(told, "us") * 1e6,
    p50Ms: numberOf(told, "p50Us") / 1_000,
    p99Ms: numberOf(told, "p99Us") / 1_000,
  };
}

function numberOf(told: unknown, name: string): number {
  const value: unknown = typeof told === "object" && told !== null
    ? Reflect.get(told, name)
    : undefined;
  if (typeof value === "number") return value;
  throw new Error(`Cannot read what wrk tells: it has no ${name}`);
}
