/**
 * Recurrence rules of iCalendar (RFC 5545, 3.3.10) that repeat by years or by
 * weeks, as those of holidays do, and the days on which they fall.
 *
 * @module
 */

import { DAY_MS } from "../../shared/duration.ts";
import { quote } from "../../shared/quote.ts";
import { daysOfMonth } from "./instant.ts";

/** The weekdays of a rule. */
const WEEKDAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

/** The weekday of the epoch, a Thursday. */
const EPOCH_WEEKDAY = 4;

/** A weekday of a rule. */
interface RuleWeekday {
  /** Sunday is 0. */
  readonly weekday: number;
  /** Which one of the month, from its end when negative; 0 for each. */
  readonly nth: number;
}

/** A recurrence rule. */
export interface RecurrenceRule {
  /** What it repeats by. */
  readonly frequency: "YEARLY" | "WEEKLY";
  /** How many years or weeks apart. */
  readonly interval: number;
  /** How many times in all, the first one included; no bound when absent. */
  readonly count?: number | undefined;
  /** The last time, as it is written. */
  readonly until?: string | undefined;
  /** The months, from 1. */
  readonly months?: readonly number[] | undefined;
  /** The days of the month, from its end when negative. */
  readonly monthDays?: readonly number[] | undefined;
  /** The days of the week. */
  readonly weekdays?: readonly RuleWeekday[] | undefined;
  /** The weekday that weeks begin with; Sunday is 0. */
  readonly weekStart: number;
}

/** The outcome of reading a rule. */
type RuleOutcome =
  | { readonly kind: "ok"; readonly rule: RecurrenceRule }
  | {
    readonly kind: "invalid";
    /** What is wrong, as the end of a message for the client. */
    readonly state: string;
  };

type Part = (value: string) => Partial<RecurrenceRule> | undefined;

/** The parts of a rule that are read. */
const PARTS: Readonly<Record<string, Part>> = {
  FREQ: (value) =>
    value === "YEARLY" || value === "WEEKLY" ? { frequency: value } : undefined,
  INTERVAL: (value) => given("interval", parseWhole(value, 1, 1_000)),
  COUNT: (value) => given("count", parseWhole(value, 1, 1_000_000)),
  UNTIL: (value) => ({ until: value }),
  BYMONTH: (value) =>
    given("months", parseList(value, (item) => parseWhole(item, 1, 12))),
  BYMONTHDAY: (value) =>
    given("monthDays", parseList(value, (item) => parseWhole(item, -31, 31))),
  BYDAY: (value) => given("weekdays", parseList(value, parseWeekday)),
  WKST: (value) => given("weekStart", parseWeekday(value)?.weekday),
};

function given<Name extends keyof RecurrenceRule>(
  name: Name,
  value: RecurrenceRule[Name] | undefined,
): Partial<RecurrenceRule> | undefined {
  return value === undefined ? undefined : { [name]: value };
}

function parseWhole(
  text: string,
  min: number,
  max: number,
): number | undefined {
  const value = /^[+-]?\d{1,7}$/.test(text) ? Number(text) : 0;
  return value !== 0 && value >= min && value <= max ? value : undefined;
}

/** The most items of a part, which are days of a month. */
const MAX_ITEMS = 31;

function parseList<Item>(
  text: string,
  read: (item: string) => Item | undefined,
): readonly Item[] | undefined {
  const texts = text.split(",");
  const items = texts.flatMap((item) => read(item) ?? []);
  const isWhole = items.length === texts.length && items.length <= MAX_ITEMS;
  return isWhole ? items : undefined;
}

function parseWeekday(text: string): RuleWeekday | undefined {
  const [, nth = "0", name = ""] = /^([+-]?[1-5])?([A-Z]{2})$/.exec(text) ?? [];
  const weekday = WEEKDAYS.indexOf(name);
  return weekday === -1 ? undefined : { weekday, nth: Number(nth) };
}

/** Reads the value of an `RRULE` property. */
export function parseRule(text: string): RuleOutcome {
  let rule: Partial<RecurrenceRule> = {};
  for (const part of text.toUpperCase().split(";")) {
    const [name = "", value = ""] = part.split("=", 2);
    const read = Object.hasOwn(PARTS, name) ? PARTS[name]?.(value) : undefined;
    if (read === undefined) {
      const state = `${quote(part, { maxChars: 40 })} of a rule cannot be ` +
        "read, which may have FREQ (YEARLY or WEEKLY), INTERVAL, COUNT, " +
        "UNTIL, BYMONTH, BYMONTHDAY, BYDAY and WKST";
      return { kind: "invalid", state };
    }
    rule = { ...rule, ...read };
  }
  const { frequency, interval = 1, weekStart = 1 } = rule;
  if (frequency === undefined) {
    return { kind: "invalid", state: "the rule has no FREQ" };
  }
  const whole = { ...rule, frequency, interval, weekStart };
  const state = findConflict(whole);
  return state === undefined
    ? { kind: "ok", rule: whole }
    : { kind: "invalid", state };
}

