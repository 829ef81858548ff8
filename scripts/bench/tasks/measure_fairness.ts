/**
 * Measures how much longer one tenant waits while another asks for all it can
 * get.
 *
 * @module
 */

import { mintToken } from "../../../services/tasks/access/credential_token.ts";
import type { Bar } from "./bar.ts";
import { batchRequest, createRequest, makeTenant } from "./bench_tenant.ts";
import type { BenchTenant } from "./bench_tenant.ts";
import type { BenchRun } from "./bench_run.ts";
import { HttpSocket, requestBytes } from "./http_socket.ts";
import { quantile } from "./load_job.ts";
import { readWaits, waitQuantileMs } from "./wait_counts.ts";
import { type WrkJob, wrkLoad } from "./wrk_load.ts";

/** A run whose service also serves its metrics. */
export interface FairnessRun extends BenchRun {
  /** The port of the metrics. */
  readonly metricsPort: number;
}

/**
 * When this process gets less than this share of a processor, the waits are
 * caused by the machine rather than by the service.
 */
const LEAST_SHARE = 0.8;
const PROBE_MS = 1_000;

interface Flood {
  readonly name: string;
  readonly connections: number;
  readonly requests: (greedy: BenchTenant) => readonly Uint8Array[];
}

const SETTLE_MS = 1_000;
/** Number of tasks stored for lists and bulk actions. */
const TASKS = 20_000;

const FLOODS: readonly Flood[] = [
  {
    name: "creates on 200",
    connections: 200,
    requests: (greedy) =>
      Array.from(
        { length: 64 },
        (_, index) => requestBytes(createRequest(greedy, index)),
      ),
  },
  {
    name: "lists on 200",
    connections: 200,
    requests: ({ host, token }) => [
      requestBytes({
        method: "GET",
        path: "/api/v1/tasks?limit=100",
        host,
        token,
      }),
    ],
  },
  {
    name: "batches of 1,000 on 50",
    connections: 50,
    requests: (greedy) => [requestBytes(batchRequest(greedy, 1_000))],
  },
  {
    name: "bulk actions on 20",
    connections: 20,
    requests: ({ host, token }) =>
      ["pause", "resume"].map((action) =>
        requestBytes({
          method: "POST",
          path: "/api/v1/tasks/actions",
          host,
          token,
          body: JSON.stringify({ action, filter: { worker: "bench" } }),
        })
      ),
  },
  {
    name: "wrong keys on 200",
    connections: 200,
    requests: ({ host }) =>
      Array.from({ length: 64 }, () =>
        requestBytes({
          method: "GET",
          path: "/api/v1/tasks",
          host,
          token: mintToken("dk").text,
        })),
  },
];

/**
 * Makes a tenant list and create tasks in turns, first alone and then while
 * another tenant sends each of the floods, and reports how long its requests
 * waited inside the service.
 */
export async function measureFairness(
  run: FairnessRun,
): Promise<readonly Bar[]> {
  const { port, tenant: greedy } = run;
  const quiet = await makeTenant(port, { domain: "quiet" });
  await fill(port, greedy);
  const share = processorShare();
  const unjudged = share >= LEAST_SHARE ? {} : {
    unjudged: `the machine is busy: a loop got ${
      Math.round(share * 100)
    } % of a processor`,
  };
  const alone = await observe(run, quiet);
  const bars: Bar[] = [
    barOf("alone: waits, p50", alone.p50Ms, noteOf(alone)),
    barOf("alone: waits, p99", alone.p99Ms),
  ];
  for (const { name, connections, requests } of FLOODS) {
    const flood = startFlood(run, {
      port,
      connections,
      requests: requests(greedy),
      ms: run.ms + 2 * SETTLE_MS,
    });
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const seen = await observe(run, quiet);
    const perSecond = await flood;
    bars.push({
      ...barOf(`${name}: waits, p50`, seen.p50Ms, noteOf(seen)),
      atMost: 5 * alone.p50Ms,
      ...unjudged,
    }, {
      ...barOf(
        `${name}: waits, p99`,
        seen.p99Ms,
        `the flood: ${Math.round(perSecond)} answers/s`,
      ),
      atMost: 100,
      ...unjudged,
    });
  }
  return bars;
}

