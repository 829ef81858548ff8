/**
 * Measures what a rate limit decision costs, compared in the same run with the
 * shortest servers of the runtime. Ratios of medians are judged. Needs h2load,
 * wrk and taskset on the path, and redis-server for the counters in Redis.
 *
 * ```sh
 * deno task bench:decisions --help
 * ```
 *
 * @module
 */

import { tell } from "../terminal.ts";
import type { FrameResult } from "./decisions/frame_load.ts";
import {
  calls,
  frameLoad,
  FRAMES,
  frames,
  reportCosts,
  requests,
  startPeer,
  startService,
  startStore,
  statistic,
} from "./decisions/loads.ts";
import { timeTopKeys } from "./decisions/top_keys.ts";
import type { Bar } from "./kit/bars.ts";
import { type BenchRun, type Figures, runBench } from "./kit/bench_run.ts";
import { makeCertificate } from "./kit/clients.ts";
import type { MeasuredProcess } from "./kit/measured_process.ts";
import { median, pause } from "./kit/numbers.ts";

const HOST = "127.0.0.1";
/** One call an hour, which the first call of the bench uses up. */
const SPENT_RULES = `domain: bench
descriptors:
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 1}
`;
/** Nothing passes. */
const REFUSING_RULES = `domain: bench
descriptors:
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 0}
  - key: path
    descriptors:
      - {key: method, rate_limit: {unit: hour, requests_per_unit: 0}}
`;
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
/** Connections and calls under way on each, of the bench's own client. */
const WIDE = { connections: 64, streams: 1 };
const SINGLE = { connections: 1, streams: 1 };
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
/** The HTTP servers that are compared, by the names that the peers have. */
const HTTP_SERVERS = {
  "services/shared/http1": "services/shared/http1",
  "node:http": "node:http",
  "Deno.serve": "hello",
} as const;
/** More connections than the server may have files open. */
const MOST_FILES = 96;
const MANY_CONNECTIONS = 200;

if (import.meta.main) {
  await runBench({
    usage: "bench:decisions",
    about:
      `Measures what a decision costs, beside other servers in the same run.

A call has two descriptors that rules count by. 8×32 is eight connections with 32
calls under way on each. Costs are processor time of the server's process, all
threads.

REFERENCE_CMD is a line for the shell that starts another server of the protocol
(the server itself, whose time is measured, not what launches it). It gets its
ports, its rules and its Redis by the variables of this service (GRPC_PORT, PORT,
RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, BACKEND_TYPE, KVSTORE_URL and so on; REDIS_URL
too).`,
    measures: {
      memory: measureMemory,
      kvstore: measureKvstore,
      json: measureJson,
      "over-limit": measureOverLimit,
      "top-keys": measureTopKeys,
      single: measureSingle,
      "open-loop": measureOpenLoop,
      honest: measureHonest,
      asterisks: measureAsterisks,
      counters: measureCounters,
      rules: measureRules,
      tls: measureTls,
      workers: measureWorkers,
      http: measureHttp,
      reference: measureReference,
    },
    rounds: 5,
    seconds: 3,
    flags: {},
  });
}

async function measureMemory(run: BenchRun): Promise<void> {
  const service = await startService(run);
  const hello = await startPeer(run, "hello");
  const echo = await startPeer(run, "echo");
  const grpc = await startPeer(run, "grpc-js");
  const changes = { values: MANY_VALUES, isHeaderNew: true };
  const [greeted, , called, constant, changing, wide, echoed] =
    await reportCosts(run, [
      [
        "Deno.serve hello, 64 connections",
        () => requests(run, hello, { path: "/" }),
      ],
      ["@grpc/grpc-js without rules, 8×32", () => calls(run, grpc, [8, 32])],
      ["memory, 8×32", () => calls(run, service, [8, 32])],
      ["memory, 8×32, own client", () => frames(run, service, {})],
      [
        "memory, 8×32, 100,000 values, new headers, own client",
        () => frames(run, service, changes),
      ],
      ["memory, 64×1, own client", () => frames(run, service, WIDE)],
      [
        "node:net echo, 64×1, own client",
        () => frames(run, echo, { isEcho: true, ...WIDE }),
      ],
    ]);
  run.compare("memory 8×32 to hello", [called, greeted], { atMost: 0.4 });
  run.compare(
    "changing values and headers to constant ones",
    [changing, constant],
    { atMost: 2 },
  );
  run.compare("memory 64×1 to echo", [wide, echoed], { atMost: 1.6 });
}

