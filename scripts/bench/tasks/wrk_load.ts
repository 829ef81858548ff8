/**
 * Load by `wrk`, which costs a third of what a client in JavaScript does, and
 * what the client costs is taken from the result.
 *
 * @module
 */

/** Requests that are sent again and again over several connections. */
export interface WrkJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** Connections, each with one request under way. */
  readonly connections: number;
  /** The requests, taken in turns; ASCII. */
  readonly requests: readonly Uint8Array[];
  /** How long it goes; `wrk` counts in seconds. */
  readonly ms: number;
  /**
   * Whether answers that are late or have a status of 400 or more are as good as
   * others.
   * @default {false}
   */
  readonly takesRefusals?: boolean;
}

/** What the load came to. */
export interface WrkResult {
  /** Answers in a second. */
  readonly perSecond: number;
  /** How long half of the requests took at most, in milliseconds. */
  readonly p50Ms: number;
  /** How long 99 of 100 requests took at most, in milliseconds. */
  readonly p99Ms: number;
}

const decoder = new TextDecoder();

/**
 * Sends load.
 *
 * @returns `undefined` when there is no `wrk` on the path.
 * @throws {Error} When an answer was not good.
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

/** The script of `wrk`: which requests it sends and what it tells at the end. */
function scriptOf({ requests, takesRefusals = false }: WrkJob): string {
  // Of ASCII text, the JSON of a string is a string in Lua, too.
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
