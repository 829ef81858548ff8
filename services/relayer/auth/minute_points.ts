/**
 * Points that were spent, by the minute, and how many of them count within a
 * window that slides.
 *
 * @module
 */

/** Points spent within a minute. */
export interface MinutePoints {
  /** The minute since the epoch. */
  readonly minute: number;
  /** How many. */
  readonly points: number;
}

/** A window and what it allows. */
export interface RateWindowLimit {
  /** How long it is, in minutes. */
  readonly minutes: number;
  /** Most points within it. */
  readonly limit: number;
}

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** Rounding must not turn the last point away. */
const EPSILON = 1e-9;

/**
 * Points within the last so many minutes. Of the minute that is leaving the
 * window the part counts that is still in it, as if its points had been spent
 * evenly.
 */
export function spentPoints(
  spent: readonly MinutePoints[],
  options: { readonly nowMs: number; readonly minutes: number },
): number {
  const now = Math.floor(options.nowMs / MINUTE_MS);
  const gone = options.nowMs / MINUTE_MS - now;
  const leaving = now - options.minutes;
  let sum = 0;
  for (const { minute, points } of spent) {
    if (minute > leaving && minute <= now) sum += points;
    if (minute === leaving) sum += points * (1 - gone);
  }
  return sum;
}

/**
 * Seconds until so many points more would fit; 0 when they fit now. What never
 * fits is told to come back when the window is empty.
 */
export function waitSeconds(
  spent: readonly MinutePoints[],
  options: RateWindowLimit & {
    readonly nowMs: number;
    readonly points: number;
  },
): number {
  const { nowMs, minutes, limit, points } = options;
  const fits = (seconds: number): boolean =>
    spentPoints(spent, { nowMs: nowMs + seconds * 1_000, minutes }) + points <=
      limit + EPSILON;
  if (fits(0)) return 0;
  // Nothing is spent meanwhile, so what fits once fits ever after.
  let [tooSoon, enough] = [0, (minutes + 1) * 60];
  while (enough - tooSoon > 1) {
    const middle = (tooSoon + enough) >> 1;
    if (fits(middle)) enough = middle;
    else tooSoon = middle;
  }
  return enough;
}
