/**
 * Finds the days that a cron expression matches by arithmetic, which is a
 * thousand times as fast as trying one day after the other.
 *
 * @module
 */

import { DAY_MS } from "../../shared/duration.ts";

/** The parts of a cron expression that select days. */
export interface DayPattern {
  /** 1 for each day of the month that matches, the first day at 0. */
  readonly day: readonly number[];
  /** 1 for each month that matches, January at 0. */
  readonly month: readonly number[];
  /**
   * Bits for each day of the week, Sunday at 0: which of its occurrences in the
   * month match, the first one in the lowest bit, and
   * {@linkcode LAST_OF_MONTH}.
   */
  readonly dayOfWeek: readonly number[];
  /** Whether the last day of the month matches. */
  readonly lastDayOfMonth: boolean;
  /** Whether the last weekday of the month matches. */
  readonly lastWeekday: boolean;
  /** 1 for each day whose nearest weekday matches, the first day at 0. */
  readonly nearestWeekdays: readonly number[];
  /** Whether any day of the month will do. */
  readonly starDOM: boolean;
  /** Whether any day of the week will do. */
  readonly starDOW: boolean;
  /**
   * Whether both the day of the month and the day of the week have to match
   * when both are restricted; otherwise either has to.
   */
  readonly useAndLogic: boolean;
  /**
   * The day that is so many days before the last one of the month matches, or
   * the weekday nearest to that day.
   *
   * @default none
   */
  readonly beforeLast?: {
    /** How many days before the last one. */
    readonly days: number;
    /** Whether the weekday nearest to it is meant. */
    readonly isWeekday: boolean;
  } | undefined;
  /**
   * The years that match.
   *
   * @default all
   */
  readonly years?: ReadonlySet<number> | undefined;
}

/** A range of days, each given as days since the epoch. */
interface DaySpan {
  /** The first day. */
  readonly fromDay: number;
  /** The day after the last one. */
  readonly toDay: number;
}

/**
 * The bit of a day of the week that stands for its last occurrence in the
 * month.
 */
export const LAST_OF_MONTH = 32;
/** The weekday of the epoch, which was a Thursday (Sunday is 0). */
const EPOCH_WEEKDAY = 4;

/** Years of each kind: with and without a leap day, by their first weekday. */
const KIND_YEARS = { from: 2001, to: 2029 };

/** The days that an expression matches. */
export class CronDays {
  readonly #pattern: DayPattern;
  /**
   * Bits of the matching days, the lowest bit for the first day, by kind of
   * month: months of the same name, length and weekday of the first day are of
   * one kind.
   */
  readonly #kinds = new Map<number, number>();

  /** Takes the pattern whose days are searched. */
  constructor(pattern: DayPattern) {
    this.#pattern = pattern;
  }

  /** Tells whether a day matches, given as days since the epoch. */
  has(day: number): boolean {
    return this.count({ fromDay: day, toDay: day + 1 }) === 1;
  }

  /** How many days of a span match. */
  count(span: DaySpan): number {
    let count = 0;
    let month = toMonth(span.fromDay);
    while (month.firstDay < span.toDay) {
      count += ones(this.#computeDayBits(month, span));
      month = monthAt(month.year, month.index + 1);
    }
    return count;
  }

  /** The first day of a span that matches; undefined when none does. */
  first(span: DaySpan): number | undefined {
    let month = toMonth(span.fromDay);
    while (month.firstDay < span.toDay) {
      const bits = this.#computeDayBits(month, span);
      if (bits !== 0) return month.firstDay + 31 - Math.clz32(bits & -bits);
      month = monthAt(month.year, month.index + 1);
    }
    return undefined;
  }

  /** The last day of a span that matches; undefined when none does. */
  last(span: DaySpan): number | undefined {
    let month = toMonth(span.toDay - 1);
    while (month.firstDay + month.length > span.fromDay) {
      const bits = this.#computeDayBits(month, span);
      if (bits !== 0) return month.firstDay + 31 - Math.clz32(bits);
      month = monthAt(month.year, month.index - 1);
    }
    return undefined;
  }

  /** Tells whether the same days match as of another, years aside. */
  isSame(other: CronDays): boolean {
    for (let year = KIND_YEARS.from; year < KIND_YEARS.to; year++) {
      for (let index = 0; index < 12; index++) {
        const month = monthAt(year, index);
        if (this.#computeMonthBits(month) !== other.#computeMonthBits(month)) {
          return false;
        }
      }
    }
    return true;
  }

  /** The matching days of a month that are in a span. */
  #computeDayBits(month: Month, { fromDay, toDay }: DaySpan): number {
    const { firstDay } = month;
    return this.#computeMonthBits(month) & below(toDay - firstDay) &
      ~below(fromDay - firstDay);
  }

