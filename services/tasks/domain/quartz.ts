/**
 * Reads cron expressions as Quartz and Amazon EventBridge write them, which
 * look like those of crontab and mean other days: Sunday is 1, not 0.
 *
 * Quartz has six or seven fields: second, minute, hour, day of the month,
 * month, day of the week, year. EventBridge has six, without the second and
 * with the year. One of the two fields of days has to be `?`, and the other one
 * decides. The rules are those of the Quartz manual ("Cron Trigger") and of the
 * EventBridge scheduler's user guide ("Cron-based schedules").
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { type DayPattern, LAST_OF_MONTH } from "./cron_days.ts";

/** The parts of an expression that tell its times of a day and its days. */
export interface CronFields extends DayPattern {
  /** 1 for each hour that matches. */
  readonly hour: readonly number[];
  /** 1 for each minute that matches. */
  readonly minute: readonly number[];
  /** 1 for each second that matches. */
  readonly second: readonly number[];
  /** Whether second, minute and hour have neither a wildcard nor a step. */
  readonly isFixedTime: boolean;
}

/** The outcome of reading an expression. */
type FieldsOutcome =
  | { readonly kind: "ok"; readonly fields: CronFields }
  | {
    readonly kind: "invalid";
    /** What is wrong, to follow "Cannot read cron …:". */
    readonly state: string;
  };

/** What a field takes. */
interface FieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Words for its values, beginning with the smallest one. */
  readonly words: readonly string[];
  /** What it takes, for messages. */
  readonly takes: string;
}

const SECOND = numeric("second", 0, 59);
const MINUTE = numeric("minute", 0, 59);
const HOUR = numeric("hour", 0, 23);
const YEAR = numeric("year", 1970, 2199);
const DATE: FieldRule = {
  ...numeric("day of the month", 1, 31),
  takes: "1-31, ?, L, L-3, 15W",
};
const MONTH: FieldRule = {
  ...numeric("month", 1, 12),
  words: "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" "),
  takes: "1-12 or JAN-DEC",
};
const WEEKDAY: FieldRule = {
  ...numeric("day of the week", 1, 7),
  words: "SUN MON TUE WED THU FRI SAT".split(" "),
  takes: "1-7 or SUN-SAT, where 1 is Sunday, ?, L, 6L, 6#3",
};

function numeric(name: string, min: number, max: number): FieldRule {
  return { name, min, max, words: [], takes: `${min}-${max}` };
}

/**
 * Reads an expression of one of the two. The parentheses that EventBridge has
 * around it, `cron(…)`, may stay.
 */
export function readQuartz(
  text: string,
  dialect: "quartz" | "eventbridge",
): FieldsOutcome {
  const isQuartz = dialect === "quartz";
  const inner = isQuartz ? text : text.replace(/^\s*cron\((.*)\)\s*$/is, "$1");
  const given = inner.toUpperCase().match(/\S+/g) ?? [];
  if (given.length !== 6 && !(isQuartz && given.length === 7)) {
    const wanted = isQuartz
      ? "6, or 7 with years"
      : "6, of which years are one";
    return invalid(`it has ${given.length} fields, not ${wanted}`);
  }
  const [second = "", minute = "", hour = "", date = "", month = "", ...rest] =
    isQuartz ? given : ["0", ...given];
  const [weekday = "", year = "*"] = rest;
  if ((date === "?") === (weekday === "?")) {
    const state = date === "?" ? "both are" : "neither is";
    return invalid(
      'of day of the month and day of the week one has to be "?", and ' + state,
    );
  }
  const seconds = parseFlags(second, SECOND);
  if (seconds === undefined) return wrong(second, SECOND);
  const minutes = parseFlags(minute, MINUTE);
  if (minutes === undefined) return wrong(minute, MINUTE);
  const hours = parseFlags(hour, HOUR);
  if (hours === undefined) return wrong(hour, HOUR);
  const dates = date === "?" ? ANY_DATE : readDate(date);
  if (dates === undefined) return wrong(date, DATE);
  const months = parseFlags(month, MONTH);
  if (months === undefined) return wrong(month, MONTH);
  const weekdays = weekday === "?" ? ANY_WEEKDAY : readWeekday(weekday);
  if (weekdays === undefined) return wrong(weekday, WEEKDAY);
  const years = year === "*" ? undefined : parseValues(year, YEAR);
  if (year !== "*" && years === undefined) return wrong(year, YEAR);
  const fields: CronFields = {
    ...NO_DAYS,
    ...dates,
    ...weekdays,
    second: seconds,
    minute: minutes,
    hour: hours,
    month: months,
    years,
    isFixedTime: !/[*/]/.test(second + minute + hour),
  };
  return { kind: "ok", fields };
}

function invalid(state: string): FieldsOutcome {
  return { kind: "invalid", state };
}

