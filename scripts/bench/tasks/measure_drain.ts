/**
 * Measures how fast tasks are leased and completed.
 *
 * @module
 */

import type { Bar } from "./bar.ts";
import { batchRequest } from "./bench_tenant.ts";
import {
  type BenchRun,
  drainOf,
  flawless,
  perSecond,
  WARM_UP_MS,
} from "./bench_run.ts";
import { HttpSocket, requestBytes } from "./http_socket.ts";
import {
  type DrainJob,
  type LoadResult,
  median,
  quantile,
} from "./load_job.ts";

/**
 * Tasks that are prepared per second of measurement; more than the service can
 * complete.
 */
const TASKS_PER_SECOND = 25_000;

const SDK_ROUNDS = 3;

/**
 * For each run: connections, and how much a lease response shows of the tasks.
 */
const RUNS = [
  [1, "representation"],
  [4, "representation"],
  [8, "representation"],
  [4, "minimal"],
  [8, "minimal"],
] as const;

/** Measures leasing 50 tasks and completing 50, over several connections. */
export async function measureDrain(run: BenchRun): Promise<readonly Bar[]> {
  const bars: Bar[] = [];
  await drain(run, { connections: 4, ms: WARM_UP_MS });
  for (const [connections, answer] of RUNS) {
    const result = await drain(run, { connections, answer, ms: run.ms });
    bars.push({
      name: `lease 50 + complete 50, ${connections} connections, ${answer}`,
      value: perSecond(result),
      unit: "tasks/s",
      note: `p50 of both ${quantile(result.latenciesMs, 0.5).toFixed(1)} ms`,
    });
  }
  const best = Math.max(...bars.map(({ value }) => value));
  return bars.map((bar) =>
    bar.value === best ? { ...bar, atLeast: 15_000 } : bar
  );
}

/** Compares the SDK's worker with the benchmark's own loop, in turns. */
export async function measureSdk(run: BenchRun): Promise<readonly Bar[]> {
  const own: number[] = [];
  const sdk: number[] = [];
  const options = { connections: 8, answer: "minimal", ms: run.ms } as const;
  await drain(run, { ...options, ms: WARM_UP_MS });
  await drain(run, { ...options, ms: WARM_UP_MS, bySdk: true });
  for (let round = 0; round < SDK_ROUNDS; round++) {
    own.push(perSecond(await drain(run, options)));
    sdk.push(perSecond(await drain(run, { ...options, bySdk: true })));
  }
  const [loop, worker] = [median(own), median(sdk)];
  return [
    {
      name: "lease 50 + complete 50 by the SDK's Worker, 8 connections",
      value: worker,
      unit: "tasks/s",
      note: `the benchmark's own loop ${loop.toFixed(0)}`,
    },
    {
      name: "the SDK's Worker to the benchmark's own loop",
      value: worker / loop,
      unit: "×",
      atLeast: 0.8,
      digits: 2,
    },
  ];
}

async function drain(
  run: BenchRun,
  { bySdk = false, ...options }:
    & Pick<DrainJob, "connections" | "ms">
    & Partial<DrainJob>
    & { readonly bySdk?: boolean },
): Promise<LoadResult> {
  const { ms } = options;
  const tasks = Math.ceil(ms / 1_000) * TASKS_PER_SECOND;
  await prepareTasks(run, tasks);
  const job = { ...drainOf(run), completes: true, tasks, ...options };
  const { load } = run;
  return flawless(await (bySdk ? load.drainBySdk(job) : load.drain(job)));
}

/** Creates `count` tasks that are due at once. */
export async function prepareTasks(
  { port, tenant }: Pick<BenchRun, "port" | "tenant">,
  count: number,
): Promise<void> {
  using socket = await HttpSocket.connect(port);
  const thousand = requestBytes(batchRequest(tenant, 1_000));
  for (let made = 0; made < count; made += 1_000) {
    const { status } = await socket.exchange(thousand);
    if (status !== 200) throw new Error(`Cannot prepare tasks: ${status}`);
  }
}
