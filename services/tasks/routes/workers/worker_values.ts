/**
 * The schemas of a worker's values: names, times, jobs and limits, and how jobs
 * and limits are shown.
 *
 * @module
 */

import {
  list,
  oneOf,
  type Parsed,
  parsed,
  record,
  refined,
} from "../../../shared/schema/composite.ts";
import { object, optional, settable } from "../../../shared/schema/object.ts";
import { isJsonObject, type Schema } from "../../../shared/schema/schema.ts";
import { choice, integer, text } from "../../../shared/schema/values.ts";
import { formatDuration } from "../../../shared/duration.ts";
import type { WorkerJob, WorkerLimits } from "../../domain/records.ts";
import { guided, LIMITS_WORDS } from "../../domain/other_words.ts";
import { RETAIN, showRetain } from "../../domain/retention.ts";
import { policyWithUnits, RETRY_POLICY } from "../../domain/retry_schema.ts";
import {
  ATTEMPT_TIME,
  durationMs,
  JOB_NAME,
  MAX_URL_CHARS,
} from "../../domain/value_schemas.ts";

/** Most jobs of a worker. */
const MAX_JOBS = 500;
/** Most starts in a period; each start is remembered for that long. */
const MAX_RATE = 10_000;

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * The name of a worker. It can be part of a path and of a comma-separated list,
 * and never looks like an id.
 */
export const WORKER_NAME: Schema<string> = text({
  minLength: 1,
  maxLength: 64,
  pattern: /^(?![Ww][Rr][Kk]_)[A-Za-z0-9][A-Za-z0-9._-]*$/,
  mustBe: 'letters, digits, ".", "_" and "-" with a letter or digit first, ' +
    'and unlike an id ("wrk_…")',
});

/** How long a lease may last. */
export const LEASE_TIME: Schema<number> = durationMs({
  minimumMs: 5 * SECOND_MS,
  maximumMs: HOUR_MS,
});

/** The URL at which a worker is called; it may have references to secrets. */
export const CALL_URL: Schema<string> = text({
  minLength: 1,
  maxLength: MAX_URL_CHARS,
});

/**
 * Null leaves a value to the worker, except for `retry`, where null means no
 * retries.
 */
const JOB = parsed(
  object({
    url: settable(
      CALL_URL,
      "Where to call for this job; the worker's address when absent",
    ),
    timeout: settable(
      ATTEMPT_TIME,
      "How long an attempt may take; the worker's time when absent",
    ),
    retry: optional(
      RETRY_POLICY,
      "When a failed attempt is tried again; the worker's rule when absent, " +
        "not at all when null",
    ),
    retain: settable(
      RETAIN,
      "How long tasks are kept after their end; as the worker says when absent",
    ),
  }),
  ({ url, timeout, retry, retain }): Parsed<WorkerJob> => ({
    kind: "ok",
    value: {
      url: url ?? undefined,
      timeoutMs: timeout ?? undefined,
      retry,
      retain: retain ?? undefined,
    },
  }),
);

/**
 * The jobs of a worker: a list of names, or an object with the values of each
 * job.
 */
export const JOBS: Schema<Readonly<Record<string, WorkerJob>>> = oneOf([
  {
    when: Array.isArray,
    schema: parsed(
      list(JOB_NAME, { minItems: 1, maxItems: MAX_JOBS, isUnique: true }),
      (names): Parsed<Readonly<Record<string, WorkerJob>>> => ({
        kind: "ok",
        value: Object.fromEntries(names.map((name) => [name, {}])),
      }),
    ),
  },
  {
    when: isJsonObject,
    schema: refined(
      record(JOB, { maxEntries: MAX_JOBS, names: JOB_NAME }),
      (jobs) =>
        Object.keys(jobs).length > 0 ? [] : [{
          code: "too_few",
          reason: "Cannot accept value: it has no job; null means any job",
        }],
    ),
  },
], { mustBe: "a list of names nor an object of jobs" });

/** Jobs in the form that clients send. */
export function viewJobs(
  jobs: Readonly<Record<string, WorkerJob>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(jobs).map((
      [name, { url, timeoutMs: timeout, retry, retain }],
    ) => [name, {
      url,
      timeout,
      retry: policyWithUnits(retry),
      retain: retain && showRetain(retain),
    }]),
  );
}

/**
 * The limits of a worker besides its concurrency; null when there are no
 * others.
 */
export const LIMITS: Schema<WorkerLimits | null> = parsed(
  guided(
    object({
      rate: settable(
        integer({ minimum: 1, maximum: MAX_RATE }),
        "Most starts in a `period`; no bound when absent",
      ),
      period: settable(
        durationMs({ minimumMs: SECOND_MS, maximumMs: DAY_MS }),
        "The time in which `rate` counts; a second when absent",
      ),
      per: settable(
        choice(["worker", "group"]),
        "Whose starts `rate` bounds: all of the worker's, or those of each " +
          "group; `worker` when absent",
      ),
      group_concurrency: settable(
        integer({ minimum: 1, maximum: 100_000 }),
        "Most tasks of a group under way at once; no bound when absent",
      ),
      group_scope: settable(
        choice(["worker", "tenant"]),
        "Whose tasks of a group count: those of this worker, or those of all " +
          "workers that say `tenant`; each has its own bound",
      ),
    }),
    LIMITS_WORDS,
  ),
  ({
    rate,
    period,
    per,
    group_concurrency: groupConcurrency,
    group_scope: groupScope,
  }) => {
    const hasRate = typeof rate === "number";
    if (!hasRate && (period ?? per ?? undefined) !== undefined) {
      return {
        kind: "invalid",
        pointer: "/rate",
        code: "required",
        reason: 'Cannot do without field "rate": "period" and "per" are ' +
          "about it",
      };
    }
    const isOfGroups = per === "group" || typeof groupConcurrency === "number";
    if (groupScope === "tenant" && !isOfGroups) {
      return {
        kind: "invalid",
        pointer: "/group_scope",
        code: "required",
        reason: 'Cannot share limits of groups: there is neither a "rate" ' +
          '"per" group nor a "group_concurrency"',
      };
    }
    const value = !hasRate && typeof groupConcurrency !== "number" ? null : {
      rate: hasRate
        ? { count: rate, periodMs: period ?? SECOND_MS, per: per ?? "worker" }
        : undefined,
      groupConcurrency: groupConcurrency ?? undefined,
      groupScope: groupScope === "tenant" ? groupScope : undefined,
    };
    return { kind: "ok", value };
  },
);

/** Limits in the form that clients send. */
export function viewLimits(
  { rate, groupConcurrency, groupScope }: WorkerLimits,
): Readonly<Record<string, unknown>> {
  return {
    rate: rate?.count,
    period: rate && exactTime(rate.periodMs),
    per: rate?.per,
    group_concurrency: groupConcurrency,
    group_scope: groupScope,
  };
}

/**
 * A duration in the form that clients send. It has no days, since a day may
 * have a clock change.
 */
export function exactTime(ms: number): string {
  return formatDuration({ months: 0, days: 0, ms });
}
