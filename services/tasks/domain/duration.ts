/**
 * Durations of the API: a calendar part, whose length depends on the date it is
 * added to, and an exact part.
 *
 * @module
 */

/** A length of time that is not negative. */
export interface Duration {
  /** Calendar months; a year is twelve. */
  readonly months: number;
  /** Calendar days; a week is seven. */
  readonly days: number;
  /** Milliseconds of elapsed time. */
  readonly ms: number;
}

/** Milliseconds of a day without a clock change. */
export const DAY_MS = 86_400_000;

/** A month's average length in the Gregorian calendar, which repeats every 400 years. */
const AVERAGE_MONTH_MS = 146_097 * DAY_MS / 4_800;

/** Longest duration, about a hundred years. */
const MAX_NOMINAL_MS = 1_200 * AVERAGE_MONTH_MS;

/** Tells whether the duration has no length at all. */
export function isZeroDuration(duration: Duration): boolean {
  return duration.months === 0 && duration.days === 0 && duration.ms === 0;
}

/** Tells whether the duration is elapsed time alone, the same on every date. */
export function isExactDuration(duration: Duration): boolean {
  return duration.months === 0 && duration.days === 0;
}

/**
 * The duration's usual length in milliseconds, for where no date is at hand: a
 * day has 24 hours, a month its average length of 30.436875 days.
 */
export function nominalMs(duration: Duration): number {
  return duration.months * AVERAGE_MONTH_MS + duration.days * DAY_MS +
    duration.ms;
}

/** Tells whether the duration is longer than the hundred years that are allowed. */
export function isTooLong(duration: Duration): boolean {
  return !(nominalMs(duration) <= MAX_NOMINAL_MS);
}

/**
 * Writes a duration in the one ISO 8601 form that equal durations share:
 * `P1Y2M3DT26H5M0.25S`. Hours are not turned into days, since those differ at
 * clock changes. Nothing at all is `PT0S`.
 */
export function formatDuration(duration: Duration): string {
  const date = [
    term(Math.floor(duration.months / 12), "Y"),
    term(duration.months % 12, "M"),
    term(duration.days, "D"),
  ].join("");
  const time = [
    term(Math.floor(duration.ms / 3_600_000), "H"),
    term(Math.floor(duration.ms / 60_000) % 60, "M"),
    term((duration.ms % 60_000) / 1_000, "S"),
  ].join("");
  if (time !== "") return `P${date}T${time}`;
  return date === "" ? "PT0S" : `P${date}`;
}

function term(amount: number, unit: string): string {
  return amount === 0 ? "" : `${amount}${unit}`;
}