/** Returns the share of a processor that a busy loop gets. */
function processorShare(): number {
  const beginMs = performance.now();
  let [lastMs, lostMs] = [beginMs, 0];
  while (lastMs - beginMs < PROBE_MS) {
    const nowMs = performance.now();
    // Without other processes a step of the loop takes much less than a
    // microsecond; a longer one was interrupted.
    if (nowMs - lastMs > 0.2) lostMs += nowMs - lastMs;
    lastMs = nowMs;
  }
  return 1 - lostMs / PROBE_MS;
}

/** Sends a flood of requests; returns the responses per second. */
async function startFlood(
  { load }: FairnessRun,
  job: Pick<WrkJob, "port" | "connections" | "requests" | "ms">,
): Promise<number> {
  // `wrk` is preferred, as it leaves most of the machine to the service.
  const wrk = await wrkLoad({ ...job, takesRefusals: true });
  if (wrk !== undefined) return wrk.perSecond;
  const result = await load.load({ ...job, status: 200, warmUpMs: 0 });
  let count = result.count;
  for (const times of Object.values(result.failures)) count += times;
  return count / result.ms * 1_000;
}

interface Seen {
  /**
   * Time that requests waited inside the service for their turn and their
   * commit together, in milliseconds.
   */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly turnP50Ms: number;
  readonly commitP50Ms: number;
  /** Latency of requests as the client sees it, in milliseconds. */
  readonly outsideP50Ms: number;
  readonly outsideP99Ms: number;
  readonly requests: number;
}

/**
 * Lists and creates tasks in turns, and returns how long these requests waited.
 */
async function observe(
  { port, metricsPort, ms }: FairnessRun,
  tenant: BenchTenant,
): Promise<Seen> {
  const { tenantId, host, token } = tenant;
  const requests = [
    requestBytes({
      method: "GET",
      path: "/api/v1/tasks?limit=10",
      host,
      token,
    }),
    requestBytes(createRequest(tenant, 0)),
  ];
  const read = (kind: "turn" | "commit") =>
    readWaits(metricsPort, { tenantId, kind });
  const before = { turn: await read("turn"), commit: await read("commit") };
  const took: number[] = [];
  using socket = await HttpSocket.connect(port);
  const endMs = performance.now() + ms;
  for (let index = 0; performance.now() < endMs; index++) {
    const sentMs = performance.now();
    const { status } = await socket.exchange(requests[index % 2]!);
    took.push(performance.now() - sentMs);
    if (status !== 200 && status !== 201) {
      throw new Error(`Cannot measure: the other tenant got ${status}`);
    }
    // A pause, so that this tenant is not a flood itself.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const [turn, commit] = [
    { before: before.turn, after: await read("turn") },
    { before: before.commit, after: await read("commit") },
  ];
  const outside = Float64Array.from(took).sort();
  const turnP50Ms = waitQuantileMs(turn, 0.5);
  const commitP50Ms = waitQuantileMs(commit, 0.5);
  return {
    p50Ms: turnP50Ms + commitP50Ms,
    p99Ms: waitQuantileMs(turn, 0.99) + waitQuantileMs(commit, 0.99),
    turnP50Ms,
    commitP50Ms,
    outsideP50Ms: quantile(outside, 0.5),
    outsideP99Ms: quantile(outside, 0.99),
    requests: took.length,
  };
}

function barOf(name: string, value: number, note?: string): Bar {
  return {
    name,
    value,
    unit: "ms",
    digits: 2,
    ...(note === undefined ? {} : { note }),
  };
}

function noteOf(seen: Seen): string {
  return `turn ${seen.turnP50Ms.toFixed(2)}, commit ` +
    `${seen.commitP50Ms.toFixed(2)}; outside p50 ` +
    `${seen.outsideP50Ms.toFixed(1)}, p99 ${seen.outsideP99Ms.toFixed(1)} ms ` +
    `(${seen.requests} requests)`;
}

async function fill(port: number, tenant: BenchTenant): Promise<void> {
  using socket = await HttpSocket.connect(port);
  const batch = requestBytes(batchRequest(tenant, 1_000));
  for (let made = 0; made < TASKS; made += 1_000) {
    const { status } = await socket.exchange(batch);
    if (status !== 200) throw new Error(`Cannot fill: answered ${status}`);
  }
}
