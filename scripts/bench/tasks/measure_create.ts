/**
 * Creating tasks, one by one and in batches.
 *
 * @module
 */

import type { Bar } from "./bar.ts";
import { batchRequest, createRequest } from "./bench_tenant.ts";
import { type BenchRun, flawless, perSecond, WARM_UP_MS } from "./bench_run.ts";
import { requestBytes } from "./http_socket.ts";
import { quantile } from "./load_job.ts";

/** Tasks of a batch. */
const BATCH = 1_000;

/** Requests under way, and how much their answers say. */
const BATCH_RUNS = [
  [1, "representation"],
  [2, "representation"],
  [4, "representation"],
  [2, "minimal"],
  [4, "minimal"],
] as const;

/** Creates over 50 connections and over 10. */
export async function measureCreate(run: BenchRun): Promise<readonly Bar[]> {
  const requests = Array.from(
    { length: 64 },
    (_, index) => requestBytes(createRequest(run.tenant, index)),
  );
  const bars: Bar[] = [];
  for (const [connections, atLeast] of [[50, 12_000], [10, 5_000]] as const) {
    const result = flawless(
      await run.load.load({
        port: run.port,
        connections,
        requests,
        status: 201,
        warmUpMs: WARM_UP_MS,
        ms: run.ms,
      }),
    );
    const [p50, p99] = [0.5, 0.99].map((share) =>
      quantile(result.latenciesMs, share).toFixed(2)
    );
    bars.push({
      name: `create, ${connections} connections`,
      atLeast,
      value: perSecond(result),
      unit: "/s",
      note: `p50 ${p50} ms, p99 ${p99} ms`,
    });
  }
  return bars;
}

/**
 * Creates a thousand in a request, with some requests under way at a time, and
 * an answer that shows the tasks or, as those of other queues, names them.
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
  // The bar is for the best of them: it is the client's choice.
  const best = Math.max(...bars.map(({ value }) => value));
  return bars.map((bar) =>
    bar.value === best ? { ...bar, atLeast: 60_000 } : bar
  );
}
