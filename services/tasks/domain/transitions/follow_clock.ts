/**
 * What an attempt under way does when the time of day is set.
 *
 * @module
 */

import { shiftOf } from "../clock_step.ts";
import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { changed, type EventOf, patched, UNCHANGED } from "./step.ts";

/**
 * Sets the times of the attempt under way as the time of day was set, so that it
 * has the time that it was given: no less when the clock was set forward, no
 * more when it was set back. An attempt that began after that stays as it is.
 *
 * After this the attempt's times are of the clock as it is now, so the same
 * steps must not come to it again.
 */
export function followClock(
  task: Task,
  { steps }: EventOf<"follow_clock">,
  context: EventContext,
): Transition {
  const { attempt, startedAtMs, firstTriedAtMs } = task;
  if (attempt === undefined) return UNCHANGED;
  const { nowMs } = context;
  const moved = (instantMs: number): number =>
    instantMs + shiftOf(instantMs, { steps, nowMs });
  const shiftMs = moved(attempt.startedAtMs) - attempt.startedAtMs;
  if (shiftMs === 0) return UNCHANGED;
  const { seenAtMs } = attempt;
  const attemptNow: Attempt = {
    ...attempt,
    startedAtMs: attempt.startedAtMs + shiftMs,
    deadlineMs: attempt.deadlineMs + shiftMs,
    ...(seenAtMs === undefined ? {} : { seenAtMs: moved(seenAtMs) }),
  };
  return changed(task, {
    task: patched(task, {
      attempt: { ...attemptNow, expiresAtMs: leaseEnd(attempt, attemptNow) },
      ...(startedAtMs === undefined ? {} : { startedAtMs: moved(startedAtMs) }),
      ...(firstTriedAtMs === undefined
        ? {}
        : { firstTriedAtMs: moved(firstTriedAtMs) }),
    }),
    notes: [],
  }, context);
}

/** The lease goes with its last sign of life, and that with the clock of its time. */
function leaseEnd(before: Attempt, now: Attempt): number {
  const { bootId, seenAtMs, leaseMs, deadlineMs } = now;
  if (bootId !== undefined || seenAtMs === undefined) {
    return before.expiresAtMs + deadlineMs - before.deadlineMs;
  }
  const movedMs = before.expiresAtMs + seenAtMs - (before.seenAtMs ?? seenAtMs);
  // It was cut off at a deadline of the clock before, if the sign of life came
  // after the step.
  const endMs = before.expiresAtMs === before.deadlineMs
    ? Math.max(movedMs, seenAtMs + leaseMs)
    : movedMs;
  return Math.min(endMs, deadlineMs);
}
