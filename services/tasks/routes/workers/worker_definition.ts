/**
 * From what clients say of a worker to its definition.
 *
 * @module
 */

import type {
  WorkerDefinition,
  WorkerJob,
  WorkerLimits,
} from "../../domain/records.ts";
import type { WorkerChanges } from "./worker_schema.ts";

/** Circumstances of a change. */
export interface ChangeContext {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Who changes it, as `type:id`. */
  readonly actor: string;
}

/** A worker of which nothing is said but whose it is. */
export function blankWorker(
  of: { readonly tenantId: string; readonly id: string },
  nowMs: number,
): WorkerDefinition {
  return {
    ...of,
    version: 1,
    name: "",
    kind: "pull",
    method: "POST",
    headers: {},
    concurrency: 10,
    timeoutMs: 30_000,
    leaseMs: 30_000,
    maxLost: 3,
    isPaused: false,
    signing: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

/**
 * Returns the worker with a change made: what is not given stays, null is the
 * default. Keys and secrets stay as they are, and so does the version.
 */
export function changedWorker(
  worker: WorkerDefinition,
  changes: WorkerChanges,
  context: ChangeContext,
): WorkerDefinition {
  const { url: oldUrl, jobs: oldJobs, limits: oldLimits, ...kept } = worker;
  const { retry: oldRetry, pausedAtMs, pausedBy, ...rest } = kept;
  const url = chosen(changes.url, { kept: oldUrl, fallback: undefined });
  const jobs = changes.jobs === undefined ? oldJobs : jobsOf(changes.jobs);
  const limits = changes.limits === undefined
    ? oldLimits
    : limitsOf(changes.limits);
  const retry = changes.retry === undefined ? oldRetry : changes.retry;
  const isPaused = chosen(changes.paused, {
    kept: worker.isPaused,
    fallback: false,
  });
  const paused = !isPaused
    ? {}
    : worker.isPaused
    ? { pausedAtMs, pausedBy }
    : { pausedAtMs: context.nowMs, pausedBy: context.actor };
  const fallback = blankWorker(worker, context.nowMs);
  const pick = <Value>(
    change: Value | null | undefined,
    member: (of: WorkerDefinition) => Value,
  ): Value =>
    chosen(change, { kept: member(worker), fallback: member(fallback) });
  return {
    ...rest,
    name: changes.name ?? worker.name,
    kind: url === undefined ? "pull" : "push",
    ...(url === undefined ? {} : { url }),
    method: pick(changes.method, ({ method }) => method),
    headers: pick(changes.headers, ({ headers }) => headers),
    ...(jobs === undefined ? {} : { jobs }),
    concurrency: pick(changes.concurrency, ({ concurrency }) => concurrency),
    ...(limits === undefined ? {} : { limits }),
    timeoutMs: pick(changes.timeout, ({ timeoutMs }) => timeoutMs),
    leaseMs: pick(changes.lease, ({ leaseMs }) => leaseMs),
    ...(retry === undefined ? {} : { retry }),
    maxLost: pick(changes.max_lost, ({ maxLost }) => maxLost),
    isPaused,
    ...definedOf(paused),
  };
}

function chosen<Value>(
  change: Value | null | undefined,
  { kept, fallback }: { readonly kept: Value; readonly fallback: Value },
): Value {
  if (change === undefined) return kept;
  return change === null ? fallback : change;
}

function jobsOf(
  jobs: NonNullable<WorkerChanges["jobs"]> | null,
): Readonly<Record<string, WorkerJob>> | undefined {
  if (jobs === null) return undefined;
  const entries: [string, WorkerJob][] = isNames(jobs)
    ? jobs.map((name) => [name, {}])
    : Object.entries(jobs).map(([name, { url, timeout, retry }]) => [name, {
      ...(typeof url === "string" ? { url } : {}),
      ...(typeof timeout === "number" ? { timeoutMs: timeout } : {}),
      ...(retry === undefined ? {} : { retry }),
    }]);
  return Object.fromEntries(entries);
}

function isNames(
  jobs: NonNullable<WorkerChanges["jobs"]>,
): jobs is readonly string[] {
  return Array.isArray(jobs);
}

function limitsOf(
  limits: NonNullable<WorkerChanges["limits"]> | null,
): WorkerLimits | undefined {
  const { rate, period, per, group_concurrency: groupConcurrency } = limits ??
    {};
  const made: WorkerLimits = {
    ...(typeof rate !== "number" ? {} : {
      rate: {
        count: rate,
        periodMs: period ?? 1_000,
        per: per ?? "worker",
      },
    }),
    ...(typeof groupConcurrency === "number" ? { groupConcurrency } : {}),
  };
  return Object.keys(made).length === 0 ? undefined : made;
}

function definedOf(
  paused: {
    readonly pausedAtMs?: number | undefined;
    readonly pausedBy?: string | undefined;
  },
): Pick<WorkerDefinition, "pausedAtMs" | "pausedBy"> {
  const { pausedAtMs, pausedBy } = paused;
  return {
    ...(pausedAtMs === undefined ? {} : { pausedAtMs }),
    ...(pausedBy === undefined ? {} : { pausedBy }),
  };
}
