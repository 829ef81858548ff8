/**
 * What all measurements share.
 *
 * @module
 */

import type { BenchTenant } from "./bench_tenant.ts";
import type { DrainJob, LoadResult } from "./load_job.ts";
import type { LoadThread } from "./load_thread.ts";

/** A running service and what drives it. */
export interface BenchRun {
  /** Where the service listens. */
  readonly port: number;
  /** The id of its process. */
  readonly pid: number;
  /** Who makes the requests. */
  readonly tenant: BenchTenant;
  /** Sends them. */
  readonly load: LoadThread;
  /** How long each measurement goes, in milliseconds. */
  readonly ms: number;
}

/** How long load goes before it counts: by then the runtime has compiled what is hot. */
export const WARM_UP_MS = 3_000;

/**
 * Gives back a result of which nothing went wrong.
 *
 * @throws {Error} When something did.
 */
export function flawless(result: LoadResult): LoadResult {
  const failures = Object.entries(result.failures);
  if (failures.length === 0) return result;
  const list = failures.map(([what, count]) => `${count} × ${what}`);
  throw new Error(`Cannot measure: there were failures: ${list.join(", ")}`);
}

/** What was done in a second. */
export function perSecond({ count, ms }: LoadResult): number {
  return count / ms * 1_000;
}

/** What every drain of a run has in common. */
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