async function measureKvstore(run: BenchRun): Promise<void> {
  const store = await startStore(run);
  if (store === undefined) return;
  const service = await startService(run, { env: store });
  const hello = await startPeer(run, "hello");
  const echo = await startPeer(run, "echo");
  const [called, constant, changing, wide, , greeted, echoed] =
    await reportCosts(run, [
      ["Redis, two keys, 8×32", () => calls(run, service, [8, 32])],
      ["Redis, two keys, 8×32, own client", () => frames(run, service, {})],
      [
        "Redis, two keys, 8×32, 100,000 values, own client",
        () => frames(run, service, { values: MANY_VALUES }),
      ],
      ["Redis, two keys, 64×1, own client", () => frames(run, service, WIDE)],
      ["Redis, two keys, 1×1, own client", () => frames(run, service, SINGLE)],
      ["", () => requests(run, hello, { path: "/" })],
      ["", () => frames(run, echo, { isEcho: true, ...WIDE })],
    ]);
  run.compare("Redis 8×32 to hello", [called, greeted], { atMost: 1.5 });
  run.compare("Redis with many values to one", [changing, constant], {
    atMost: 2,
  });
  run.compare("Redis 64×1 to echo", [wide, echoed], { atMost: 2.5 });
}

async function measureOverLimit(run: BenchRun): Promise<void> {
  const store = await startStore(run);
  if (store === undefined) return;
  const env = { ...store, LOCAL_CACHE_SIZE_IN_BYTES: "1048576" };
  const service = await startService(run, { env, rules: SPENT_RULES });
  await reportCosts(run, [[
    "Redis, over the limit by the local cache, 8×32",
    () => calls(run, service, [8, 32]),
  ]]);
}

/**
 * Every call is over both of its limits, the worst case for the search, whose
 * own time is compared with what the whole call costs.
 */
async function measureTopKeys(run: BenchRun): Promise<void> {
  const store = await startStore(run);
  for (const [name, env] of [["memory", {}], ["Redis", store]] as const) {
    if (env === undefined) continue;
    const service = await startService(run, { env, rules: REFUSING_RULES });
    for (const values of [1, MANY_VALUES]) {
      const kind = `${name}, all over limit, ${values} values`;
      const [all] = await reportCosts(run, [
        [kind, () => frames(run, service, { values })],
      ]);
      const { perSecond = NaN, cpuUs = NaN } = all ?? {};
      const isRemote = name === "Redis";
      const us = timeTopKeys({ perSecond, values, isRemote });
      run.ratio(`call with top keys to none, ${kind}`, cpuUs / (cpuUs - us), {
        atMost: 1.03,
        note: `the search takes ${us.toFixed(3)} µs of ${cpuUs.toFixed(1)}`,
      });
    }
  }
}

async function measureTls(run: BenchRun): Promise<void> {
  const { cert, key } = await makeCertificate(run.folder);
  const service = await startService(run, {
    env: {
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: cert,
      GRPC_SERVER_TLS_KEY: key,
    },
  });
  await reportCosts(run, [
    ["memory over TLS, 8×32", () => calls(run, service, [8, 32], true)],
    ["memory over TLS, 64×1", () => calls(run, service, [64, 1], true)],
  ]);
}

/**
 * Compares two service threads with one, both on all cores of the machine. The
 * load is not from h2load: h2load does not open a closed connection again, so
 * that the service with two threads would have fewer connections than the
 * other; and it uses so much of two cores that the threads would mostly sleep.
 */
async function measureWorkers(run: BenchRun): Promise<void> {
  const isPinned = false;
  const one = await startService(run, { isPinned });
  const two = await startService(run, { env: { WORKERS: "2" }, isPinned });
  const [single, double] = await reportCosts(run, [
    [
      "memory, 8×32, one thread with all cores, own client",
      () => frames(run, one, { isSettled: true }),
    ],
    [
      "memory, 8×32, two threads, own client",
      () => frames(run, two, { isSettled: true }),
    ],
  ]);
  const all = await statistic(two, TOTAL_CALLS);
  const ofSecond = await statistic(two, "ratelimit.threads.1.calls");
  run.compare("two threads to one", [double, single], { atMost: 1.15 });
  run.ratio(
    "calls of the thread that has fewer",
    Math.min(ofSecond, all - ofSecond) / all,
    { atLeast: 0.4 },
  );
  if (navigator.hardwareConcurrency < MANY_CORES) return;
  run.compare("throughput of two threads to one", [double, single], {
    ...{ atLeast: 1.7, figure: "perSecond" },
  });
}

