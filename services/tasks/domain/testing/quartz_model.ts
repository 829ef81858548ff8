/**
 * Tells which days and times an expression of Quartz means, the slow way: each
 * value of a field is reached by counting, each special day by looking at all
 * days of its month. It shares no code with the reader that it is to check.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";

const MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split(" ");

/** Tells whether a day of the calendar, in UTC, matches an expression. */
export function quartzHasDay(text: string, date: Date): boolean {
  const [, , , dates = "", months = "", weekdays = "", years = "*"] = text
    .split(" ");
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth() + 1;
  return counted(years, { value: year, min: 1970, max: 2199 }) &&
    counted(months, { value: month, min: 1, max: 12, words: MONTHS }) &&
    (dates === "?" || dates === "*" || hasDate(dates, date)) &&
    (weekdays === "?" || weekdays === "*" || hasWeekday(weekdays, date));
}

/** Tells whether a time of a day matches an expression. */
export function quartzHasTime(
  text: string,
  [hour, minute, second]: readonly [number, number, number],
): boolean {
  const [seconds = "", minutes = "", hours = ""] = text.split(" ");
  return counted(hours, { value: hour, min: 0, max: 23 }) &&
    counted(minutes, { value: minute, min: 0, max: 59 }) &&
    counted(seconds, { value: second, min: 0, max: 59 });
}

/** A value that a field may have. */
interface Counting {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly words?: readonly string[];
}

/** Counts from the beginning of each part up to its end, around the maximum. */
function counted(field: string, counting: Counting): boolean {
  const { value, min, max, words = [] } = counting;
  const parseNumber = (word: string): number =>
    words.includes(word) ? words.indexOf(word) + min : Number(word);
  return field.split(",").some((part) => {
    const [range = "", step] = part.split("/");
    const isAll = range === "*" || range === "";
    const [from = "", to] = range.split("-");
    let at = isAll ? min : parseNumber(from);
    const end = isAll || to === undefined && step !== undefined
      ? max
      : parseNumber(to ?? from);
    for (let count = 0;; count++) {
      if (count % Number(step ?? 1) === 0 && at === value) return true;
      if (at === end) return false;
      at = at === max ? min : at + 1;
    }
  });
}

/** All days of the month of a date, as days of the month. */
function listDays(date: Date): readonly number[] {
  const days: number[] = [];
  const month = date.getUTCMonth();
  for (let day = 1; day <= 31; day++) {
    const at = new Date(Date.UTC(date.getUTCFullYear(), month, day));
    if (at.getUTCMonth() === month) days.push(day);
  }
  return days;
}

function toWeekday(date: Date, day: number): number {
  return new Date(
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day),
  ).getUTCDay();
}

/** The day from Monday to Friday, in the month, that is least far from a day. */
function nearestWeekday(date: Date, day: number): number | undefined {
  const days = listDays(date);
  if (!days.includes(day)) return undefined;
  return days
    .filter((one) => toWeekday(date, one) % 6 !== 0)
    .sort((a, b) => Math.abs(a - day) - Math.abs(b - day))[0];
}

function hasDate(field: string, date: Date): boolean {
  const day = date.getUTCDate();
  const last = Math.max(...listDays(date));
  const isWeekday = field.endsWith("W");
  const base = isWeekday ? field.slice(0, -1) : field;
  if (base.startsWith("L")) {
    const meant = last - Number(base.slice(2));
    return day === (isWeekday ? nearestWeekday(date, meant) : meant);
  }
  if (isWeekday) return day === nearestWeekday(date, Number(base));
  return counted(field, { value: day, min: 1, max: 31 });
}

function hasWeekday(field: string, date: Date): boolean {
  const value = date.getUTCDay() + 1;
  const counting = { value, min: 1, max: 7, words: WEEKDAYS };
  if (field === "L") return value === 7;
  const [word = "", nth] = field.split("#");
  const same = listDays(date).filter((day) =>
    toWeekday(date, day) === date.getUTCDay()
  );
  const day = date.getUTCDate();
  if (nth !== undefined) {
    return counted(word, counting) && same[Number(nth) - 1] === day;
  }
  return field.endsWith("L")
    ? counted(field.slice(0, -1), counting) && same.at(-1) === day
    : counted(field, counting);
}

/** Draws an expression of Quartz, with all that the fields may have. */
export function drawQuartz(random: SeededRandom): string {
  const time = (max: number): string => drawValues(random, { min: 0, max });
  const day = (): string => `${1 + random.below(31)}`;
  const weekday = (): string =>
    random.chance(0.5) ? `${1 + random.below(7)}` : random.pick(WEEKDAYS);
  const dates = random.pick([
    "*",
    "L",
    "LW",
    `L-${1 + random.below(30)}`,
    `L-${1 + random.below(30)}W`,
    `${day()}W`,
    drawValues(random, { min: 1, max: 31 }),
    drawValues(random, { min: 1, max: 31 }),
  ]);
  const weekdays = random.pick([
    "L",
    `${weekday()}L`,
    `${weekday()}#${1 + random.below(5)}`,
    `${weekday()}-${weekday()}`,
    `${weekday()},${weekday()}`,
    drawValues(random, { min: 1, max: 7 }),
  ]);
  const months = random.pick([
    "*",
    "*",
    `${random.pick(MONTHS)}-${random.pick(MONTHS)}`,
    drawValues(random, { min: 1, max: 12 }),
  ]);
  const years = random.pick([
    "",
    "",
    "",
    " *",
    " 2027/3",
    " 2000-2190/2",
    " 2025,2028",
  ]);
  const days = random.chance(0.5)
    ? `${dates} ${months} ?`
    : `? ${months} ${weekdays}`;
  return `${time(59)} ${time(59)} ${time(23)} ${days}${years}`;
}

function drawValues(
  random: SeededRandom,
  { min, max }: { readonly min: number; readonly max: number },
): string {
  const value = (): string => `${min + random.below(max - min + 1)}`;
  const step = (): string => `/${1 + random.below(max)}`;
  const part = (): string =>
    random.pick([
      value(),
      value(),
      `${value()}-${value()}`,
      `${value()}-${value()}${step()}`,
      `${value()}${step()}`,
      step(),
      `*${step()}`,
      "*",
    ]);
  return [part(), ...random.chance(0.3) ? [part(), part()] : []].join(",");
}
