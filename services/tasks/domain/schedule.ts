/**
 * Schedules: the interval or cron expression by which a task repeats, its
 * limits, and when it is due next.
 *
 * @module
 */

import { countCron, cronAfter, lastCron, type Span } from "./cron_schedule.ts";
import { closedDays, type ClosedTimes, Closures } from "./closed_times.ts";
import {
  type CronDialect,
  type CronExpression,
  parseCron,
} from "./cron_expression.ts";
import {
  DAY_MS,
  type Duration,
  nominalMs,
  parseDuration,
} from "../../shared/duration.ts";
import { MAX_INSTANT_MS, parseDay } from "./instant.ts";
import { offsetMsAt, readWall } from "./time_zone.ts";

/** The start and the calendar of a series of occurrences. */
export interface Grid {
  /** Occurrence 0, in milliseconds since the epoch. */
  readonly anchorMs: number;
  /** The IANA zone whose calendar months and days are counted in. */
  readonly timezone: string;
}

/** What makes a task repeat. */
export type Timing =
  & (
    | {
      readonly kind: "interval";
      /** The interval, longer than zero. */
      readonly every: Duration;
    }
    | {
      readonly kind: "cron";
      /** Which wall times match. */
      readonly cron: CronExpression;
    }
  )
  & {
    /**
     * Times that have no slots.
     *
     * @default none
     */
    readonly closed?: readonly ClosedTimes[] | undefined;
  };

/** Calendars of closed times, by name. */
export type Calendars = ReadonlyMap<string, ClosedTimes>;

/** No calendars. */
export const NO_CALENDARS: Calendars = new Map();

/** The outcome of reading a timing. */
export type TimingOutcome =
  | { readonly kind: "ok"; readonly timing: Timing }
  | {
    readonly kind: "invalid";
    /** The field that is wrong; absent when both or neither were given. */
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
  /**
   * A cron expression must fire after this, in milliseconds since the epoch.
   */
  readonly afterMs: number;
  /**
   * The calendars that the timing may name. One that is missing closes nothing.
   *
   * @default none
   */
  readonly calendars?: Calendars | undefined;
}

/** A timing as it is written. Null counts as absent. */
interface WrittenTiming {
  /** A duration. */
  readonly interval?: unknown;
  /** A cron expression. */
  readonly cron?: unknown;
  /** Whose cron expression it is. */
  readonly dialect?: CronDialect | null | undefined;
  /** Dates of the calendar that have no slots, such as `2030-01-31`. */
  readonly exclude?: readonly string[] | null | undefined;
  /** The names of calendars whose times have no slots. */
  readonly calendars?: readonly string[] | null | undefined;
}

/** Parses a timing, of which either the interval or cron has to be given. */
export function parseTiming(
  input: WrittenTiming,
  options: ParseTimingOptions,
): TimingOutcome {
  const interval = input.interval ?? undefined;
  const cron = input.cron ?? undefined;
  if ((interval === undefined) === (cron === undefined)) {
    const state = cron === undefined ? "it has neither of" : "it has both";
    const reason = `Cannot read repetition: ${state} "interval" and "cron"`;
    return { kind: "invalid", code: "invalid", reason };
  }
  const outcome = cron === undefined
    ? parseInterval(interval)
    : parseCronTiming({ cron, dialect: input.dialect ?? "cron" }, options);
  if (outcome.kind === "invalid") return outcome;
  const days = (input.exclude ?? []).flatMap((date) => parseDay(date) ?? []);
  const timing = days.length === 0
    ? outcome.timing
    : { ...outcome.timing, closed: [closedDays(days)] };
  return {
    kind: "ok",
    timing: withCalendars(timing, input.calendars ?? [], options.calendars),
  };
}

/** A timing that has no slots at the times of some calendars, either. */
export function withCalendars(
  timing: Timing,
  names: readonly string[],
  calendars: Calendars = NO_CALENDARS,
): Timing {
  const found = names.flatMap((name) => calendars.get(name) ?? []);
  return found.length === 0
    ? timing
    : { ...timing, closed: [...timing.closed ?? [], ...found] };
}

