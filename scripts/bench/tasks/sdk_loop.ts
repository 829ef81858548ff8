/**
 * Leases tasks and completes them with the SDK's worker.
 *
 * @module
 */

import { Worker } from "../../../sdk/tasks.ts";
import type { DrainJob, LoadResult } from "./load_job.ts";

/**
 * Runs a drain job as an application would, with a handler that does nothing.
 */
export async function runSdk(job: DrainJob): Promise<LoadResult> {
  const { port, host, token, worker, connections, batch, ms } = job;
  const failures: Record<string, number> = {};
  let count = 0;
  const sdk = new Worker({
    url: `http://127.0.0.1:${port}/t/${host.split(".")[0]}`,
    key: token,
    worker,
    connections,
    concurrency: connections * batch,
    waitMs: 0,
    handlers: () => {
      count++;
      return { ok: true };
    },
    onError: ({ message }) => {
      failures[message] = (failures[message] ?? 0) + 1;
    },
  });
  const beginMs = performance.now();
  sdk.start();
  await new Promise((resolve) => setTimeout(resolve, ms));
  // `stop()` waits until all tasks that were taken are reported.
  await sdk.stop();
  return {
    count,
    ms: performance.now() - beginMs,
    failures,
    latenciesMs: new Float64Array(),
  };
}