/** Parts that do not go together; undefined when all do. */
function findConflict(rule: RecurrenceRule): string | undefined {
  const { frequency, months, monthDays, weekdays = [] } = rule;
  const hasNth = weekdays.some(({ nth }) => nth !== 0);
  if (frequency === "WEEKLY") {
    return months !== undefined || monthDays !== undefined || hasNth
      ? "a weekly rule has neither months nor days of a month"
      : undefined;
  }
  return weekdays.length > 0 && months === undefined
    ? "a yearly rule with BYDAY needs BYMONTH"
    : undefined;
}

/** Where a rule begins and how far it is followed. */
interface DaysOptions {
  /** The day of the first time, as days since the epoch. */
  readonly firstDay: number;
  /** The day that no time may reach. */
  readonly endDay: number;
  /**
   * The days that no one asks for: without a count, the rule is followed from
   * this day on.
   */
  readonly sinceDay: number;
}

/**
 * The days on which a rule falls, rising, without the day it begins with; that
 * one always counts. It also yields undefined for each step in which it finds
 * none, so that the reader can bound its work.
 */
export function* daysOfRule(
  rule: RecurrenceRule,
  options: DaysOptions,
): Generator<number | undefined> {
  const { firstDay, endDay } = options;
  let left = (rule.count ?? Infinity) - 1;
  for (const days of listPeriods(rule, options)) {
    yield undefined;
    for (const day of days) {
      if (day >= endDay || left <= 0) return;
      if (day <= firstDay) continue;
      left--;
      yield day;
    }
    if (left <= 0) return;
  }
}

/** The matching days of each week or month, from the first one on. */
function* listPeriods(
  rule: RecurrenceRule,
  { firstDay, endDay, sinceDay }: DaysOptions,
): Generator<readonly number[]> {
  // Without a count nothing depends on what was long ago.
  const fromDay = rule.count === undefined
    ? Math.max(firstDay, sinceDay)
    : firstDay;
  const { frequency, interval, weekStart } = rule;
  const stepsBefore = (steps: number): number =>
    Math.floor(steps / interval) * interval;
  if (frequency === "WEEKLY") {
    const { weekdays = [{ weekday: weekdayAt(firstDay) }] } = rule;
    const offsets = rising(
      weekdays.map(({ weekday }) => (weekday - weekStart + 7) % 7),
    );
    const firstWeek = firstDay - (weekdayAt(firstDay) - weekStart + 7) % 7;
    const skipped = stepsBefore((fromDay - firstWeek) / 7);
    let week = firstWeek + 7 * skipped;
    for (; week < endDay; week += 7 * interval) {
      yield offsets.map((offset) => week + offset);
    }
    return;
  }
  const { year: firstYear, month, date } = toDate(firstDay);
  const { months, monthDays, weekdays } = rule;
  const isPlain = monthDays === undefined && weekdays === undefined;
  const pattern = { monthDays: isPlain ? [date] : monthDays, weekdays };
  const inMonths = rising(months ?? (isPlain ? [month] : TWELVE_MONTHS));
  let year = firstYear + stepsBefore(toDate(fromDay).year - firstYear);
  for (; year <= toDate(endDay).year; year += interval) {
    for (const month of inMonths) yield daysOfMonthIn(pattern, { year, month });
  }
}

function daysOfMonthIn(
  { monthDays, weekdays }: Pick<RecurrenceRule, "monthDays" | "weekdays">,
  { year, month }: { readonly year: number; readonly month: number },
): readonly number[] {
  const length = daysOfMonth(year, month);
  const firstDay = new Date(0).setUTCFullYear(year, month - 1, 1) / DAY_MS;
  const days: number[] = [];
  for (let date = 1; date <= length; date++) {
    const day = firstDay + date - 1;
    const isDate = monthDays?.some((wanted) =>
      wanted === date || wanted === date - length - 1
    ) ?? true;
    const isWeekday = weekdays?.some(({ weekday, nth }) =>
      weekday === weekdayAt(day) &&
      (nth === 0 || nth === Math.ceil(date / 7) ||
        -nth === Math.ceil((length - date + 1) / 7))
    ) ?? true;
    if (isDate && isWeekday) {
      days.push(day);
    }
  }
  return days;
}

function rising(values: readonly number[]): readonly number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

function toDate(day: number): {
  readonly year: number;
  readonly month: number;
  readonly date: number;
} {
  const at = new Date(day * DAY_MS);
  const month = at.getUTCMonth() + 1;
  return { year: at.getUTCFullYear(), month, date: at.getUTCDate() };
}

const TWELVE_MONTHS = Array.from({ length: 12 }, (_, index) => index + 1);

function weekdayAt(day: number): number {
  return ((day + EPOCH_WEEKDAY) % 7 + 7) % 7;
}