  #computeMonthBits({ year, index, firstDay, length }: Month): number {
    const { month, years } = this.#pattern;
    if (!month[index] || years !== undefined && !years.has(year)) return 0;
    const kind = (index * 32 + length) * 7 + toWeekday(firstDay);
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known;
    let bits = 0;
    for (let day = 1; day <= length; day++) {
      const isMatch = matches(this.#pattern, { day, length, firstDay });
      if (isMatch) bits |= 1 << (day - 1);
    }
    this.#kinds.set(kind, bits);
    return bits;
  }
}

/** A month of a certain year. */
interface Month {
  readonly year: number;
  /** 0 for January. */
  readonly index: number;
  /** The first day of the month, as days since the epoch. */
  readonly firstDay: number;
  /** The number of days of the month. */
  readonly length: number;
}

function toMonth(day: number): Month {
  const date = new Date(day * DAY_MS);
  return monthAt(date.getUTCFullYear(), date.getUTCMonth());
}

/**
 * @param index 12 stands for January of the next year, -1 for December of the
 * previous year.
 */
function monthAt(year: number, index: number): Month {
  if (index > 11) return monthAt(year + 1, index - 12);
  if (index < 0) return monthAt(year - 1, index + 12);
  const firstDay = Date.UTC(year, index) / DAY_MS;
  const length = Date.UTC(year, index + 1) / DAY_MS - firstDay;
  return { year, index, firstDay, length };
}

interface DayOfMonth {
  /** 1 for the first. */
  readonly day: number;
  /** The number of days of the month. */
  readonly length: number;
  /** The first day of the month, as days since the epoch. */
  readonly firstDay: number;
}

function matches(pattern: DayPattern, date: DayOfMonth): boolean {
  const isDate = matchesDate(pattern, date);
  if (pattern.starDOW) return isDate;
  const isWeekday = matchesWeekday(pattern, date);
  return pattern.useAndLogic || pattern.starDOM
    ? isDate && isWeekday
    : isDate || isWeekday;
}

function matchesDate(pattern: DayPattern, date: DayOfMonth): boolean {
  const { day, length } = date;
  if (pattern.day[day - 1] || pattern.lastDayOfMonth && day === length) {
    return true;
  }
  if (pattern.lastWeekday && day === nearestWeekday(date, length)) return true;
  if (pattern.beforeLast !== undefined) {
    const { days, isWeekday } = pattern.beforeLast;
    const meant = length - days;
    if (meant < 1) return false;
    return day === (isWeekday ? nearestWeekday(date, meant) : meant);
  }
  return pattern.nearestWeekdays.some((flag, index) =>
    flag && index < length && nearestWeekday(date, index + 1) === day
  );
}

/** The weekday next to a day, within its month. */
function nearestWeekday(
  { length, firstDay }: DayOfMonth,
  day: number,
): number {
  switch (toWeekday(firstDay + day - 1)) {
    case 0:
      return day === length ? day - 2 : day + 1;
    case 6:
      return day === 1 ? day + 2 : day - 1;
    default:
      return day;
  }
}

function matchesWeekday(
  { dayOfWeek }: DayPattern,
  { day, length, firstDay }: DayOfMonth,
): boolean {
  const which = dayOfWeek[toWeekday(firstDay + day - 1)] ?? 0;
  const isNth = (which & 1 << Math.floor((day - 1) / 7)) !== 0;
  return isNth || (which & LAST_OF_MONTH) !== 0 && day + 7 > length;
}

/** 0 for a Sunday. */
function toWeekday(day: number): number {
  return ((day + EPOCH_WEEKDAY) % 7 + 7) % 7;
}

/** The bits of the days of a month before the day with the index `days`. */
function below(days: number): number {
  return days >= 31 ? 0x7fff_ffff : days <= 0 ? 0 : (1 << days) - 1;
}

function ones(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}
