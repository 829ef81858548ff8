/**
 * What the load thread is asked to do, and what it tells.
 *
 * @module
 */

/** Requests of one kind, sent again and again over several connections. */
export interface LoadJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** Connections, each with one request under way. */
  readonly connections: number;
  /** The requests, taken in turns. */
  readonly requests: readonly Uint8Array[];
  /** The status of a good answer. */
  readonly status: number;
  /** How long it goes before it counts. */
  readonly warmUpMs: number;
  /** How long it counts. */
  readonly ms: number;
}

/** Leasing and, perhaps, completing until a time is over or nothing is left. */
export interface DrainJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** Connections, each with one request under way. */
  readonly connections: number;
  /** The Host header. */
  readonly host: string;
  /** The bearer token. */
  readonly token: string;
  /** The name of the worker whose tasks are taken. */
  readonly worker: string;
  /** Tasks of a lease call. */
  readonly batch: number;
  /** How much leases show of their tasks. */
  readonly answer: "representation" | "minimal";
  /** Whether what is leased is completed as well, within the measured time. */
  readonly completes: boolean;
  /** Most tasks that are taken. */
  readonly tasks: number;
  /** How long it goes at most. */
  readonly ms: number;
}

/** What the load came to. */
export interface LoadResult {
  /** Good answers; tasks for a drain. */
  readonly count: number;
  /** How long it went. */
  readonly ms: number;
  /** Answers that were not good, by status or error. */
  readonly failures: Readonly<Record<string, number>>;
  /** How long each good request took, in milliseconds, shortest first. */
  readonly latenciesMs: Float64Array;
}

/** A value that a share of the sorted values does not exceed. */
export function quantile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return NaN;
  return sorted[
    Math.min(sorted.length - 1, Math.floor(sorted.length * share))
  ]!;
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5);
}
