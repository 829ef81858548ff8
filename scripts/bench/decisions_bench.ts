/**
 * Measures what a rate limit decision costs, compared in the same run with the
 * shortest servers of the runtime. The candidates take turns in rounds, so that
 * other work on the machine slows all of them down alike, and ratios of medians
 * are judged. Needs h2load, wrk and taskset on the path, and redis-server with
 * redis-benchmark for the counters in Redis.
 *
 * ```sh
 * deno task bench:decisions --help
 * ```
 *
 * Exits with 1 when a bar is missed.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { messageOf, print, tell } from "../terminal.ts";
import { Bench, FRAMES } from "./decisions/bench.ts";
import type { FrameResult } from "./decisions/frame_load.ts";
import { frameLoad, redisRate } from "./decisions/measured_process.ts";
import { isMet, markdownOf, tableOf } from "./tasks/bar.ts";
import { median } from "./tasks/load_job.ts";

const HELP =
  `Measures what a decision costs, beside other servers in the same run.

usage: deno task bench:decisions [options]

  --only=<names>   only these measures, with commas between: memory, kvstore, json,
                   over-limit, single, open-loop, honest, asterisks, counters, rules, tls,
                   workers, reference
  --rounds=<n>     rounds, in turns; medians are told (5)
  --seconds=<n>    how long each load goes (3)
  --markdown       the result as a table for a README
  --json           the result as JSON: bars, each with name, value and unit, and
                   what is demanded as atLeast or atMost
  --help           this text

A call has two descriptors that rules count by. 8×32 is eight connections with 32 calls
under way on each. Costs are processor time of the server's process, all threads.

REFERENCE_CMD is a line for the shell that starts another server of the protocol (the
server itself, whose time is measured, not what launches it); it gets
its ports, its rules and its Redis by the variables of this service (GRPC_PORT, PORT,
RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, BACKEND_TYPE, KVSTORE_URL and so on; REDIS_URL too).
`;

/** The measurements by their name in `--only`. */
const MEASURES: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  memory: measureMemory,
  kvstore: measureKvstore,
  json: measureJson,
  "over-limit": measureOverLimit,
  single: measureSingle,
  "open-loop": measureOpenLoop,
  honest: measureHonest,
  asterisks: measureAsterisks,
  counters: measureCounters,
  rules: measureRules,
  tls: measureTls,
  workers: measureWorkers,
  reference: measureReference,
};

const JSON_BODY = JSON.stringify({
  domain: "bench",
  descriptors: [
    { entries: [{ key: "remote_address", value: "000000000" }] },
    {
      entries: [
        { key: "path", value: "/api/v1/items" },
        { key: "method", value: "GET" },
      ],
    },
  ],
});
/** One call an hour, which the first call of the bench uses up. */
const SPENT_RULES = `domain: bench
descriptors:
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 1}
`;
const MANY_VALUES = 100_000;
const PATTERNS = 1_000;
const COUNTERS = 1_000_000;
/** A prefix of all counter keys, which makes them 60 bytes long. */
const KEY_PREFIX = "a_prefix_that_the_keys_share_";
const COUNTERS_PER_SECOND = 60_000;
const FEW_RULES = 10;
const MANY_RULES = 10_000;
const RELOAD_MS = 1_000;
const TOTAL_CALLS = "ratelimit_server.ShouldRateLimit.total_requests";
/**
 * The least number of cores for the comparison with a second thread: enough for
 * two threads with a client beside them.
 */
const MANY_CORES = 4;
const HONEST_MS = 5_000;
const GREEDY_CONNECTIONS = 20;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      json: { type: "boolean", default: false },
      markdown: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const names = values.only?.split(",") ?? Object.keys(MEASURES);
  const unknown = names.find((name) => MEASURES[name] === undefined);
  if (unknown !== undefined) {
    throw new TypeError(`Cannot measure "${unknown}": see --help`);
  }
  const folder = await Deno.makeTempDir({ prefix: "bench_decisions_" });
  const bench = new Bench(folder, {
    rounds: countOf("rounds", values.rounds),
    seconds: countOf("seconds", values.seconds),
  });
  try {
    for (const name of names) {
      tell(`measuring: ${name}`);
      await MEASURES[name]?.(bench);
      await bench.stopAll();
    }
  } finally {
    await bench.stopAll();
    await Deno.remove(folder, { recursive: true });
  }
  const { bars } = bench;
  if (values.json) print(JSON.stringify({ bars }, null, 2));
  else print(values.markdown ? markdownOf(bars) : tableOf(bars));
  return bars.some((bar) => isMet(bar) === false) ? 1 : 0;
}