function wrong(text: string, { name, takes }: FieldRule): FieldsOutcome {
  const shown = quote(text, { maxChars: 40 });
  return invalid(`the ${name} ${shown} is wrong, it takes ${takes}`);
}

/** Days of the month that match, or a weekday next to one. */
type Dates = Partial<
  Pick<
    DayPattern,
    | "day"
    | "starDOM"
    | "lastDayOfMonth"
    | "lastWeekday"
    | "nearestWeekdays"
    | "beforeLast"
  >
>;

/** Days of the week that match. */
type Weekdays = Partial<Pick<DayPattern, "dayOfWeek" | "starDOW">>;

const PART =
  /^(?:\*|(?<from>[0-9A-Z]+)(?:-(?<to>[0-9A-Z]+))?)?(?:\/(?<step>[0-9]{1,4}))?$/;

const NO_DAYS = {
  day: flags([], DATE),
  dayOfWeek: flags([], WEEKDAY),
  lastDayOfMonth: false,
  lastWeekday: false,
  nearestWeekdays: flags([], DATE),
  starDOM: false,
  starDOW: false,
  useAndLogic: false,
} as const;
const ANY_DATE: Dates = { day: parseFlags("*", DATE) ?? [], starDOM: true };
const ANY_WEEKDAY: Weekdays = { starDOW: true };

/** `L`, `L-3`, `LW`, `L-3W` and `15W` stand alone. */
function readDate(text: string): Dates | undefined {
  const last = /^L(?:-(\d{1,2}))?(W?)$/.exec(text);
  if (last !== null) {
    const [, before, w] = last;
    const isWeekday = w === "W";
    if (before === undefined) {
      return isWeekday ? { lastWeekday: true } : { lastDayOfMonth: true };
    }
    const days = Number(before);
    return days <= 30 ? { beforeLast: { days, isWeekday } } : undefined;
  }
  const isNearest = /^\d+W$/.test(text);
  const values = parseFlags(isNearest ? text.slice(0, -1) : text, DATE);
  if (values === undefined) return undefined;
  return isNearest ? { nearestWeekdays: values } : { day: values };
}

/** The bits of a day of the week of which each occurrence matches. */
const EACH_WEEK = 0b11111;

/** `L` alone is Saturday; `6L` and `6#3` stand alone. */
function readWeekday(text: string): Weekdays | undefined {
  if (text === "L") return parseWeekdays("7", EACH_WEEK);
  const [, day, which] = /^(\d|[A-Z]{3})(L|#[1-5])$/.exec(text) ?? [];
  if (day === undefined || which === undefined) {
    return parseWeekdays(text, EACH_WEEK);
  }
  const bits = which === "L" ? LAST_OF_MONTH : 1 << Number(which[1]) - 1;
  return parseWeekdays(day, bits);
}

function parseWeekdays(text: string, bits: number): Weekdays | undefined {
  const dayOfWeek = parseFlags(text, WEEKDAY)?.map((flag) => flag * bits);
  return dayOfWeek && { dayOfWeek };
}

/**
 * 1 for each value that matches. Values of fields that count from 1 begin at 0.
 */
function parseFlags(
  text: string,
  rule: FieldRule,
): readonly number[] | undefined {
  const values = parseValues(text, rule);
  return values && flags(values, rule);
}

function flags(
  values: Iterable<number>,
  { min, max }: FieldRule,
): readonly number[] {
  const set = new Set(values);
  return Array.from(
    { length: max - min + 1 },
    (_, index) => set.has(min + index) ? 1 : 0,
  );
}

/**
 * The values that a list of values, ranges and steps has. A range whose end is
 * smaller than its beginning goes on from the smallest value, except of years.
 */
function parseValues(
  text: string,
  rule: FieldRule,
): ReadonlySet<number> | undefined {
  const { min, max } = rule;
  const size = max - min + 1;
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const groups = PART.exec(part)?.groups;
    if (part === "" || groups === undefined) return undefined;
    const { from, to, step = "1" } = groups;
    const first = from === undefined ? min : parseValue(from, rule);
    const isSingle = from !== undefined && groups.step === undefined;
    const last = to !== undefined
      ? parseValue(to, rule)
      : isSingle
      ? first
      : max;
    const by = Number(step);
    if (first === undefined || last === undefined) return undefined;
    if (by < 1 || by > max || rule === YEAR && last < first) return undefined;
    const end = last < first ? last + size : last;
    for (let value = first; value <= end; value += by) {
      values.add(min + (value - min) % size);
    }
  }
  return values;
}

function parseValue(
  text: string,
  { min, max, words }: FieldRule,
): number | undefined {
  const word = words.indexOf(text);
  if (word !== -1) return min + word;
  if (!/^\d{1,4}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}
