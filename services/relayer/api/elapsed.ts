/**
 * How much time has passed, whatever the time of day is set to meanwhile.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";

/** A reading to be compared with others of the same clock, in milliseconds. */
export function nowOf(clock: Clock): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}