async function measureReference(run: BenchRun): Promise<void> {
  const command = Deno.env.get("REFERENCE_CMD") ?? "";
  if (command === "") return tell("  REFERENCE_CMD names no server");
  const store = await startStore(run);
  if (store === undefined) return;
  const ours = await startService(run, { env: store });
  const reference = await startService(run, {
    command,
    env: {
      ...{ ...store, BACKEND_TYPE: "redis", USE_STATSD: "false" },
      ...{ REDIS_SOCKET_TYPE: "tcp", REDIS_URL: store.KVSTORE_URL ?? "" },
    },
  });
  const [own, other] = await reportCosts(run, [
    ["Redis, two keys, 8×32", () => calls(run, ours, [8, 32])],
    [
      "the server of REFERENCE_CMD, the same",
      () => calls(run, reference, [8, 32]),
    ],
  ]);
  run.compare("ours to it", [own, other], {});
}

async function measureJson(run: BenchRun): Promise<void> {
  const service = await startService(run);
  const hello = await startPeer(run, "hello");
  const json = { path: "/json", body: JSON_BODY };
  const [decided, greeted] = await reportCosts(run, [
    [
      "POST /json, memory, 64 connections",
      () => requests(run, service, json),
    ],
    ["", () => requests(run, hello, { path: "/" })],
  ]);
  run.compare("/json to hello", [decided, greeted], { atMost: 2.5 });
}

async function measureSingle(run: BenchRun): Promise<void> {
  const service = await startService(run);
  const echo = await startPeer(run, "echo");
  const [called, echoed] = await reportCosts(run, [
    ["memory, 1×1, own client", () => frames(run, service, SINGLE)],
    [
      "node:net echo, 1×1, own client",
      () => frames(run, echo, { ...SINGLE, isEcho: true }),
    ],
  ]);
  run.compare("p99 of memory 1×1 to echo", [called, echoed], {
    ...{ atMost: 1.6, figure: "p99Ms" },
  });
}

async function measureOpenLoop(run: BenchRun): Promise<void> {
  const service = await startService(run);
  const echo = await startPeer(run, "echo");
  const { perSecond = NaN } = await calls(run, service, [8, 32]);
  const job = { connections: 8, perSecond: perSecond / 10 };
  const shown = Math.round(job.perSecond).toLocaleString("en-US");
  const [called, echoed] = await reportCosts(run, [
    [`memory at ${shown} calls a second`, () => frames(run, service, job)],
    [
      `node:net echo at ${shown} a second`,
      () => frames(run, echo, { ...job, isEcho: true }),
    ],
  ]);
  run.compare("p99.9 at a tenth of the peak, to echo", [called, echoed], {
    ...{ atMost: 2, figure: "p999Ms" },
  });
}

async function measureHonest(run: BenchRun): Promise<void> {
  const service = await startService(run);
  // Warms up: code gets compiled first, without which calls take several times
  // as long.
  await calls(run, service, [8, 32]);
  const job = { ...FRAMES, port: service.port, ms: HONEST_MS };
  await longestCall(run, {
    name: "honest call beside 20 × 1,000 calls × 300 descriptors",
    atMost: 50,
    async load() {
      // The greedy load is one process: twenty would compete for the processor
      // with each other and with the honest client.
      const greedy = frameLoad({
        ...{ ...job, connections: GREEDY_CONNECTIONS, streams: 1_000 },
        descriptors: 300,
      });
      const honest = await frameLoad({ ...job, ...SINGLE });
      await greedy;
      return honest;
    },
  });
}

