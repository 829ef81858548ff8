/**
 * Parses and formats instants as text (RFC 3339), and parses the time ranges
 * that `start` and `end` of a list stand for.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { ParameterProblem } from "../../shared/schema/fault.ts";
import { DAY_MS } from "../../shared/duration.ts";
import { parseTimeZone, readWall } from "./time_zone.ts";

/** The outcome of reading an instant. */
type InstantOutcome =
  | {
    readonly kind: "ok";
    /** Milliseconds since the epoch; digits beyond milliseconds are cut off. */
    readonly atMs: number;
    /** Digits of the fraction of a second as they were written. */
    readonly fractionDigits: number;
    /** Whether the fraction had anything beyond milliseconds. */
    readonly isCut: boolean;
  }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/**
 * The last instant of the year 9999, the latest that RFC 3339 can express.
 * Nothing is due after it.
 */
export const MAX_INSTANT_MS = 253_402_300_799_999;

/** A time without a zone, which is the most frequent mistake of clients. */
const ZONELESS = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?$/;

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days of a month, 1 to 12, in the Gregorian calendar; 0 for no month. */
export function daysOfMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : DAYS[month - 1] ?? 0;
}

/**
 * Milliseconds since the epoch at the beginning of a day in UTC. A month 13 is
 * January of the next year, and a day after the last one is the first of the
 * next month.
 */
function dayMs(year: number, month: number, day: number): number {
  // Date.UTC() takes years below 100 for those of the last century.
  return year >= 100
    ? Date.UTC(year, month - 1, day)
    : new Date(0).setUTCFullYear(year, month - 1, day);
}

/**
 * The day of a date such as `2030-01-31`, counted from the epoch; undefined when
 * the text is no date of the calendar.
 */
export function parseDay(text: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  const [year = 0, month = 0, day = 0] = match?.slice(1).map(Number) ?? [];
  return day < 1 || day > daysOfMonth(year, month)
    ? undefined
    : dayMs(year, month, day) / DAY_MS;
}

/**
 * RFC 3339 with a zone. A space before the offset was a plus sign in a query.
 */
const INSTANT =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+\- ])(\d\d):(\d\d))$/;

/**
 * Parses an instant with its zone, which may be an offset (RFC 3339, 5.6). `T`
 * and `Z` may have any case, and a space may stand for `T`. The second 60 is
 * refused, since milliseconds since the epoch cannot express it.
 */
export function parseInstant(input: string): InstantOutcome {
  const match = INSTANT.exec(input);
  if (match === null) return invalid(input, describeForm(input));
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7).map(Number);
  const [fraction = "", sign, offsetHours = "0", offsetMinutes = "0"] = match
    .slice(7);
  if (day < 1 || day > daysOfMonth(year, month)) {
    return invalid(input, "the calendar has no such day");
  }
  const isClock = hour <= 23 && minute <= 59 && second <= 59 &&
    Number(offsetHours) <= 23 && Number(offsetMinutes) <= 59;
  if (!isClock) return invalid(input, "the clock has no such time");
  const offset = Number(offsetHours) * 60 + Number(offsetMinutes);
  const minutes = hour * 60 + minute + (sign === "-" ? offset : -offset);
  return {
    kind: "ok",
    atMs: dayMs(year, month, day) + minutes * 60_000 + second * 1_000 +
      Number(fraction.slice(0, 3).padEnd(3, "0")),
    fractionDigits: fraction.length,
    isCut: /[1-9]/.test(fraction.slice(3)),
  };
}

function describeForm(input: string): string {
  return ZONELESS.test(input)
    ? 'it has no zone; add "Z" for UTC or an offset such as "+02:00"'
    : "it is not of the form 2030-01-31T08:30:00Z (RFC 3339)";
}

function invalid(
  input: string,
  state: string,
): Extract<InstantOutcome, { readonly kind: "invalid" }> {
  const shown = quote(input, { maxChars: 64 });
  return { kind: "invalid", reason: `Cannot read time ${shown}: ${state}` };
}

