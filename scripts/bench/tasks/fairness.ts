/**
 * Measures how long one tenant waits while another one floods the service.
 *
 * @module
 */

import { mintToken } from "../../../services/tasks/access/credential_token.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { wrkLoad } from "../kit/clients.ts";
import { HttpSocket } from "../kit/http_socket.ts";
import { pause, quantile, sorted } from "../kit/numbers.ts";
import {
  batchRequest,
  type BenchTenant,
  createRequests,
  makeTenant,
  prepareTasks,
  type TasksService,
  tenantRequest,
} from "./service.ts";

/** The service, and the tenant that floods it. */
export interface FairnessTarget
  extends Pick<TasksService, "port" | "metricsPort"> {
  /** The run that the figures belong to. */
  readonly run: BenchRun;
  /** The tenant that floods. */
  readonly tenant: BenchTenant;
  /** How long the other tenant is watched, in milliseconds. */
  readonly ms: number;
}

const SETTLE_MS = 1_000;
/** Number of tasks stored for the lists and bulk actions of floods. */
const FLOOD_TASKS = 20_000;

/** The floods of one tenant: a name, connections, and requests. */
function createFloods(
  greedy: BenchTenant,
): readonly (readonly [string, number, readonly Uint8Array[]])[] {
  const { host } = greedy;
  const actions = ["pause", "resume"].map((action) =>
    tenantRequest(greedy, {
      ...{ path: "tasks/actions" },
      body: { action, filter: { worker: "bench" } },
    })
  );
  const wrongKeys = Array.from(
    { length: 64 },
    () =>
      tenantRequest({ host, token: mintToken("dk").text }, { path: "tasks" }),
  );
  const list = tenantRequest(greedy, { path: "tasks?limit=100" });
  return [
    ["creates on 200", 200, createRequests(greedy)],
    ["lists on 200", 200, [list]],
    ["batches of 1,000 on 50", 50, [batchRequest(greedy)]],
    ["bulk actions on 20", 20, actions],
    ["wrong keys on 200", 200, wrongKeys],
  ];
}

/**
 * Makes a tenant list and create tasks in turns, first alone and then while
 * another tenant sends each of the floods, and reports how long its requests
 * waited inside the service.
 */
export async function measureFairness(
  measured: FairnessTarget,
): Promise<void> {
  const { run, port, tenant: greedy } = measured;
  const quiet = await makeTenant(port, { domain: "quiet" });
  await prepareTasks(measured, greedy, FLOOD_TASKS);
  const unjudged = run.unjudgedIfBusy();
  const alone = await observe(measured, quiet);
  const common = { unit: "ms", digits: 2 };
  run.bars.push(
    {
      ...{ ...common, name: "alone: waits, p50", value: alone.p50Ms },
      note: alone.note,
    },
    { ...common, name: "alone: waits, p99", value: alone.p99Ms },
  );
  for (const [name, connections, requests] of createFloods(greedy)) {
    const flood = wrkLoad({
      ...{ port, connections, requests, takesRefusals: true },
      seconds: run.values.seconds + 2 * SETTLE_MS / 1_000,
    });
    await pause(SETTLE_MS);
    const seen = await observe(measured, quiet);
    const { perSecond } = await flood;
    run.bars.push({
      ...{ ...common, name: `${name}: waits, p50`, value: seen.p50Ms },
      ...{ atMost: 5 * alone.p50Ms, note: seen.note, ...unjudged },
    }, {
      ...{ ...common, name: `${name}: waits, p99`, value: seen.p99Ms },
      ...{ atMost: 100, ...unjudged },
      note: `the flood: ${Math.round(perSecond)} answers/s`,
    });
  }
}

/**
 * Lists and creates tasks in turns, and returns how long these requests waited
 * inside the service for their turn and their commit together.
 */
async function observe(
  { port, metricsPort, ms }: FairnessTarget,
  tenant: BenchTenant,
): Promise<
  { readonly p50Ms: number; readonly p99Ms: number; readonly note: string }
> {
  const list = tenantRequest(tenant, { path: "tasks?limit=10" });
  const [create] = createRequests(tenant);
  const before = await readWaits(metricsPort, tenant);
  const took: number[] = [];
  using socket = await HttpSocket.connect(port);
  const endMs = performance.now() + ms;
  for (let index = 0; performance.now() < endMs; index++) {
    const sentMs = performance.now();
    const { status } = await socket.exchange(index % 2 === 0 ? list : create!);
    took.push(performance.now() - sentMs);
    if (status !== 200 && status !== 201) {
      throw new Error(`Cannot measure: the other tenant got ${status}`);
    }
    // A pause, so that this tenant is not a flood itself.
    await pause(2);
  }
  const after = await readWaits(metricsPort, tenant);
  const wait = (kind: "turn" | "commit", share: number): number =>
    waitQuantileMs([before[kind], after[kind]], share);
  const outside = sorted(took);
  return {
    p50Ms: wait("turn", 0.5) + wait("commit", 0.5),
    p99Ms: wait("turn", 0.99) + wait("commit", 0.99),
    note: `turn ${wait("turn", 0.5).toFixed(2)}, commit ` +
      `${wait("commit", 0.5).toFixed(2)}; outside p50 ` +
      `${quantile(outside, 0.5).toFixed(1)}, p99 ` +
      `${quantile(outside, 0.99).toFixed(1)} ms (${took.length} requests)`,
  };
}

/**
 * A histogram of waits: how many were at most as long as each bound, in
 * seconds.
 */
type WaitCounts = ReadonlyMap<number, number>;

/** Reads from the service's metrics how long a tenant's requests waited. */
async function readWaits(
  metricsPort: number,
  { tenantId }: BenchTenant,
): Promise<Readonly<Record<"turn" | "commit", WaitCounts>>> {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const lines = (await answer.text()).split("\n");
  const counts = (kind: string): WaitCounts => {
    const labels = `{tenant="${tenantId}",for="${kind}",le="`;
    const start = `tasks_wait_seconds_bucket${labels}`;
    return new Map(
      lines.filter((line) => line.startsWith(start)).map((line) => {
        const [bound, count] = line.slice(start.length).split('"} ');
        return [bound === "+Inf" ? Infinity : Number(bound), Number(count)];
      }),
    );
  };
  return { turn: counts("turn"), commit: counts("commit") };
}

/**
 * Returns a quantile, in milliseconds, of the waits between two readings. It
 * assumes that waits are spread evenly between two bounds of the histogram.
 */
function waitQuantileMs(
  [before, after]: readonly [WaitCounts, WaitCounts],
  share: number,
): number {
  const waits = [...after].map(([bound, count]) =>
    [bound, count - (before.get(bound) ?? 0)] as const
  );
  const all = waits.at(-1)?.[1] ?? 0;
  if (all === 0) return NaN;
  let [lower, below] = [0, 0];
  for (const [bound, within] of waits) {
    if (within >= all * share) {
      const part = (all * share - below) / Math.max(1, within - below);
      return 1_000 *
        (bound === Infinity ? lower : lower + part * (bound - lower));
    }
    [lower, below] = [bound, within];
  }
  return NaN;
}
