/**
 * How close a timing's occurrences come to each other, for plans that have a
 * smallest spacing.
 *
 * @module
 */

import type { CronTimes } from "./cron_times.ts";
import { DAY_MS, type Duration } from "./duration.ts";
import type { Timing } from "./timing.ts";

const SHORTEST_MONTH_DAYS = 28;

/**
 * The shortest time between two occurrences in milliseconds, clock changes left
 * aside. For a cron expression it is taken as if every day matched.
 */
export function shortestSpacingMs(timing: Timing): number {
  return timing.kind === "interval"
    ? intervalSpacingMs(timing.every)
    : cronSpacing(timing.cron.times) * 1_000;
}

function intervalSpacingMs(every: Duration): number {
  return (every.months * SHORTEST_MONTH_DAYS + every.days) * DAY_MS + every.ms;
}

/** In seconds. */
function cronSpacing(times: CronTimes): number {
  const hours = smallestStep(times.hours, 24);
  const minutes = smallestStep(times.minutes, hours * 60);
  return smallestStep(times.seconds, minutes * 60);
}

/**
 * The smallest distance of neighbours, the first one of the next period among
 * them.
 *
 * @param values Rising.
 * @param period After how much, at least, the values come again.
 */
function smallestStep(values: readonly number[], period: number): number {
  const first = values[0] ?? 0;
  return values.reduce((smallest, value, index) => {
    const next = values[index + 1] ?? first + period;
    return Math.min(smallest, next - value);
  }, period);
}
