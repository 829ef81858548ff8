/**
 * Random cron expressions, and clock changes to try them on.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";

/**
 * Time zones, each with a day of UTC on which, or next to which, its clock
 * changes.
 */
export const CLOCK_CHANGES: readonly (readonly [string, string])[] = [
  ["Europe/Stockholm", "2026-03-29"],
  ["Europe/Stockholm", "2026-10-25"],
  ["America/New_York", "2026-03-08"],
  ["America/New_York", "2026-11-01"],
  ["Australia/Lord_Howe", "2026-10-03"],
  ["Australia/Lord_Howe", "2026-04-04"],
  ["Pacific/Chatham", "2026-09-26"],
  ["Pacific/Chatham", "2026-04-04"],
  ["Antarctica/Troll", "2026-03-29"],
  ["Antarctica/Troll", "2026-10-25"],
  ["America/Havana", "2026-03-08"],
  ["America/Havana", "2026-11-01"],
  ["America/Nuuk", "2026-03-29"],
  ["America/Nuuk", "2026-10-25"],
  ["Africa/Casablanca", "2026-02-15"],
  ["Africa/Casablanca", "2026-03-22"],
  ["Africa/Cairo", "2026-04-24"],
  ["Africa/Cairo", "2026-10-29"],
  ["America/St_Johns", "2026-03-08"],
  ["Asia/Beirut", "2026-03-29"],
  ["Pacific/Apia", "2011-12-30"],
  ["UTC", "2026-03-29"],
];

/** A random expression and the times that it matches. */
export interface DrawnCron {
  /** The expression. */
  readonly text: string;
  /** Matching hours of every day. */
  readonly hours: readonly number[];
  /** Matching minutes of these hours. */
  readonly minutes: readonly number[];
}

/**
 * Draws a cron expression that fires every day, mostly around the hours of
 * clock changes.
 */
export function drawCron(random: SeededRandom): DrawnCron {
  const step = random.pick([5, 15, 20, 30]);
  const list = (bound: number): readonly number[] =>
    [
      ...new Set([
        random.below(bound),
        ...random.list(3, () => random.below(bound)),
      ]),
    ]
      .sort((left, right) => left - right);
  const stepped = random.chance(0.5);
  const minutes = stepped
    ? Array.from({ length: 60 / step }, (_, index) => index * step)
    : list(60);
  const hours = random.chance(0.2)
    ? Array.from({ length: 24 }, (_, hour) => hour)
    : random.chance(0.8)
    ? list(4)
    : list(24);
  const minuteField = stepped ? `*/${step}` : minutes.join(",");
  const hourField = hours.length === 24 ? "*" : hours.join(",");
  return { text: `${minuteField} ${hourField} * * *`, hours, minutes };
}
