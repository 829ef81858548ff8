/**
 * What it means for an instant that was noted that the time of day was set
 * since.
 *
 * @module
 */

/** A change of the time of day that is no passing of time. */
export interface ClockStep {
  /** By how much it was set forward; negative when it was set back. */
  readonly byMs: number;
  /** What was read last before it, in milliseconds since the epoch. */
  readonly lastReadMs: number;
  /** What was read when it was noticed, in milliseconds since the epoch. */
  readonly noticedAtMs: number;
}

/** When an instant is judged. */
export interface ShiftOptions {
  /** What was noticed, oldest first. */
  readonly steps: readonly ClockStep[];
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Tells by how much an instant would have been noted later, had the clock always
 * gone as it does now: the sum of the steps that came after it.
 *
 * Since a step, the clock has only shown the times from where it was set to, up
 * to where it was set again or to the present. What was noted then is from after
 * the step, and anything else is from before. In one case that is wrong: an
 * instant from as long before the clock was set back as it was set back counts
 * as one from after it, if the two lie no further apart than the step and the
 * judgement.
 */
export function shiftOf(
  instantMs: number,
  { steps, nowMs }: ShiftOptions,
): number {
  let shiftMs = 0;
  let latestMs = nowMs;
  for (const { byMs, lastReadMs, noticedAtMs } of steps.toReversed()) {
    const earliestMs = lastReadMs + byMs;
    if (instantMs >= earliestMs && instantMs <= latestMs) break;
    shiftMs += byMs;
    latestMs = noticedAtMs - byMs;
  }
  return shiftMs;
}

/** Two steps, one after the other, as if they were one. */
export function joinedSteps(first: ClockStep, second: ClockStep): ClockStep {
  return {
    byMs: first.byMs + second.byMs,
    lastReadMs: second.lastReadMs - first.byMs,
    noticedAtMs: first.noticedAtMs + second.byMs,
  };
}