/** The closed times of a timing; undefined when it has none. */
export function createClosures(
  { closed }: Timing,
  { timezone }: Pick<Grid, "timezone">,
): Closures | undefined {
  return closed && new Closures(closed, timezone);
}

/**
 * The first occurrence after an instant, if there is one up to the year 9999.
 */
export function occurrenceAfter(
  timing: Timing,
  afterMs: number,
  grid: Grid,
): number | undefined {
  const find = (afterMs: number) => findOccurrence(timing, afterMs, grid);
  const closures = createClosures(timing, grid);
  return closures === undefined
    ? find(afterMs)
    : closures.firstOpen(afterMs, find);
}

/**
 * The first occurrence after an instant, whether it is closed or not; see
 * {@linkcode occurrenceAfter}.
 */
export function findOccurrence(
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
 * The last occurrence in a span, found by arithmetic; undefined when the span
 * has no occurrence.
 */
export function lastOccurrence(
  timing: Timing,
  span: Span,
  grid: Grid,
): number | undefined {
  const find = (span: Span) => findLast(timing, span, grid);
  const closures = createClosures(timing, grid);
  return closures === undefined ? find(span) : closures.lastOpen(span, find);
}

function findLast(timing: Timing, span: Span, grid: Grid): number | undefined {
  if (timing.kind === "cron") {
    const afterMs = Math.max(span.afterMs, grid.anchorMs - 1);
    const throughMs = Math.min(span.throughMs, MAX_INSTANT_MS);
    return lastCron(timing.cron, { afterMs, throughMs }, grid.timezone);
  }
  const firstMs = findOccurrence(timing, span.afterMs, grid);
  if (firstMs === undefined || firstMs > span.throughMs) return undefined;
  const { index } = intervalAfter(timing.every, span.throughMs, grid);
  return intervalOccurrence(timing.every, index - 1, grid).atMs;
}

/**
 * Counts the occurrences in a span, by arithmetic however long the span is; see
 * {@linkcode countCron} for spans of more than 400 years.
 */
export function countOccurrences(
  timing: Timing,
  span: Span,
  grid: Grid,
): number {
  const count = (span: Span) => countSlots(timing, span, grid);
  const closures = createClosures(timing, grid);
  return closures === undefined ? count(span) : closures.countOpen(span, count);
}

function countSlots(timing: Timing, span: Span, grid: Grid): number {
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
    return invalidInterval("Cannot repeat: the interval is empty");
  }
  return { kind: "ok", timing: { kind: "interval", every: outcome.duration } };
}

function parseCronTiming(
  { cron: input, dialect }: {
    readonly cron: unknown;
    readonly dialect: CronDialect;
  },
  options: ParseTimingOptions,
): TimingOutcome {
  const outcome = parseCron(input, dialect);
  if (outcome.kind === "invalid") return { ...outcome, field: "cron" };
  const { cron } = outcome;
  if (cronAfter(cron, options.afterMs, options.timezone) === undefined) {
    return {
      kind: "invalid",
      field: "cron",
      code: "never_fires",
      reason: `Cannot use cron "${cron.text}": ` +
        (cron.endWallMs === Infinity
          ? `the clocks of "${options.timezone}" skip every time that matches`
          : "its years have passed"),
    };
  }
  return { kind: "ok", timing: { kind: "cron", cron } };
}

function invalidInterval(reason: string): TimingOutcome {
  return { kind: "invalid", field: "interval", code: "invalid", reason };
}

/** One occurrence of an interval. */
interface IntervalOccurrence {
  /** How many intervals after the anchor. */
  readonly index: number;
  /** The instant of the occurrence, in milliseconds since the epoch. */
  readonly atMs: number;
  /**
   * Whether the wall clock skips the time, so that it was moved to after the
   * gap.
   */
  readonly isGapMoved: boolean;
  /** Whether the wall clock shows the time twice; the first time is meant. */
  readonly isOverlap: boolean;
  /**
   * Whether the month lacks the anchor's day, so that its last day was taken.
   */
  readonly isMonthShort: boolean;
}

