/**
 * Times as text, several times faster than dates make them: a page of tasks
 * holds thousands of them.
 *
 * @module
 */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Days of 400 years of the Gregorian calendar, after which it repeats. */
const CYCLE_DAYS = 146_097;
/** Days from the first of March of the year 0 to the epoch. */
const EPOCH_DAY = 719_468;
/** The end of the year 9999. */
const END_MS = 253_402_300_800_000;

/** Numbers of two digits. */
const PAIRS: readonly string[] = Array.from(
  { length: 100 },
  (_, number) => String(number).padStart(2, "0"),
);

/**
 * Writes an instant in RFC 3339, in UTC with milliseconds, as
 * `Date.prototype.toISOString()` does.
 *
 * @param ms Whole milliseconds since the epoch.
 * @throws {RangeError} when no date has that number
 */
export function utcTime(ms: number): string {
  // Years before 1970 and of more than four digits are rare and left to dates.
  if (!(ms >= 0 && ms < END_MS)) return new Date(ms).toISOString();
  const whole = Math.floor(ms);
  const days = Math.floor(whole / DAY_MS);
  const inDay = whole - days * DAY_MS;
  const hour = Math.floor(inDay / HOUR_MS);
  const minute = Math.floor(inDay % HOUR_MS / MINUTE_MS);
  const inMinute = inDay % MINUTE_MS;
  const second = Math.floor(inMinute / 1_000);
  const milli = inMinute - second * 1_000;
  const hundreds = Math.floor(milli / 100);
  return `${dateOf(days)}T${PAIRS[hour]}:${PAIRS[minute]}:${PAIRS[second]}.` +
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
function dateOf(epochDay: number): string {
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
