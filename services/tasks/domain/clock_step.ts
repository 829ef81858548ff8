/**
 * Corrects instants that were stored before the machine's clock was set forward
 * or back.
 *
 * @module
 */

/** A jump of the machine's clock, as when someone sets the time of day. */
export interface ClockStep {
  /**
   * By how many milliseconds the clock was set forward; negative when it was
   * set back.
   */
  readonly byMs: number;
  /** The last time read before the jump, in milliseconds since the epoch. */
  readonly lastReadMs: number;
  /**
   * The time read when the jump was noticed, in milliseconds since the epoch.
   */
  readonly noticedAtMs: number;
}

/** What {@linkcode computeShift} judges an instant by. */
export interface ShiftOptions {
  /** The clock steps that were noticed, oldest first. */
  readonly steps: readonly ClockStep[];
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Tells how many milliseconds later an instant would have been stored, had the
 * clock always shown the time that it shows now: the sum of the steps that came
 * after the instant.
 *
 * Since a step, the clock has only shown the times from where it was set to, up
 * to where it was set again or to the present. An instant in that range was
 * stored after the step, and any other one before. In one case that is wrong:
 * an instant from as long before the clock was set back as it was set back
 * counts as one from after the step, if the two lie no further apart than the
 * step and the judgement.
 */
export function computeShift(
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

/** Merges two steps, one after the other, into a single step. */
export function joinedSteps(first: ClockStep, second: ClockStep): ClockStep {
  return {
    byMs: first.byMs + second.byMs,
    lastReadMs: second.lastReadMs - first.byMs,
    noticedAtMs: first.noticedAtMs + second.byMs,
  };
}