function countOf(name: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new TypeError(`Cannot read --${name} "${text}": give a whole number`);
}

async function measureMemory(bench: Bench): Promise<void> {
  const [service, hello, echo, grpc] = [
    await bench.service(),
    await bench.peer("hello"),
    await bench.peer("echo"),
    await bench.peer("grpc-js"),
  ];
  const costs = await bench.inTurns({
    hello: () => bench.requests(hello),
    calls: () => bench.calls(service, 8, 32),
    changing: () =>
      bench.frames(service, { values: MANY_VALUES, isHeaderNew: true }),
    constant: () => bench.frames(service, {}),
    wide: () => bench.frames(service, { connections: 64, streams: 1 }),
    echo: () =>
      bench.frames(echo, { isEcho: true, connections: 64, streams: 1 }),
    grpc: () => bench.calls(grpc, 8, 32),
  });
  bench.told("Deno.serve hello, 64 connections", costs.hello);
  bench.told("@grpc/grpc-js without rules, 8×32", costs.grpc);
  bench.told("memory, 8×32", costs.calls);
  bench.told("memory, 8×32, own client", costs.constant);
  bench.told(
    "memory, 8×32, 100,000 values, new headers, own client",
    costs.changing,
  );
  bench.told("memory, 64×1, own client", costs.wide);
  bench.told("node:net echo, 64×1, own client", costs.echo);
  bench.ratio("memory 8×32 to hello", costs.calls.cpuUs / costs.hello.cpuUs, {
    atMost: 0.4,
  });
  bench.ratio(
    "changing values and headers to constant ones",
    costs.changing.cpuUs / costs.constant.cpuUs,
    { atMost: 2 },
  );
  bench.ratio("memory 64×1 to echo", costs.wide.cpuUs / costs.echo.cpuUs, {
    atMost: 1.6,
  });
}

async function measureKvstore(bench: Bench): Promise<void> {
  const redis = await bench.redis();
  if (redis === undefined) return tell("  there is no redis-server");
  const [service, hello, echo] = [
    await bench.service(kvstoreAt(redis.port)),
    await bench.peer("hello"),
    await bench.peer("echo"),
  ];
  const costs = await bench.inTurns({
    hello: () => bench.requests(hello),
    calls: () => bench.calls(service, 8, 32),
    wide: () => bench.frames(service, { connections: 64, streams: 1 }),
    single: () => bench.frames(service, { connections: 1, streams: 1 }),
    echo: () =>
      bench.frames(echo, { isEcho: true, connections: 64, streams: 1 }),
  });
  const [increments, expiries] = [
    await redisRate(redis.port, ["INCRBY", "bench", "1"]),
    await redisRate(redis.port, ["EXPIRE", "bench", "60"]),
  ];
  bench.told("Redis, two keys, 8×32", costs.calls);
  bench.told("Redis, two keys, 64×1, own client", costs.wide);
  bench.told("Redis, two keys, 1×1, own client", costs.single);
  bench.ratio("Redis 8×32 to hello", costs.calls.cpuUs / costs.hello.cpuUs, {
    atMost: 1.5,
  });
  bench.ratio(
    "pairs a second to what redis-benchmark reaches",
    2 * costs.calls.perSecond * (1 / increments + 1 / expiries),
    { atLeast: 0.4 },
  );
  bench.ratio("Redis 64×1 to echo", costs.wide.cpuUs / costs.echo.cpuUs, {
    atMost: 2.5,
  });
}

