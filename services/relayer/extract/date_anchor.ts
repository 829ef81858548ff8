/**
 * Puts a date behind words such as "tomorrow", which mean nothing later on.
 *
 * @module
 */

const DAY_MS = 86_400_000;
const WEEKDAYS = [
  "sunday",
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
];
const NUMBERS = [
  "zero",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
];
const DAY = WEEKDAYS.join("|");
const COUNT = `\\d{1,3}|an?|${NUMBERS.join("|")}`;
const UNIT = "days?|weeks?|months?|years?";

/** The longest words first: "the day after tomorrow" holds "tomorrow". */
const RELATIVE = new RegExp(
  `\\b(?:(?:the )?day (?:after tomorrow|before yesterday)|today|tonight|tomorrow|yesterday` +
    `|(?:last|next|this) (?:${DAY}|week|month|year)` +
    `|in (?:${COUNT}) (?:${UNIT})|(?:${COUNT}) (?:${UNIT}) ago)\\b(?! \\()`,
  "gi",
);

/**
 * Adds dates in the form `2026-11-21`, `2026-11` or `2026`, by the calendar of UTC.
 *
 * @param atMs When the text was said, in milliseconds since the epoch.
 */
export function anchorDates(text: string, atMs: number): string {
  return text.replace(RELATIVE, (words) => {
    const date = dateOf(words.toLowerCase(), atMs);
    return date === undefined ? words : `${words} (${date})`;
  });
}

function dateOf(words: string, atMs: number): string | undefined {
  const days = FIXED_DAYS.find(([pattern]) => pattern.test(words))?.[1];
  if (days !== undefined) return dayText(atMs + days * DAY_MS);
  const counted = /^(?:in )?(\S+) (day|week|month|year)s?( ago)?$/.exec(words);
  if (counted !== null && /^in | ago$/.test(words)) {
    const [, count = "", unit = "", ago] = counted;
    const sign = ago === undefined ? 1 : -1;
    return shifted(atMs, { unit, by: sign * numberOf(count) });
  }
  const [direction = "", what = ""] = words.split(" ");
  const by = direction === "last" ? -1 : direction === "next" ? 1 : 0;
  const weekday = WEEKDAYS.indexOf(what);
  if (weekday >= 0) return dayText(weekdayMs(atMs, { weekday, by }));
  return what === "week"
    ? `week of ${dayText(mondayMs(atMs) + by * 7 * DAY_MS)}`
    : shifted(atMs, { unit: what, by });
}

const FIXED_DAYS: readonly (readonly [RegExp, number])[] = [
  [/after tomorrow/, 2],
  [/before yesterday/, -2],
  [/tomorrow/, 1],
  [/yesterday/, -1],
  [/today|tonight/, 0],
];

function numberOf(word: string): number {
  if (word === "a" || word === "an") return 1;
  const at = NUMBERS.indexOf(word);
  return at >= 0 ? at : Number(word);
}

/** Months and years are told as such: nobody means a certain day by them. */
function shifted(
  atMs: number,
  options: { readonly unit: string; readonly by: number },
): string | undefined {
  const { unit, by } = options;
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  if (unit === "day") return dayText(atMs + by * DAY_MS);
  if (unit === "week") return dayText(atMs + by * 7 * DAY_MS);
  const monthMs = Date.UTC(year, at.getUTCMonth() + by, 1);
  return unit === "month" ? dayText(monthMs)?.slice(0, -3) : `${year + by}`;
}

function weekdayMs(
  atMs: number,
  options: { readonly weekday: number; readonly by: number },
): number {
  const { weekday, by } = options;
  const today = new Date(atMs).getUTCDay();
  const ahead = (weekday - today + 7) % 7;
  if (by < 0) return atMs + (ahead - 7) * DAY_MS;
  return atMs + (by > 0 && ahead === 0 ? 7 : ahead) * DAY_MS;
}

function mondayMs(atMs: number): number {
  const today = new Date(atMs).getUTCDay();
  return atMs - ((today + 6) % 7) * DAY_MS;
}

function dayText(atMs: number): string | undefined {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime())
    ? undefined
    : date.toISOString().replace(/T.*/, "");
}