/** The span of instants that a written year, month, day or time stands for. */
interface Period {
  readonly kind: "ok";
  /** The first instant of the period. */
  readonly firstMs: number;
  /**
   * The last instant of the period. It is before the first one when the zone
   * has no such day (a few islands have skipped one).
   */
  readonly lastMs: number;
}

/** The outcome of reading a written time. */
type PeriodOutcome =
  | Period
  | Extract<InstantOutcome, { readonly kind: "invalid" }>;

const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/;

/**
 * Reads a year, a month or a day of a zone's calendar, or an RFC 3339 time with
 * a zone of its own, down to milliseconds.
 */
function parsePeriod(input: string, timezone: string): PeriodOutcome {
  const match = DATE.exec(input);
  if (match === null) return instantPeriod(input);
  const year = Number(match[1]);
  const month = Number(match[2] ?? 1);
  const day = Number(match[3] ?? 1);
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) {
    const missing = match[3] === undefined ? "month" : "day";
    return invalid(input, `the calendar has no such ${missing}`);
  }
  const next = match[2] === undefined
    ? dayMs(year + 1, 1, 1)
    : match[3] === undefined
    ? dayMs(year, month + 1, 1)
    : dayMs(year, month, day + 1);
  return {
    kind: "ok",
    firstMs: findStart(dayMs(year, month, day), timezone),
    lastMs: findStart(next, timezone) - 1,
  };
}

function instantPeriod(input: string): PeriodOutcome {
  const outcome = parseInstant(input);
  if (outcome.kind === "invalid") {
    const isTime = /[Tt ]\d\d:/.test(input);
    return isTime ? outcome : invalid(
      input,
      "it is none of YYYY, YYYY-MM, YYYY-MM-DD and RFC 3339 with a zone",
    );
  }
  if (outcome.fractionDigits > 3) {
    return invalid(input, "milliseconds are the smallest unit");
  }
  const lengthMs = 10 ** (3 - outcome.fractionDigits);
  return {
    kind: "ok",
    firstMs: outcome.atMs,
    lastMs: outcome.atMs + lengthMs - 1,
  };
}

/**
 * The first instant at which the zone's clock shows a wall time or a later one.
 */
function findStart(wallMs: number, timezone: string): number {
  if (timezone === "UTC") return wallMs;
  const reading = readWall(wallMs, timezone);
  return reading.kind === "gap" ? reading.endMs : reading.atMs;
}

/** A range of instants; empty when its end is before its beginning. */
interface InstantRange {
  /** The first instant of the range; undefined means no lower bound. */
  readonly fromMs: number | undefined;
  /** The last instant of the range; undefined means no upper bound. */
  readonly toMs: number | undefined;
}

/** The outcome of reading a range. */
type InstantRangeOutcome =
  | { readonly kind: "ok"; readonly value: InstantRange }
  | {
    readonly kind: "invalid";
    /** All that is wrong, at least one thing. */
    readonly problems: readonly ParameterProblem[];
  };

/**
 * Parses a range. Both ends are inclusive at the precision they are written in:
 * `start=2016&end=2017` is all of both years. An end before the start is
 * refused, and an end or start that is not given is open. `tz` is the zone
 * whose calendar the years, months and days are of, UTC when absent.
 */