function kvstoreAt(port: number): Readonly<Record<string, string>> {
  return {
    BACKEND_TYPE: "kvstore",
    KVSTORE_TYPE: "single",
    KVSTORE_URL: `127.0.0.1:${port}`,
  };
}

async function measureOverLimit(bench: Bench): Promise<void> {
  const redis = await bench.redis();
  if (redis === undefined) return tell("  there is no redis-server");
  const service = await bench.service({
    ...kvstoreAt(redis.port),
    LOCAL_CACHE_SIZE_IN_BYTES: "1048576",
  }, { rules: SPENT_RULES });
  const costs = await bench.inTurns({
    refused: () => bench.calls(service, 8, 32),
  });
  bench.told("Redis, over the limit by the local cache, 8×32", costs.refused);
}

async function measureTls(bench: Bench): Promise<void> {
  const { cert, key } = await bench.certificate();
  const service = await bench.service({
    GRPC_SERVER_USE_TLS: "true",
    GRPC_SERVER_TLS_CERT: cert,
    GRPC_SERVER_TLS_KEY: key,
  });
  const isTls = true;
  const costs = await bench.inTurns({
    calls: () => bench.calls(service, 8, 32, { isTls }),
    wide: () => bench.calls(service, 64, 1, { isTls }),
  });
  bench.told("memory over TLS, 8×32", costs.calls);
  bench.told("memory over TLS, 64×1", costs.wide);
}

/**
 * Compares two service threads with one, both on all cores of the machine. The
 * load is not from h2load: h2load does not open a closed connection again, so
 * that the service with two threads would have fewer connections than the
 * other; and it uses so much of two cores that the threads would mostly sleep.
 */
async function measureWorkers(bench: Bench): Promise<void> {
  const isPinned = false;
  const [one, two] = [
    await bench.service({}, { isPinned }),
    await bench.service({ WORKERS: "2" }, { isPinned }),
  ];
  const costs = await bench.inTurns({
    one: () => bench.frames(one, { isSettled: true }),
    two: () => bench.frames(two, { isSettled: true }),
  });
  const [calls, ofSecond] = [
    await two.statistic(TOTAL_CALLS),
    await two.statistic("ratelimit.threads.1.calls"),
  ];
  bench.told("memory, 8×32, one thread with all cores, own client", costs.one);
  bench.told("memory, 8×32, two threads, own client", costs.two);
  bench.ratio("two threads to one", costs.two.cpuUs / costs.one.cpuUs, {
    atMost: 1.15,
  });
  bench.ratio(
    "calls of the thread that has fewer",
    Math.min(ofSecond, calls - ofSecond) / calls,
    { atLeast: 0.4 },
  );
  if (navigator.hardwareConcurrency < MANY_CORES) return;
  const gain = costs.two.perSecond / costs.one.perSecond;
  bench.ratio("throughput of two threads to one", gain, { atLeast: 1.7 });
}

async function measureReference(bench: Bench): Promise<void> {
  const command = Deno.env.get("REFERENCE_CMD") ?? "";
  if (command === "") return tell("  REFERENCE_CMD names no server");
  const redis = await bench.redis();
  if (redis === undefined) return tell("  there is no redis-server");
  const store = kvstoreAt(redis.port);
  const [ours, reference] = [
    await bench.service(store),
    await bench.reference(command, {
      ...{ ...store, BACKEND_TYPE: "redis", USE_STATSD: "false" },
      ...{ REDIS_SOCKET_TYPE: "tcp", REDIS_URL: `127.0.0.1:${redis.port}` },
    }),
  ];
  const costs = await bench.inTurns({
    ours: () => bench.calls(ours, 8, 32),
    reference: () => bench.calls(reference, 8, 32),
  });
  bench.told("Redis, two keys, 8×32", costs.ours);
  bench.told("the server of REFERENCE_CMD, the same", costs.reference);
  bench.ratio("ours to it", costs.ours.cpuUs / costs.reference.cpuUs, {});
}

