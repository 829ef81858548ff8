/**
 * Occurrences of a cron expression in a time zone. What happens at clock changes
 * is decided here:
 *
 * - Fixed times (no `*`, `?` or step in second, minute and hour): a time that
 *   the clock skips fires at the first instant after the gap, a time that it
 *   shows twice fires the first time only. Times that meet fire once.
 * - Intervals (all others): times that are skipped do not fire, times that are
 *   shown twice fire both times.
 *
 * @module
 */

import type { CronExpression } from "./cron_expression.ts";
import { nextOffsetChange, offsetMsAt, readWall } from "./time_zone.ts";

/**
 * Gaps (or repeated hours) that a search passes before it gives up. An interval
 * that hits a gap of its zone every time, such as every minute of a skipped
 * hour, never fires at all.
 */
const MAX_CHANGES = 100;

/**
 * The first occurrence after an instant, in milliseconds since the epoch.
 * Undefined when there is none up to the year 3000, or none but within gaps for
 * a hundred clock changes.
 */
export function cronAfter(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number | undefined {
  return cron.isFixedTime
    ? fixedAfter(cron, afterMs, timezone)
    : intervalAfter(cron, afterMs, timezone);
}

/** Tells whether a fixed time that a gap swallowed is what fires at its end. */
export function isGapEnd(
  cron: CronExpression,
  atMs: number,
  timezone: string,
): boolean {
  if (!cron.isFixedTime) return false;
  const gapStartMs = atMs + offsetMsAt(atMs - 1, timezone);
  const gapEndMs = atMs + offsetMsAt(atMs, timezone);
  if (gapStartMs >= gapEndMs) return false;
  const swallowedMs = cron.wallFrom(gapStartMs);
  return swallowedMs !== undefined && swallowedMs < gapEndMs;
}

/** Tells whether a fixed time fires once although the clock shows it twice. */
export function isOverlapOnce(
  cron: CronExpression,
  atMs: number,
  timezone: string,
): boolean {
  if (!cron.isFixedTime) return false;
  const wallMs = atMs + offsetMsAt(atMs, timezone);
  return readWall(wallMs, timezone).kind === "overlap";
}

/**
 * The instants of fixed times rise with their wall times, so wall times are
 * tried in order. Only within the second pass of a repeated hour can they lie
 * behind `afterMs`; then all of that hour is passed at once.
 */
function fixedAfter(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number | undefined {
  let wallMs = cron.nextWall(afterMs + offsetMsAt(afterMs, timezone));
  for (let tries = 0; tries < MAX_CHANGES && wallMs !== undefined; tries++) {
    const reading = readWall(wallMs, timezone);
    const atMs = reading.kind === "gap" ? reading.endMs : reading.atMs;
    if (atMs > afterMs) return atMs;
    wallMs = reading.kind === "overlap"
      ? cron.wallFrom(reading.endWallMs)
      : cron.nextWall(wallMs);
  }
  return undefined;
}

function intervalAfter(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number | undefined {
  const offsetMs = offsetMsAt(afterMs, timezone);
  const plainWallMs = cron.nextWall(afterMs + offsetMs);
  const changeMs = nextOffsetChange(afterMs, timezone);
  if (changeMs === undefined) {
    return plainWallMs === undefined ? undefined : plainWallMs - offsetMs;
  }
  if (plainWallMs !== undefined && plainWallMs - offsetMs < changeMs) {
    return plainWallMs - offsetMs;
  }
  // Behind the change the clock may read less than before it.
  let wallMs = cron.wallFrom(changeMs + offsetMsAt(changeMs, timezone));
  for (let tries = 0; tries < MAX_CHANGES && wallMs !== undefined; tries++) {
    const reading = readWall(wallMs, timezone);
    switch (reading.kind) {
      case "single":
        return reading.atMs;
      case "overlap":
        return reading.atMs >= changeMs ? reading.atMs : reading.secondMs;
      case "gap":
        wallMs = cron.wallFrom(
          reading.endMs + offsetMsAt(reading.endMs, timezone),
        );
    }
  }
  return undefined;
}
