/**
 * Tells what a change of a task counts as, for metrics and for activity.
 *
 * @module
 */

import {
  type FinalStatus,
  isFinal,
  type SettledAttempt,
  type Task,
} from "./task.ts";

/** A committed change of a task. */
export interface CommittedChange {
  /** The task before it; absent when it is new. */
  readonly previous: Task | undefined;
  /** The task after it; absent when it was removed. */
  readonly next: Task | undefined;
}

/** What a change counts as; most changes are one or two of these. */
export interface CountedChange {
  /** Whether the task is new. */
  readonly isNew: boolean;
  /** How many milliseconds after its date an attempt began, if one did. */
  readonly startedLateMs: number | undefined;
  /** The attempt that has ended. */
  readonly ended:
    | {
      /** How it ended. */
      readonly outcome: SettledAttempt["outcome"];
      /** How long it took, in milliseconds. */
      readonly tookMs: number;
    }
    | undefined;
  /** The final status that the task has reached. */
  readonly finished: FinalStatus | undefined;
  /** The slots of its schedule that were missed. */
  readonly missed: number;
}

/** Tells what a change counts as; undefined when it counts as nothing. */
export function countChange(
  { previous, next }: CommittedChange,
): CountedChange | undefined {
  if (next === undefined) return undefined;
  const isOther = previous?.attempt?.id !== next.attempt?.id;
  const wasFinal = previous !== undefined && isFinal(previous.status);
  const finished = !wasFinal && isFinal(next.status) ? next.status : undefined;
  const missed = Math.max(0, next.missed - (previous?.missed ?? 0));
  const isNew = previous === undefined;
  if (!isNew && !isOther && finished === undefined && missed === 0) {
    return undefined;
  }
  return {
    isNew,
    startedLateMs: isOther && next.attempt !== undefined
      ? Math.max(0, next.lagMs ?? 0)
      : undefined,
    ended: isOther && previous?.attempt !== undefined
      ? {
        outcome: next.settled?.id === previous.attempt.id
          ? next.settled.outcome
          : "lost",
        tookMs: Math.max(0, next.updatedAtMs - previous.attempt.startedAtMs),
      }
      : undefined,
    finished,
    missed,
  };
}
