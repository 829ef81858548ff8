/**
 * Attempts that are lost with their worker, or with the server that made the
 * call.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { failAttempt } from "./failure.ts";
import { attemptNote, settledAs, withLease } from "./lease.ts";
import { changed, type EventOf, patched, type Step } from "./step.ts";

/** The code of the failure that too many lost attempts in a row make. */
export const WORKER_LOST = "worker_lost";

/** Ends an attempt that nobody will finish. */
export function lose(
  task: Task,
  event: EventOf<"lose">,
  context: EventContext,
): Transition {
  const { lease, reason } = event;
  const claim = { lease, action: "lose", outcome: "lost" } as const;
  return withLease(
    task,
    claim,
    (attempt) =>
      changed(task, loseAttempt(task, { attempt, reason }, context), context),
  );
}

/** An attempt that is lost, and why. */
export interface LostAttempt {
  /** The attempt. */
  readonly attempt: Attempt;
  /** Why, for people. */
  readonly reason: string;
}

/**
 * Makes the task wait again at once, with its date and its retries as they were.
 * One lost attempt too many in a row counts as a failure, so that a task that
 * kills its workers does not do so for ever.
 */
export function loseAttempt(
  task: Task,
  { attempt, reason }: LostAttempt,
  context: EventContext,
): Step {
  const lost = task.lost + 1;
  const lostInRow = task.lostInRow + 1;
  if (lostInRow > context.rules.maxLost) {
    return failAttempt(patched(task, { lost }), {
      attempt,
      type: "lost",
      failure: { code: WORKER_LOST },
      message: `${reason}, for the ${ordinal(lostInRow)} time in a row`,
    }, context);
  }
  const waiting = patched(task, {
    status: "waiting",
    isDue: true,
    lost,
    lostInRow,
    settled: settledAs(attempt, "lost"),
    attempt: undefined,
  });
  const note = attemptNote(attempt, {
    type: "lost",
    message: reason,
    amount: lostInRow,
  });
  return { task: waiting, notes: [note] };
}

function ordinal(count: number): string {
  const isTeen = Math.floor(count % 100 / 10) === 1;
  const suffix = isTeen ? undefined : ["th", "st", "nd", "rd"][count % 10];
  return `${count}${suffix ?? "th"}`;
}
