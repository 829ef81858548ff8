/**
 * Resolves the rules of a task, such as its retry policy, timeout and schedule:
 * a setting on the task wins over its job's, the job's over its worker's, and
 * the service's defaults come last.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import {
  DEFAULT_RETRY_POLICY,
  parseRetryPolicy,
  policyWithUnits,
} from "./retry_schema.ts";
import type { RetryPolicy } from "./retry_policy.ts";
import {
  type Calendars,
  parseTiming,
  type Schedule,
  type Timing,
  withCalendars,
} from "./schedule.ts";
import type { RepeatRule, Task, TaskDefinition } from "./task.ts";
import type { TaskRules } from "./task_event.ts";
import type { Repetition } from "./transitions/repetition.ts";
import type { Retain, WorkerDefinition, WorkerJob } from "./records.ts";

/**
 * A cache of the policies and schedules that {@linkcode resolveRules} parsed, so
 * that the same text is parsed once. When it is full, the entry that was not
 * used for longest is evicted. An entry follows from its text alone, so it
 * holds at every instance for ever; calendars, which change, are added later.
 */
export class RuleCache {
  readonly #policies: BoundedMap<string, RetryPolicy>;
  readonly #timings: BoundedMap<string, Timing>;

  /**
   * An empty cache.
   *
   * @param maxEntries Most policies, and most timings, that are kept.
   * @throws {RangeError} When `maxEntries` is not a positive whole number.
   */
  constructor(maxEntries: number) {
    this.#policies = new BoundedMap({ maxEntries });
    this.#timings = new BoundedMap({ maxEntries });
  }

  /** The policy for a JSON text; `make` parses it when it is not cached. */
  retry(text: string, make: () => RetryPolicy): RetryPolicy {
    return kept(this.#policies, text, make);
  }

  /** The timing for a text; `make` parses it when it is not cached. */
  timing(text: string, make: () => Timing): Timing {
    return kept(this.#timings, text, make);
  }
}

/** Options of {@linkcode resolveRules}. */
interface RulesOptions {
  /** The cache of parsed policies and schedules. */
  readonly cache: RuleCache;
  /**
   * The calendars that the task names.
   *
   * @default none
   */
  readonly calendars?: Calendars | undefined;
  /**
   * How long the tenant's plan keeps a task after its end.
   *
   * @default {forever}
   */
  readonly retentionMs?: number | undefined;
}

/** The fields of a task that decide its rules. */
type RuledTask =
  & Pick<TaskDefinition, "job" | "timezone">
  & Partial<
    Pick<TaskDefinition, "retry" | "timeoutMs" | "repeat" | "retain">
  >;

/** The fields of a worker that decide the rules of its tasks. */
export type RulingWorker = Pick<
  WorkerDefinition,
  "jobs" | "retry" | "timeoutMs" | "maxLost" | "resumedAtMs" | "retain"
>;

/**
 * Resolves the rules of a task.
 *
 * @throws {TypeError} when a stored policy or schedule cannot be parsed; the
 * service checks what it stores, so another program wrote it
 */
export function resolveRules(
  task: RuledTask,
  worker: RulingWorker,
  options: RulesOptions,
): TaskRules {
  const { cache, calendars, retentionMs } = options;
  const job = findJob(task, worker);
  const schedule = resolveSchedule(task, { cache, calendars });
  return {
    retry: resolveRetry(
      firstGiven([task.retry, job?.retry, worker.retry]),
      cache,
    ),
    schedule,
    timeoutMs: task.timeoutMs ?? job?.timeoutMs ?? worker.timeoutMs,
    maxLost: worker.maxLost,
    resumedAtMs: worker.resumedAtMs,
    retain: firstRetain(task.retain, job?.retain, worker.retain),
    retentionMs,
  };
}

/** For each outcome what the first of the levels says about it. */
export function firstRetain(
  ...levels: readonly (Retain | undefined)[]
): Retain | undefined {
  if (levels.every((level) => level === undefined)) return undefined;
  const first = (key: keyof Retain): number | undefined =>
    levels.find((level) => level?.[key] !== undefined)?.[key];
  return { succeededMs: first("succeededMs"), failedMs: first("failedMs") };
}

/**
 * Returns how a task repeats, if it does.
 *
 * @throws {TypeError} when the task repeats and the rules hold no schedule
 */
export function findRepetition(
  task: Task,
  rules: TaskRules,
): Repetition | undefined {
  const { repeat: rule } = task;
  if (rule === undefined) return undefined;
  const { schedule } = rules;
  if (schedule === undefined) {
    throw new TypeError(
      `Cannot find the next slot of task "${task.id}": its rules hold no schedule`,
    );
  }
  return { rule, schedule };
}

function kept<Value>(
  entries: BoundedMap<string, Value>,
  text: string,
  make: () => Value,
): Value {
  const known = entries.get(text);
  if (known !== undefined) return known;
  const value = make();
  entries.set(text, value);
  return value;
}

/** A job may have the name of a property that every object inherits. */
function findJob(
  { job }: RuledTask,
  { jobs }: RulingWorker,
): WorkerJob | undefined {
  return jobs !== undefined && Object.hasOwn(jobs, job) ? jobs[job] : undefined;
}

/** Null counts as a setting: it means no retries. */
function firstGiven(values: readonly unknown[]): unknown {
  return values.find((value) => value !== undefined);
}

function resolveRetry(input: unknown, cache: RuleCache): RetryPolicy {
  if (input === undefined) return DEFAULT_RETRY_POLICY;
  return cache.retry(JSON.stringify(input), () => {
    const outcome = parseRetryPolicy(policyWithUnits(input));
    if (outcome.kind === "ok") return outcome.value;
    throw new TypeError(
      outcome.faults.map(({ pointer, detail }) => `${pointer}: ${detail}`)
        .join("; "),
    );
  });
}

function resolveSchedule(
  { repeat, timezone }: RuledTask,
  { cache, calendars }: Pick<RulesOptions, "cache" | "calendars">,
): Schedule | undefined {
  if (repeat === undefined) return undefined;
  const { untilMs, limit } = repeat;
  // The cache is all tenants', and calendars are a tenant's own.
  const timing = resolveTiming(repeat, { timezone, cache });
  return {
    timing: withCalendars(timing, repeat.calendars ?? [], calendars),
    untilMs,
    limit,
  };
}

function resolveTiming(
  { interval, cron, dialect, exclude }: RepeatRule,
  { timezone, cache }: { readonly timezone: string; readonly cache: RuleCache },
): Timing {
  const text = JSON.stringify([interval, cron, dialect, exclude, timezone]);
  return cache.timing(text, () => {
    // That the expression fires was checked when it was stored, for that time.
    const written = { interval, cron, dialect, exclude };
    const outcome = parseTiming(written, { timezone, afterMs: 0 });
    if (outcome.kind === "ok") return outcome.timing;
    throw new TypeError(outcome.reason);
  });
}