/** Reports the longest call of a load: the median over the rounds. */
async function longestCall(
  run: BenchRun,
  { load, ...bar }: Pick<Bar, "name" | "atMost"> & {
    readonly load: () => Promise<FrameResult>;
  },
): Promise<void> {
  const longest: number[] = [];
  let calls = 0;
  for (let round = 0; round < run.values.rounds; round++) {
    const result = await load();
    longest.push(result.maxMs);
    calls += result.calls;
  }
  const each = longest.map((ms) => ms.toFixed(0)).join(", ");
  const note = `of ${calls}; the longest of each round: ${each}`;
  run.bars.push({ ...bar, value: median(longest), unit: "ms", note });
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

async function measureAsterisks(run: BenchRun): Promise<void> {
  const patterns = await startService(run, { rules: valueRules("*") });
  const plain = await startService(run, { rules: valueRules("") });
  const one = { descriptors: 1 };
  const [matched, equal] = await reportCosts(run, [
    [
      "1,000 values with asterisks under one key",
      () => frames(run, patterns, one),
    ],
    ["1,000 plain values under one key", () => frames(run, plain, one)],
  ]);
  run.compare("values with asterisks to plain ones", [matched, equal], {
    atMost: 2,
  });
}

async function measureCounters(run: BenchRun): Promise<void> {
  const service = await startService(run, {
    env: {
      CACHE_KEY_PREFIX: KEY_PREFIX,
      MEMORY_MAX_KEYS: String(2 * COUNTERS),
    },
  });
  // Warms up, so that code is compiled and the heap has grown before the memory
  // is measured.
  await calls(run, service, [8, 32]);
  const { port, process } = service;
  const before = await process.usage();
  const ms = COUNTERS / COUNTERS_PER_SECOND * 1_000;
  const one = { ...FRAMES, port, descriptors: 1 };
  const filling = frameLoad({
    // A single connection, since each connection counts its values from the
    // beginning.
    ...{ ...one, ms: 1.2 * ms, values: COUNTERS, connections: 1 },
    ...{ streams: 256, perSecond: COUNTERS_PER_SECOND },
  });
  const beside = await frameLoad({ ...one, ms, ...SINGLE });
  const { calls: made } = await filling;
  if (made < COUNTERS) {
    throw new Error(`Cannot measure: ${made} calls in place of ${COUNTERS}`);
  }
  const { residentBytes } = await process.usage();
  run.bars.push({
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
  ].join("\n");
}

async function measureRules(run: BenchRun): Promise<void> {
  const readyMs: [few: number[], many: number[]] = [[], []];
  for (let round = 0; round < run.values.rounds; round++) {
    for (const [at, count] of [FEW_RULES, MANY_RULES].entries()) {
      const { process } = await startService(run, { rules: manyRules(count) });
      readyMs[at]?.push(process.readyMs);
      await run.stopAll();
    }
  }
  const [few = NaN, many = NaN] = readyMs.map(median);
  run.ratio("start to ready with 10,000 rules to that with 10", many / few, {
    ...{ atMost: 1.5, note: `${few.toFixed(0)} and ${many.toFixed(0)} ms` },
  });
  const service = await startService(run, { rules: manyRules(MANY_RULES) });
  await calls(run, service, [8, 32]);
  const job = { ...FRAMES, port: service.port, ms: HONEST_MS, descriptors: 1 };
  const reloads = setInterval(
    () => service.process.signal("SIGHUP"),
    RELOAD_MS,
  );
  try {
    await longestCall(run, {
      name: "longest call while 10,000 rules are reloaded",
      atMost: 20,
      load: () => frameLoad({ ...job, ...SINGLE }),
    });
  } finally {
    clearInterval(reloads);
  }
}

/**
 * Compares the HTTP/1.1 server of the services with those of the runtime: what
 * a request costs, and whether each goes on after more connections than it may
 * have files open.
 */
async function measureHttp(run: BenchRun): Promise<void> {
  const loads: [string, () => Promise<Figures>][] = [];
  for (const [name, peer] of Object.entries(HTTP_SERVERS)) {
    const server = await startPeer(run, peer);
    loads.push([
      `GET, 64 connections, ${name}`,
      () => requests(run, server, { path: "/" }),
    ]);
  }
  await reportCosts(run, loads);
  for (const [name, peer] of Object.entries(HTTP_SERVERS)) {
    const { process } = await startPeer(run, peer, { mostFiles: MOST_FILES });
    run.bars.push({
      name: `goes on after ${MANY_CONNECTIONS} connections, ${name}`,
      value: await outlivesConnections(process) ? 1 : 0,
      unit: "",
      note: `with ${MOST_FILES} files; ` +
        (process.hasEnded ? "the process has ended" : "the process runs"),
    });
  }
}

/** Returns whether a server answers after it had too many connections. */
async function outlivesConnections(
  server: MeasuredProcess,
): Promise<boolean> {
  const { port } = server;
  const connections: Deno.Conn[] = [];
  const half = new TextEncoder().encode("GET / HTTP/1.1\r\n");
  while (connections.length < MANY_CONNECTIONS && !server.hasEnded) {
    const connection = await Deno.connect({ hostname: HOST, port })
      .catch(() => undefined);
    // A server that takes no more connections refuses or resets them.
    if (connection === undefined) break;
    connections.push(connection);
    await connection.write(half).catch(() => 0);
  }
  await pause(1_500);
  for (const connection of connections) connection.close();
  await pause(500);
  const signal = AbortSignal.timeout(1_000);
  const answer = await fetch(`http://${HOST}:${port}/`, { signal })
    .catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok === true;
}
