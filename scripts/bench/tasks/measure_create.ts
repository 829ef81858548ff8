/**
 * Measures how fast tasks are created, one by one and in batches.
 *
 * @module
 */

import type { Bar } from "./bar.ts";
import { batchRequest, createRequest } from "./bench_tenant.ts";
import { type BenchRun, flawless, perSecond, WARM_UP_MS } from "./bench_run.ts";
import { requestBytes } from "./http_socket.ts";
import { type LoadJob, quantile } from "./load_job.ts";
import { wrkLoad, type WrkResult } from "./wrk_load.ts";

/** Number of tasks in a batch. */
const BATCH = 1_000;

/**
 * For each run: requests under way at a time, and how much a response shows.
 */
const BATCH_RUNS = [
  [1, "representation"],
  [2, "representation"],
  [4, "representation"],
  [2, "minimal"],
  [4, "minimal"],
] as const;

/**
 * Creates tasks over 50 connections and over 10, with the bench's own client
 * and also with `wrk` where it is installed.
 */
export async function measureCreate(run: BenchRun): Promise<readonly Bar[]> {
  const requests = Array.from(
    { length: 64 },
    (_, index) => requestBytes(createRequest(run.tenant, index)),
  );
  const bars: Bar[] = [];
  for (const [connections, atLeast] of [[50, 12_000], [10, 5_000]] as const) {
    const [own, wrk] = await createBars(run, { connections, requests });
    // The bar is for the service: with `wrk` measured as well, the rate of the
    // costlier own client is not judged.
    bars.push({ ...own, ...(wrk ? {} : { atLeast }) });
    if (wrk) bars.push({ ...wrk, atLeast });
  }
  return bars;
}

/** The part of a run that creates are measured with. */
export type CreateRun = Pick<BenchRun, "load" | "port" | "ms">;

/**
 * Creates tasks one by one for the duration of the run: first with the bench's
 * own client, then with `wrk` where it is installed, which costs a third of
 * that.
 */
export async function createBars(
  { load, port, ms }: CreateRun,
  { connections, requests }: Pick<LoadJob, "connections" | "requests">,
): Promise<readonly [own: Bar, wrk: Bar | undefined]> {
  const name = `create, ${connections} connections`;
  const common = { port, connections, requests, ms };
  const result = flawless(
    await load.load({ ...common, status: 201, warmUpMs: WARM_UP_MS }),
  );
  const { latenciesMs } = result;
  const own = createBar(name, {
    perSecond: perSecond(result),
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
  });
  const wrk = await wrkLoad(common);
  return [own, wrk && createBar(`${name}, wrk`, wrk)];
}

function createBar(
  name: string,
  { perSecond, p50Ms, p99Ms }: WrkResult,
): Bar {
  const note = `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
  return { name, value: perSecond, unit: "/s", note };
}

/**
 * Creates a thousand tasks per request, with several requests under way at a
 * time. The response shows the tasks or only names them, as those of other
 * queues do.
 */
export async function measureBatch(run: BenchRun): Promise<readonly Bar[]> {
  const bars: Bar[] = [];
  const request = batchRequest(run.tenant, BATCH);
  for (const [connections, answer] of BATCH_RUNS) {
    const prefer = `return=${answer}`;
    const requests = [requestBytes({ ...request, prefer })];
    const result = flawless(
      await run.load.load({
        port: run.port,
        connections,
        requests,
        status: 200,
        warmUpMs: WARM_UP_MS,
        ms: run.ms,
      }),
    );
    bars.push({
      name: `batch create of ${BATCH}, ${connections} under way, ${answer}`,
      value: perSecond(result) * BATCH,
      unit: "tasks/s",
      note: `p50 ${quantile(result.latenciesMs, 0.5).toFixed(1)} ms`,
    });
  }
  // Only the best run has to meet the bar, since the client chooses how it
  // creates.
  const best = Math.max(...bars.map(({ value }) => value));
  return bars.map((bar) =>
    bar.value === best ? { ...bar, atLeast: 60_000 } : bar
  );
}
