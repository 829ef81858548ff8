/**
 * Points that were spent by minute, and how many of them a window has.
 *
 * @module
 */

import type { RateWindow } from "../store/rows.ts";

/** Points spent within a minute. */
export type MinutePoints = Pick<RateWindow, "minute" | "points">;

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** Tolerance, so that rounding does not refuse the last point. */
const EPSILON = 1e-9;

/**
 * Returns the points spent within the last `minutes` minutes. The oldest minute
 * is only partly within that window; its points count in proportion, as if they
 * had been spent evenly.
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
 * Returns the seconds until `points` more fit into the window; 0 when they fit
 * now. Points that never fit wait until the window is empty.
 */
export function waitSeconds(
  spent: readonly MinutePoints[],
  options: {
    readonly nowMs: number;
    readonly minutes: number;
    /** Most points within the window. */
    readonly limit: number;
    readonly points: number;
  },
): number {
  const { nowMs, minutes, limit, points } = options;
  const fits = (seconds: number): boolean =>
    spentPoints(spent, { nowMs: nowMs + seconds * 1_000, minutes }) + points <=
      limit + EPSILON;
  if (fits(0)) return 0;
  // Nothing else is spent in this calculation, so points that fit once keep
  // fitting.
  let [tooSoon, enough] = [0, (minutes + 1) * 60];
  while (enough - tooSoon > 1) {
    const middle = (tooSoon + enough) >> 1;
    if (fits(middle)) enough = middle;
    else tooSoon = middle;
  }
  return enough;
}

/**
 * How many minutes the longest window spans, with the partly counted oldest
 * one.
 */
export const MAX_MINUTES = 61;

/**
 * Adds points to a minute; drops the oldest minute when there are too many.
 */
export function addPoints(spent: MinutePoints[], added: MinutePoints): void {
  const { minute, points } = added;
  // Nearly always the last; another one only after a clock was set.
  const index = spent.findLastIndex((known) => known.minute === minute);
  const sum = points + (spent[index]?.points ?? 0);
  if (index !== -1) spent[index] = { minute, points: sum };
  else {
    const isLast = minute >= (spent.at(-1)?.minute ?? -Infinity);
    spent.push({ minute, points: sum });
    if (!isLast) spent.sort((a, b) => a.minute - b.minute);
  }
  if (spent.length > MAX_MINUTES + 1) spent.shift();
}
