/**
 * Parses cron expressions and finds the wall clock times that they match.
 *
 * @module
 */

import { CronPattern } from "croner";
import { quote } from "../../shared/quote.ts";
import { CronDays } from "./cron_days.ts";
import { type CronFields, readQuartz } from "./quartz.ts";
import { DAY_MS } from "../../shared/duration.ts";

/** The times of a day that an expression matches, in their order. */
class CronTimes {
  /** Matching hours, rising. */
  readonly hours: readonly number[];
  /** Matching minutes, rising. */
  readonly minutes: readonly number[];
  /** Matching seconds, rising. */
  readonly seconds: readonly number[];
  /** How many times of a day match. */
  readonly count: number;

  constructor(pattern: Pick<CronFields, "hour" | "minute" | "second">) {
    this.hours = ones(pattern.hour);
    this.minutes = ones(pattern.minute);
    this.seconds = ones(pattern.second);
    this.count = this.hours.length * this.minutes.length * this.seconds.length;
  }

  /** Counts the times that are less than `ms` milliseconds after midnight. */
  before(ms: number): number {
    const second = Math.ceil(ms / 1_000);
    const parts: readonly (readonly [readonly number[], number])[] = [
      [this.hours, Math.floor(second / 3_600)],
      [this.minutes, Math.floor(second / 60) % 60],
      [this.seconds, second % 60],
    ];
    let count = 0;
    let each = this.count;
    for (const [values, value] of parts) {
      each /= values.length;
      count += each * values.filter((other) => other < value).length;
      if (!values.includes(value)) break;
    }
    return count;
  }

  /**
   * The time at an index, in milliseconds after midnight; undefined when the
   * index is out of range.
   */
  at(index: number): number | undefined {
    const { hours, minutes, seconds } = this;
    const minute = Math.floor(index / seconds.length);
    const hour = hours[Math.floor(minute / minutes.length)];
    if (hour === undefined) return undefined;
    const inHour = (minutes[minute % minutes.length] ?? 0) * 60 +
      (seconds[index % seconds.length] ?? 0);
    return (hour * 3_600 + inHour) * 1_000;
  }
}

/**
 * Whose expressions: `cron` for those of crontab, with seconds in front if there
 * are six fields; `quartz` for those of Quartz; `eventbridge` for those of Amazon
 * EventBridge.
 */
export type CronDialect = typeof CRON_DIALECTS[number];

/** All dialects. */
export const CRON_DIALECTS = ["cron", "quartz", "eventbridge"] as const;

