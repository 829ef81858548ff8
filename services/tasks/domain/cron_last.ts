/**
 * The last time that a cron expression fired, found from the present backwards
 * by arithmetic. It mirrors the counting of `cron_count.ts`.
 *
 * @module
 */

import { countWalls, type Span } from "./cron_count.ts";
import type { CronExpression } from "./cron_expression.ts";
import { DAY_SECONDS, lastTime } from "./cron_times.ts";
import { DAY_MS } from "./duration.ts";
import { lastOffsetChange, offsetMsAt } from "./time_zone.ts";

/** Wall time and elapsed time differ by less, also when clocks are set. */
const MARGIN_MS = 2 * DAY_MS;

/**
 * The last occurrence of a span, by the same rules for clock changes as all
 * others; undefined when it has none.
 */
export function lastCron(
  cron: CronExpression,
  { afterMs, throughMs }: Span,
  timezone: string,
): number | undefined {
  const fromDay = Math.floor((afterMs - MARGIN_MS) / DAY_MS);
  let endMs = throughMs;
  while (endMs > afterMs) {
    const offsetMs = offsetMsAt(endMs, timezone);
    const changeMs = lastOffsetChange(endMs, timezone) ?? -Infinity;
    const wallMs = lastWall(cron, endMs + offsetMs, fromDay);
    if (wallMs === undefined) return undefined;
    const newWallMs = changeMs + offsetMs;
    const oldWallMs = changeMs === -Infinity
      ? changeMs
      : changeMs + offsetMsAt(changeMs - 1, timezone);
    // Fixed times have fired on the first pass of an hour that is repeated.
    const firstWallMs = cron.isFixedTime
      ? Math.max(oldWallMs, newWallMs)
      : newWallMs;
    let atMs: number | undefined;
    if (wallMs >= firstWallMs) atMs = wallMs - offsetMs;
    else if (cron.isFixedTime && countWalls(cron, oldWallMs, newWallMs) > 0) {
      atMs = changeMs;
    }
    if (atMs !== undefined) return atMs > afterMs ? atMs : undefined;
    // Nothing matches between there and here, whatever the clock did.
    endMs = Math.min(changeMs - 1, wallMs - offsetMs + MARGIN_MS);
  }
  return undefined;
}

/** The last matching wall time up to `wallMs`, not before a day. */
function lastWall(
  { days, times }: CronExpression,
  wallMs: number,
  fromDay: number,
): number | undefined {
  const day = Math.floor(wallMs / DAY_MS);
  if (days.has(day)) {
    const second = Math.floor((wallMs - day * DAY_MS) / 1_000);
    const time = lastTime(times, second);
    if (time !== undefined) return day * DAY_MS + time * 1_000;
  }
  const lastDay = days.last({ fromDay, toDay: day });
  const time = lastTime(times, DAY_SECONDS - 1);
  return lastDay === undefined || time === undefined
    ? undefined
    : lastDay * DAY_MS + time * 1_000;
}