/**
 * Computes the occurrence with an index: the anchor plus that many intervals.
 * Each occurrence is counted from the anchor, never from the one before it, so
 * a month that is too short moves its own occurrence alone and nothing drifts.
 *
 * Months are added first (a day that the month lacks becomes its last one),
 * then days, both on the wall clock of the grid's zone; then the exact part as
 * elapsed time. A wall time that the clock skips moves on by the length of the
 * gap, and of one that it shows twice, the first is taken.
 */
export function intervalOccurrence(
  every: Duration,
  index: number,
  grid: Grid,
): IntervalOccurrence {
  // Elapsed time is the same on every date.
  if (index === 0 || every.months === 0 && every.days === 0) {
    return {
      index,
      atMs: grid.anchorMs + every.ms * index,
      isGapMoved: false,
      isOverlap: false,
      isMonthShort: false,
    };
  }
  const anchorWallMs = grid.anchorMs + offsetMsAt(grid.anchorMs, grid.timezone);
  const start = Temporal.Instant.fromEpochMilliseconds(anchorWallMs)
    .toZonedDateTimeISO("UTC");
  const month = start.add({ months: every.months * index });
  const date = month.add({ days: every.days * index });
  const reading = readWall(date.epochMilliseconds, grid.timezone);
  const dateMs = reading.kind === "gap" ? reading.shiftedMs : reading.atMs;
  return {
    index,
    atMs: dateMs + every.ms * index,
    isGapMoved: reading.kind === "gap",
    isOverlap: reading.kind === "overlap",
    isMonthShort: month.day !== start.day,
  };
}

/**
 * The first occurrence after an instant. However far the instant is from the
 * anchor, at most a handful of occurrences are computed: the index is estimated
 * from the interval's usual length, and calendar and clock changes make that
 * wrong by no more than about four days in all.
 *
 * @param every an interval longer than zero
 */
export function intervalAfter(
  every: Duration,
  afterMs: number,
  grid: Grid,
): IntervalOccurrence {
  const estimate = Math.floor((afterMs - grid.anchorMs) / nominalMs(every)) + 1;
  let next = intervalOccurrence(every, Math.max(0, estimate), grid);
  while (next.atMs <= afterMs) {
    next = intervalOccurrence(every, next.index + 1, grid);
  }
  while (next.index > 0) {
    const previous = intervalOccurrence(every, next.index - 1, grid);
    if (previous.atMs <= afterMs) break;
    next = previous;
  }
  return next;
}

/** A timing with its limits. */
export interface Schedule {
  /** What makes the task repeat. */
  readonly timing: Timing;
  /** The last instant at which a run may be due; no end when absent. */
  readonly untilMs?: number | undefined;
  /** The most runs after the first one; no limit when absent. */
  readonly limit?: number | undefined;
}

/** What a schedule needs to know to compute its occurrences. */
export interface ScheduleFrame extends Grid {
  /**
   * The number of runs that the task has had, including the first. Missed slots
   * are not runs.
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
 * The next time the task is due, in milliseconds since the epoch; undefined
 * when its limit or its end is reached, or when nothing matches from then on.
 * An interval is first due at the anchor, a cron expression at its first match
 * at or after the anchor.
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
 * The shortest time between two occurrences in milliseconds, apart from clock
 * changes. For a cron expression it is computed as if every day matched.
 */
export function shortestSpacingMs(timing: Timing): number {
  return timing.kind === "interval"
    ? intervalSpacingMs(timing.every)
    : cronSpacing(timing.cron) * 1_000;
}

function intervalSpacingMs(every: Duration): number {
  return (every.months * SHORTEST_MONTH_DAYS + every.days) * DAY_MS + every.ms;
}

/** The shortest time between two matches, in seconds. */
function cronSpacing({ times }: CronExpression): number {
  const hours = smallestStep(times.hours, 24);
  const minutes = smallestStep(times.minutes, hours * 60);
  return smallestStep(times.seconds, minutes * 60);
}

/**
 * The smallest distance between neighbours, including that from the last value
 * to the first one of the next period.
 *
 * @param values in rising order
 *
 * @param period the shortest time after which the values repeat
 */
function smallestStep(values: readonly number[], period: number): number {
  const first = values[0] ?? 0;
  return values.reduce((smallest, value, index) => {
    const next = values[index + 1] ?? first + period;
    return Math.min(smallest, next - value);
  }, period);
}