async function measureJson(bench: Bench): Promise<void> {
  const [service, hello] = [await bench.service(), await bench.peer("hello")];
  const costs = await bench.inTurns({
    hello: () => bench.requests(hello),
    json: () => bench.requests(service, JSON_BODY),
  });
  bench.told("POST /json, memory, 64 connections", costs.json);
  bench.ratio("/json to hello", costs.json.cpuUs / costs.hello.cpuUs, {
    atMost: 2.5,
  });
}

async function measureSingle(bench: Bench): Promise<void> {
  const [service, echo] = [await bench.service(), await bench.peer("echo")];
  const one = { connections: 1, streams: 1 };
  const costs = await bench.inTurns({
    service: () => bench.frames(service, one),
    echo: () => bench.frames(echo, { ...one, isEcho: true }),
  });
  bench.told("memory, 1×1, own client", costs.service);
  bench.told("node:net echo, 1×1, own client", costs.echo);
  bench.ratio(
    "p99 of memory 1×1 to echo",
    (costs.service.p99Ms ?? NaN) / (costs.echo.p99Ms ?? NaN),
    { atMost: 1.6 },
  );
}

async function measureOpenLoop(bench: Bench): Promise<void> {
  const [service, echo] = [await bench.service(), await bench.peer("echo")];
  const peak = await bench.calls(service, 8, 32);
  const job = { connections: 8, perSecond: peak.perSecond / 10 };
  const costs = await bench.inTurns({
    service: () => bench.frames(service, job),
    echo: () => bench.frames(echo, { ...job, isEcho: true }),
  });
  const shown = Math.round(job.perSecond).toLocaleString("en-US");
  bench.told(`memory at ${shown} calls a second`, costs.service);
  bench.told(`node:net echo at ${shown} a second`, costs.echo);
  bench.ratio(
    "p99.9 at a tenth of the peak, to echo",
    (costs.service.p999Ms ?? NaN) / (costs.echo.p999Ms ?? NaN),
    { atMost: 2 },
  );
}

async function measureHonest(bench: Bench): Promise<void> {
  const service = await bench.service();
  const { port } = service;
  // Warms up: code gets compiled first, without which calls take several times
  // as long.
  await bench.calls(service, 8, 32);
  await longestCall(bench, {
    name: "honest call beside 20 × 1,000 calls × 300 descriptors",
    atMost: 50,
    async load() {
      // The greedy load is one process: twenty would compete for the processor
      // with each other and with the honest client.
      const greedy = frameLoad({
        ...{ ...FRAMES, port, ms: HONEST_MS },
        ...{ connections: GREEDY_CONNECTIONS, streams: 1_000 },
        descriptors: 300,
      });
      const honest = await frameLoad({
        ...{ ...FRAMES, port, ms: HONEST_MS },
        ...{ connections: 1, streams: 1 },
      });
      await greedy;
      return honest;
    },
  });
}

/** Reports the longest call of a load: the median over the rounds. */
async function longestCall(
  bench: Bench,
  { name, atMost, load }: {
    readonly name: string;
    /** The bar, in milliseconds. */
    readonly atMost: number;
    readonly load: () => Promise<FrameResult>;
  },
): Promise<void> {
  const longest: number[] = [];
  let calls = 0;
  for (let round = 0; round < bench.rounds; round++) {
    const result = await load();
    longest.push(result.maxMs);
    calls += result.calls;
  }
  const each = longest.map((ms) => ms.toFixed(0)).join(", ");
  bench.bars.push({
    name,
    atMost,
    value: median(longest),
    unit: "ms",
    note: `of ${calls}; the longest of each round: ${each}`,
  });
}

/**
 * Rules for many values of one key, which end in an asterisk or not; the rule
 * of the bench's value is the last.
 */
function valueRules(end: "" | "*"): string {
  const values = Array.from({ length: PATTERNS }, (_, i) => {
    const value = String(PATTERNS - 1 - i).padStart(9, "0") + end;
    return `  - key: remote_address
    value: "${value}"
    rate_limit: {unit: hour, requests_per_unit: 1000000000}`;
  });
  return ["domain: bench", "descriptors:", ...values, ""].join("\n");
}

