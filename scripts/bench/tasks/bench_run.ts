/**
 * The running service and its load, which all measurements of the tasks bench
 * share.
 *
 * @module
 */

import type { BenchTenant } from "./bench_tenant.ts";
import type { DrainJob, LoadResult } from "./load_job.ts";
import type { LoadThread } from "./load_thread.ts";

/** A running tasks service, and the client that sends load to it. */
export interface BenchRun {
  /** Where the service listens. */
  readonly port: number;
  /** The process id of the service. */
  readonly pid: number;
  /** The tenant whose credentials the requests carry. */
  readonly tenant: BenchTenant;
  /** The thread that sends the requests. */
  readonly load: LoadThread;
  /** Duration of each measurement, in milliseconds. */
  readonly ms: number;
}

/**
 * How long a load runs before it is measured: by then the runtime has compiled
 * the hot code.
 */
export const WARM_UP_MS = 3_000;

/**
 * Returns a result unchanged if no request failed.
 *
 * @throws {Error} When a request failed.
 */
export function flawless(result: LoadResult): LoadResult {
  const failures = Object.entries(result.failures);
  if (failures.length === 0) return result;
  const list = failures.map(([what, count]) => `${count} × ${what}`);
  throw new Error(`Cannot measure: there were failures: ${list.join(", ")}`);
}

/** Returns the rate of a result, per second. */
export function perSecond({ count, ms }: LoadResult): number {
  return count / ms * 1_000;
}

/** Returns the options that all drains of a run have in common. */
export function drainOf(
  { port, tenant }: BenchRun,
): Pick<
  DrainJob,
  "port" | "host" | "token" | "worker" | "batch" | "answer"
> {
  const { host, token, worker } = tenant;
  return {
    port,
    host,
    token,
    worker,
    batch: 50,
    answer: "representation",
  };
}
