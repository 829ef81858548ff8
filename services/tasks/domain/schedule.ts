/**
 * Schedules: what makes a task repeat (an interval or a cron expression), within
 * which bounds, and when it is due next.
 *
 * @module
 */

import { countCron, cronAfter, lastCron, type Span } from "./cron_schedule.ts";
import { type CronExpression, parseCron } from "./cron_expression.ts";
import { DAY_MS, type Duration, nominalMs, parseDuration } from "./duration.ts";
import { MAX_INSTANT_MS } from "./instant.ts";
import {
  type Grid,
  intervalAfter,
  intervalOccurrence,
} from "./interval_schedule.ts";

/** What makes a task repeat. */
export type Timing =
  | {
    readonly kind: "interval";
    /** Longer than nothing. */
    readonly every: Duration;
  }
  | {
    readonly kind: "cron";
    /** Which wall times match. */
    readonly cron: CronExpression;
  };

/** The outcome of reading a timing. */
export type TimingOutcome =
  | { readonly kind: "ok"; readonly timing: Timing }
  | {
    readonly kind: "invalid";
    /** The field that is wrong; none when the choice between them is. */
    readonly field?: "interval" | "cron" | undefined;
    /** The code of the problem. */
    readonly code: "invalid" | "bad_cron" | "never_fires";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** Options of {@linkcode parseTiming}. */
interface ParseTimingOptions {
  /** The zone whose clock a cron expression reads; a good IANA name. */
  readonly timezone: string;
  /** A cron expression must fire after this, in milliseconds since the epoch. */
  readonly afterMs: number;
}

/** Reads a timing, of which exactly one field is given; null counts as absent. */
export function parseTiming(
  input: { readonly interval?: unknown; readonly cron?: unknown },
  options: ParseTimingOptions,
): TimingOutcome {
  const interval = input.interval ?? undefined;
  const cron = input.cron ?? undefined;
  if ((interval === undefined) === (cron === undefined)) {
    const state = cron === undefined ? "it has neither of" : "it has both";
    const reason = `Cannot read repetition: ${state} "interval" and "cron"`;
    return { kind: "invalid", code: "invalid", reason };
  }
  return cron === undefined
    ? parseInterval(interval)
    : parseCronTiming(cron, options);
}

/** The first occurrence after an instant, if there is one up to the year 9999. */
export function occurrenceAfter(
  timing: Timing,
  afterMs: number,
  grid: Grid,
): number | undefined {
  if (afterMs >= MAX_INSTANT_MS) return undefined;
  const atMs = timing.kind === "interval"
    ? intervalAfter(timing.every, afterMs, grid).atMs
    : cronAfter(
      timing.cron,
      Math.max(afterMs, grid.anchorMs - 1),
      grid.timezone,
    );
  return atMs === undefined || atMs > MAX_INSTANT_MS ? undefined : atMs;
}

/**
 * The last occurrence of a span, by arithmetic; undefined when it has none.
 */
export function lastOccurrence(
  timing: Timing,
  span: Span,
  grid: Grid,
): number | undefined {
  if (timing.kind === "cron") {
    const afterMs = Math.max(span.afterMs, grid.anchorMs - 1);
    const throughMs = Math.min(span.throughMs, MAX_INSTANT_MS);
    return lastCron(timing.cron, { afterMs, throughMs }, grid.timezone);
  }
  const firstMs = occurrenceAfter(timing, span.afterMs, grid);
  if (firstMs === undefined || firstMs > span.throughMs) return undefined;
  const { index } = intervalAfter(timing.every, span.throughMs, grid);
  return intervalOccurrence(timing.every, index - 1, grid).atMs;
}

/**
 * How many occurrences a span has, by arithmetic however long it is; see
 * {@linkcode countCron} for spans of more than 400 years.
 */
export function countOccurrences(
  timing: Timing,
  span: Span,
  grid: Grid,
): number {
  if (span.throughMs <= span.afterMs) return 0;
  if (timing.kind === "interval") {
    return intervalAfter(timing.every, span.throughMs, grid).index -
      intervalAfter(timing.every, span.afterMs, grid).index;
  }
  const afterMs = Math.max(span.afterMs, grid.anchorMs - 1);
  if (span.throughMs <= afterMs) return 0;
  return countCron(
    timing.cron,
    { afterMs, throughMs: span.throughMs },
    grid.timezone,
  );
}

function parseInterval(input: unknown): TimingOutcome {
  const outcome = parseDuration(input);
  if (outcome.kind === "invalid") return invalidInterval(outcome.reason);
  if (nominalMs(outcome.duration) === 0) {
    return invalidInterval("Cannot repeat: the interval has no length");
  }
  return { kind: "ok", timing: { kind: "interval", every: outcome.duration } };
}

function parseCronTiming(
  input: unknown,
  options: ParseTimingOptions,
): TimingOutcome {
  const outcome = parseCron(input);
  if (outcome.kind === "invalid") return { ...outcome, field: "cron" };
  const { cron } = outcome;
  if (cronAfter(cron, options.afterMs, options.timezone) === undefined) {
    return {
      kind: "invalid",
      field: "cron",
      code: "never_fires",
      reason: `Cannot use cron "${cron.text}": the clocks of ` +
        `"${options.timezone}" skip every time that matches`,
    };
  }
  return { kind: "ok", timing: { kind: "cron", cron } };
}

function invalidInterval(reason: string): TimingOutcome {
  return { kind: "invalid", field: "interval", code: "invalid", reason };
}

/** A timing with its bounds. */
export interface Schedule {
  /** What makes the task repeat. */
  readonly timing: Timing;
  /** The last instant at which a run may be due; no end when absent. */
  readonly untilMs?: number | undefined;
  /** Most runs after the first one; no bound when absent. */
  readonly limit?: number | undefined;
}

/** The circumstances in which a schedule is asked. */
export interface ScheduleFrame extends Grid {
  /**
   * Runs that the task has had, the first among them. Slots that were passed
   * over are no runs.
   *
   * @default {0}
   */
  readonly runs?: number | undefined;
}

/** Options of {@linkcode nextOccurrence}. */
interface NextOccurrenceOptions extends ScheduleFrame {
  /** The instant after which the occurrence is looked for. */
  readonly afterMs: number;
}

/**
 * The next time the task is due, in milliseconds since the epoch; undefined when
 * its limit or its end is reached, or when nothing matches from then on. An interval
 * is due at the anchor first, a cron expression where it matches at the anchor
 * or after it.
 */
export function nextOccurrence(
  schedule: Schedule,
  options: NextOccurrenceOptions,
): number | undefined {
  if (runsLeft(schedule, options) <= 0) return undefined;
  const atMs = occurrenceAfter(schedule.timing, options.afterMs, options);
  if (atMs === undefined) return undefined;
  return atMs <= (schedule.untilMs ?? Infinity) ? atMs : undefined;
}

/** How many runs the schedule still allows; infinite when it has no limit. */
export function runsLeft(
  schedule: Schedule,
  frame: Pick<ScheduleFrame, "runs">,
): number {
  return (schedule.limit ?? Infinity) + 1 - (frame.runs ?? 0);
}

const SHORTEST_MONTH_DAYS = 28;

/**
 * The shortest time between two occurrences in milliseconds, clock changes left
 * aside. For a cron expression it is taken as if every day matched.
 */
export function shortestSpacingMs(timing: Timing): number {
  return timing.kind === "interval"
    ? intervalSpacingMs(timing.every)
    : cronSpacing(timing.cron) * 1_000;
}

function intervalSpacingMs(every: Duration): number {
  return (every.months * SHORTEST_MONTH_DAYS + every.days) * DAY_MS + every.ms;
}

/** In seconds. */
function cronSpacing({ times }: CronExpression): number {
  const hours = smallestStep(times.hours, 24);
  const minutes = smallestStep(times.minutes, hours * 60);
  return smallestStep(times.seconds, minutes * 60);
}

/**
 * The smallest distance of neighbours, the first one of the next period among
 * them.
 *
 * @param values Rising.
 * @param period After how much, at least, the values come again.
 */
function smallestStep(values: readonly number[], period: number): number {
  const first = values[0] ?? 0;
  return values.reduce((smallest, value, index) => {
    const next = values[index + 1] ?? first + period;
    return Math.min(smallest, next - value);
  }, period);
}