/** The outcome of reading a cron expression. */
type CronOutcome =
  | { readonly kind: "ok"; readonly cron: CronExpression }
  | {
    readonly kind: "invalid";
    /** The code of the problem. */
    readonly code: "bad_cron" | "never_fires";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/**
 * The values that each field accepts, in the order of a six-field expression.
 */
const FIELDS = [
  { name: "second", takes: "0-59" },
  { name: "minute", takes: "0-59" },
  { name: "hour", takes: "0-23" },
  { name: "day of the month", takes: "1-31, L, W" },
  { name: "month", takes: "1-12 or JAN-DEC" },
  { name: "day of the week", takes: "0-7 or SUN-SAT, L, #" },
];

/** The longest cron expression, in characters. */
export const MAX_CRON_CHARS = 512;

/**
 * The year 2600. The calendar repeats every 400 years and matches are searched
 * for up to the year 3000, so what matches in none of these years matches in no
 * year.
 */
const LAST_CYCLE_MS = 19_880_899_200_000;

/** The first day after the year 3000, as days since the epoch. */
const END_DAY = 376_565;

/**
 * This `fixedTimeRule` treats lists and ranges of hours as fixed times, too.
 */
const ENGINE_OPTIONS = {
  mode: "5-or-6-parts",
  fixedTimeRule: "no-wildcard",
} as const;

/**
 * A cron expression that matches something. The cron library only parses it.
 * Its matches are found by arithmetic, since the library tries day after day,
 * which takes milliseconds for a date that comes once in decades, and a request
 * may ask for many.
 */
export class CronExpression {
  /** The expression as it was written. */
  readonly text: string;
  /**
   * Whether second, minute and hour have neither `*` nor `?` nor a step. Such
   * an expression means fixed times of the day, any other one means an
   * interval; the two differ at clock changes.
   */
  readonly isFixedTime: boolean;
  /** The times of a day that match. */
  readonly times: CronTimes;
  /** The days that match. */
  readonly days: CronDays;

  /**
   * The wall time after which nothing matches, because of the years of the
   * expression; Infinity when it has none.
   */
  readonly endWallMs: number;

  /**
   * Use {@linkcode parseCron} for what clients write: it explains errors.
   *
   * @param fields what the text means, if its dialect is not that of crontab
   * @throws {Error} When the expression is malformed.
   */
  constructor(
    text: string,
    fields: CronFields = new CronPattern(text, undefined, ENGINE_OPTIONS),
  ) {
    this.text = text;
    this.isFixedTime = fields.isFixedTime;
    this.times = new CronTimes(fields);
    this.days = new CronDays(fields);
    this.endWallMs = fields.years === undefined
      ? Infinity
      : Date.UTC(Math.max(...fields.years) + 1, 0);
  }

  /**
   * The first matching wall time after `wallMs`; undefined when there is none
   * up to the year 3000.
   */
  nextWall(wallMs: number): number | undefined {
    const day = Math.floor(wallMs / DAY_MS);
    const time = this.days.has(day)
      ? this.times.at(this.times.before(wallMs - day * DAY_MS + 1))
      : undefined;
    if (time !== undefined && day < END_DAY) return day * DAY_MS + time;
    const nextDay = this.days.first({ fromDay: day + 1, toDay: END_DAY });
    return toWall(nextDay, this.times.at(0));
  }

  /**
   * The first matching wall time at or after `wallMs`, as {@linkcode nextWall}.
   */
  wallFrom(wallMs: number): number | undefined {
    return this.nextWall(wallMs - 1);
  }

  /**
   * The last matching wall time up to `wallMs` that is not before the day
   * `fromDay`.
   */
  lastWall(wallMs: number, fromDay: number): number | undefined {
    const day = Math.floor(wallMs / DAY_MS);
    const time = this.days.has(day)
      ? this.times.at(this.times.before(wallMs - day * DAY_MS + 1) - 1)
      : undefined;
    if (time !== undefined) return day * DAY_MS + time;
    const lastDay = this.days.last({ fromDay, toDay: day });
    return toWall(lastDay, this.times.at(this.times.count - 1));
  }

  /** How many wall times match from `fromMs` to before `toMs`. */
  countWalls(fromMs: number, toMs: number): number {
    if (fromMs >= toMs) return 0;
    const { days, times } = this;
    const fromDay = Math.floor(fromMs / DAY_MS);
    const lastDay = Math.floor((toMs - 1) / DAY_MS);
    const before = days.has(fromDay)
      ? times.before(fromMs - fromDay * DAY_MS)
      : 0;
    const behind = days.has(lastDay)
      ? times.count - times.before(toMs - lastDay * DAY_MS)
      : 0;
    return days.count({ fromDay, toDay: lastDay + 1 }) * times.count - before -
      behind;
  }
}

function toWall(
  day: number | undefined,
  time: number | undefined,
): number | undefined {
  return day === undefined || time === undefined
    ? undefined
    : day * DAY_MS + time;
}

/**
 * Reads a cron expression: five fields (minute, hour, day of the month, month,
 * day of the week) or six with the second first. Fields take numbers, lists,
 * ranges, `*` and `?`, steps of `*` or of a range, names of months and days in
 * any case, 7 for Sunday; `L` is the last day, `5#L` or `5L` the last Friday,
 * `5#2` the second one, `15W` the weekday next to the 15th, `LW` the last
 * weekday. When both day fields are restricted either may match, or both must
 * with `+` before the day of the week. The nicknames are `@hourly`, `@daily`,
 * `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually`.
 *
 * For the other dialects see {@linkcode readQuartz}.
 */
export function parseCron(
  input: unknown,
  dialect: CronDialect = "cron",
): CronOutcome {
  if (typeof input !== "string") {
    return invalid("bad_cron", "Cannot read cron: it is not text");
  }
  const shown = quote(input, { maxChars: 100 });
  if (input.length > MAX_CRON_CHARS) {
    return invalid(
      "bad_cron",
      `Cannot read cron ${shown}: it has more than ${MAX_CRON_CHARS} characters`,
    );
  }
  const read = readDialect(input, dialect);
  if (read.kind === "invalid") {
    return invalid("bad_cron", `Cannot read cron ${shown}: ${read.state}`);
  }
  const { cron } = read;
  // The years of an expression begin with the epoch.
  const searchMs = cron.endWallMs === Infinity ? LAST_CYCLE_MS : 0;
  if (cron.wallFrom(searchMs) === undefined) {
    return invalid(
      "never_fires",
      `Cannot use cron ${shown}: no day of any year matches`,
    );
  }
  return { kind: "ok", cron };
}

/** An expression, or what is wrong with its text. */
type ReadCron =
  | { readonly kind: "ok"; readonly cron: CronExpression }
  | { readonly kind: "invalid"; readonly state: string };

function readDialect(text: string, dialect: CronDialect): ReadCron {
  if (dialect === "cron") {
    const cron = build(text);
    return cron === undefined
      ? { kind: "invalid", state: fault(text) }
      : { kind: "ok", cron };
  }
  const read = readQuartz(text, dialect);
  return read.kind === "invalid"
    ? read
    : { kind: "ok", cron: new CronExpression(text, read.fields) };
}

function build(text: string): CronExpression | undefined {
  // The library also accepts an ISO 8601 date, for a single run, which is not
  // cron.
  if (text.includes(":")) return undefined;
  try {
    return new CronExpression(text);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/**
 * Says what is wrong with an expression that the library refuses, in our own
 * words.
 */
function fault(text: string): string {
  const fields = split(text);
  if (text.trim().startsWith("@")) {
    return `the nicknames are @hourly, @daily, @midnight, @weekly, @monthly, ` +
      `@yearly and @annually`;
  }
  if (fields.length !== 5 && fields.length !== 6) {
    const hint = fields.length === 7
      ? '; the dialect "quartz" has 7 with years'
      : "";
    return `it has ${fields.length} fields, not 5, or 6 with seconds${hint}`;
  }
  const skipped = FIELDS.length - fields.length;
  for (const [index, value] of fields.entries()) {
    const field = FIELDS[index + skipped];
    if (field === undefined || isGoodField(value, index + skipped)) continue;
    const hint = /^\d+\/\d+$/.test(value)
      ? `; a step follows "*" or a range, except in the dialect "quartz"`
      : "";
    return `the ${field.name} ${quote(value, { maxChars: 40 })} is wrong, ` +
      `it takes ${field.takes}${hint}`;
  }
  return "its fields do not go together";
}

function isGoodField(value: string, position: number): boolean {
  const fields = FIELDS.map((_, index) => index === position ? value : "*");
  return build(fields.join(" ")) !== undefined;
}

function split(text: string): readonly string[] {
  return text.match(/\S+/g) ?? [];
}

function ones(flags: readonly number[]): readonly number[] {
  return flags.flatMap((flag, value) => flag ? [value] : []);
}

function invalid(
  code: "bad_cron" | "never_fires",
  reason: string,
): CronOutcome {
  return { kind: "invalid", code, reason };
}