export function parseInstantRange(
  input: Partial<Readonly<Record<"start" | "end" | "tz", string>>>,
): InstantRangeOutcome {
  const problems: ParameterProblem[] = [];
  const timezone = readZone(input.tz, problems);
  const read = (parameter: "start" | "end"): Period | undefined => {
    const text = input[parameter];
    if (text === undefined) return undefined;
    const outcome = parsePeriod(text, timezone);
    if (outcome.kind === "ok") return outcome;
    problems.push({ parameter, code: "bad_time", reason: outcome.reason });
    return undefined;
  };
  const start = read("start");
  const end = read("end");
  if (
    start !== undefined && end !== undefined &&
    // A day that the zone skipped begins and ends where the next day begins.
    end.lastMs < start.firstMs && end.firstMs < start.firstMs
  ) {
    problems.push({
      parameter: "end",
      code: "end_before_start",
      reason: "Cannot read range: its end is before its start",
    });
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  return {
    kind: "ok",
    value: { fromMs: start?.firstMs, toMs: end?.lastMs },
  };
}

/**
 * The zone of `tz`; also UTC when `tz` cannot be read, so that parsing goes on
 * and finds the other problems.
 */
function readZone(
  tz: string | undefined,
  problems: ParameterProblem[],
): string {
  if (tz === undefined) return "UTC";
  const outcome = parseTimeZone(tz);
  if (outcome.kind === "ok") return outcome.value;
  const { code, reason } = outcome;
  problems.push({ parameter: "tz", code, reason });
  return "UTC";
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Days of 400 years of the Gregorian calendar, after which it repeats. */
const CYCLE_DAYS = 146_097;
/** Days from the first of March of the year 0 to the epoch. */
const EPOCH_DAY = 719_468;

/** Numbers of two digits. */
const PAIRS: readonly string[] = Array.from(
  { length: 100 },
  (_, number) => String(number).padStart(2, "0"),
);

/**
 * Writes an instant in RFC 3339, in UTC with milliseconds, as
 * `Date.prototype.toISOString()` does, and several times faster: a page of
 * tasks holds thousands of them.
 *
 * @param ms Whole milliseconds since the epoch.
 * @throws {RangeError} when no date has that number
 */
export function utcTime(ms: number): string {
  // Years before 1970 and of more than four digits are rare and left to dates.
  if (!(ms >= 0 && ms < MAX_INSTANT_MS + 1)) return new Date(ms).toISOString();
  const whole = Math.floor(ms);
  const days = Math.floor(whole / DAY_MS);
  const inDay = whole - days * DAY_MS;
  const hour = Math.floor(inDay / HOUR_MS);
  const minute = Math.floor(inDay % HOUR_MS / MINUTE_MS);
  const inMinute = inDay % MINUTE_MS;
  const second = Math.floor(inMinute / 1_000);
  const milli = inMinute - second * 1_000;
  const hundreds = Math.floor(milli / 100);
  return `${formatDate(days)}T${PAIRS[hour]}:${PAIRS[minute]}:${
    PAIRS[second]
  }.` +
    `${hundreds}${PAIRS[milli - hundreds * 100]}Z`;
}

/** Writes an instant that may be missing; see {@linkcode utcTime}. */
export function optionalTime(ms: number | undefined): string | null {
  return ms === undefined ? null : utcTime(ms);
}

/**
 * The date of a day since the epoch. The years are counted from March on, so
 * that the leap day is the last of its year and months have a regular length.
 */
function formatDate(epochDay: number): string {
  const day = epochDay + EPOCH_DAY;
  const cycle = Math.floor(day / CYCLE_DAYS);
  const inCycle = day - cycle * CYCLE_DAYS;
  const year = Math.floor(
    (inCycle - Math.floor(inCycle / 1_460) + Math.floor(inCycle / 36_524) -
      Math.floor(inCycle / (CYCLE_DAYS - 1))) / 365,
  );
  const inYear = inCycle -
    (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * inYear + 2) / 153);
  const dayOfMonth = inYear - Math.floor((153 * month + 2) / 5) + 1;
  const isNextYear = month > 9;
  const fullYear = cycle * 400 + year + (isNextYear ? 1 : 0);
  const century = Math.floor(fullYear / 100);
  return `${PAIRS[century]}${PAIRS[fullYear - century * 100]}-` +
    `${PAIRS[isNextYear ? month - 9 : month + 3]}-${PAIRS[dayOfMonth]}`;
}