async function measureAsterisks(bench: Bench): Promise<void> {
  const [patterns, plain] = [
    await bench.service({}, { rules: valueRules("*") }),
    await bench.service({}, { rules: valueRules("") }),
  ];
  const one = { descriptors: 1 };
  const costs = await bench.inTurns({
    patterns: () => bench.frames(patterns, one),
    plain: () => bench.frames(plain, one),
  });
  bench.told("1,000 values with asterisks under one key", costs.patterns);
  bench.told("1,000 plain values under one key", costs.plain);
  bench.ratio(
    "values with asterisks to plain ones",
    costs.patterns.cpuUs / costs.plain.cpuUs,
    { atMost: 2 },
  );
}

async function measureCounters(bench: Bench): Promise<void> {
  const service = await bench.service({
    CACHE_KEY_PREFIX: KEY_PREFIX,
    MEMORY_MAX_KEYS: String(2 * COUNTERS),
  });
  // Warms up, so that code is compiled and the heap has grown before the memory
  // is measured.
  await bench.calls(service, 8, 32);
  const before = await service.usage();
  const { port } = service;
  const ms = COUNTERS / COUNTERS_PER_SECOND * 1_000;
  const one = { ...FRAMES, port, descriptors: 1 };
  const filling = frameLoad({
    // A single connection, since each connection counts its values from the
    // beginning.
    ...{ ...one, ms: 1.2 * ms, values: COUNTERS, connections: 1 },
    ...{ streams: 256, perSecond: COUNTERS_PER_SECOND },
  });
  const beside = await frameLoad({ ...one, ms, connections: 1, streams: 1 });
  const { calls } = await filling;
  if (calls < COUNTERS) {
    throw new Error(`Cannot measure: ${calls} calls in place of ${COUNTERS}`);
  }
  const { residentBytes } = await service.usage();
  bench.bars.push({
    name: "1,000,000 counters with keys of 60 bytes, above none",
    atMost: 160,
    value: (residentBytes - before.residentBytes) / 1e6,
    unit: "MB",
  }, {
    name: "longest call while they are made",
    atMost: 20,
    value: beside.maxMs,
    unit: "ms",
    note: `of ${beside.calls}; p99 ${beside.p99Ms.toFixed(1)} ms`,
  });
}

/** Rules for many values of another key, beside the bench's own rule. */
function manyRules(count: number): string {
  const rules = Array.from({ length: count - 1 }, (_, i) =>
    `  - key: client
    value: client_${i}
    rate_limit: {unit: hour, requests_per_unit: ${1_000 + i}}`);
  return [
    "domain: bench",
    "descriptors:",
    "  - key: remote_address",
    "    rate_limit: {unit: hour, requests_per_unit: 1000000000}",
    ...rules,
    "",
  ]
    .join("\n");
}

async function measureRules(bench: Bench): Promise<void> {
  const ready: Record<number, number[]> = { [FEW_RULES]: [], [MANY_RULES]: [] };
  for (let round = 0; round < bench.rounds; round++) {
    for (const count of [FEW_RULES, MANY_RULES]) {
      const service = await bench.service({}, { rules: manyRules(count) });
      ready[count]!.push(service.readyMs);
      await bench.stopAll();
    }
  }
  const [few, many] = [median(ready[FEW_RULES]!), median(ready[MANY_RULES]!)];
  const shown = `${few.toFixed(0)} and ${many.toFixed(0)} ms`;
  bench.ratio("start to ready with 10,000 rules to that with 10", many / few, {
    atMost: 1.5,
  }, shown);
  const service = await bench.service({}, { rules: manyRules(MANY_RULES) });
  await bench.calls(service, 8, 32);
  const { port } = service;
  const reloads = setInterval(() => service.reload(), RELOAD_MS);
  try {
    await longestCall(bench, {
      name: "longest call while 10,000 rules are reloaded",
      atMost: 20,
      load: () =>
        frameLoad({
          ...{ ...FRAMES, port, ms: HONEST_MS, descriptors: 1 },
          ...{ connections: 1, streams: 1 },
        }),
    });
  } finally {
    clearInterval(reloads);
  }
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}
