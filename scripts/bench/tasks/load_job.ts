/**
 * The jobs that the load thread runs, and their results.
 *
 * @module
 */

/** Requests of one kind, sent repeatedly over several connections. */
export interface LoadJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** Number of connections, each with one request under way. */
  readonly connections: number;
  /** The requests, taken in turns. */
  readonly requests: readonly Uint8Array[];
  /** The status that counts as success. */
  readonly status: number;
  /** How long the load runs before it is measured, in milliseconds. */
  readonly warmUpMs: number;
  /** How long the load is measured, in milliseconds. */
  readonly ms: number;
}

/**
 * Leases tasks, and completes them if told to, until a time is over or
 * `tasks` are leased.
 */
export interface DrainJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** Number of connections, each with one request under way. */
  readonly connections: number;
  /** The Host header, which names the tenant. */
  readonly host: string;
  /** The bearer token. */
  readonly token: string;
  /** The name of the worker whose tasks are leased. */
  readonly worker: string;
  /** Number of tasks that each lease request asks for. */
  readonly batch: number;
  /**
   * Whether the response to a lease request shows the tasks or only their
   * leases.
   */
  readonly answer: "representation" | "minimal";
  /** Whether leased tasks are completed within the measured time. */
  readonly completes: boolean;
  /** The most tasks that are leased in all. */
  readonly tasks: number;
  /** The longest time the job may take, in milliseconds. */
  readonly ms: number;
}

/** The result of a job. */
export interface LoadResult {
  /** Successful responses; for a drain, the number of tasks. */
  readonly count: number;
  /** The measured time, in milliseconds. */
  readonly ms: number;
  /** Number of failed requests, by status or error. */
  readonly failures: Readonly<Record<string, number>>;
  /** Time of each successful request in milliseconds, the shortest first. */
  readonly latenciesMs: Float64Array;
}

/**
 * The quantile of sorted values: the value that `share` of them do not exceed;
 * NaN when there are no values.
 */
export function quantile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return NaN;
  return sorted[
    Math.min(sorted.length - 1, Math.floor(sorted.length * share))
  ]!;
}

/** The median of some values. */
export function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5);
}
