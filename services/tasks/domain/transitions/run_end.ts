/**
 * Handles the end of an attempt (its success, its failure, or its loss with the
 * worker) and decides what follows the end of a run.
 *
 * @module
 */

import { nextRetry, type RetryDecision } from "../retry_policy.ts";
import type { Task, TaskError } from "../task.ts";
import {
  type EventContext,
  type EventOf,
  type Handlers,
  type Note,
  patched,
  preceded,
  type Step,
} from "../task_event.ts";
import { buildEnding, end, missedNotes } from "./due.ts";
import { runAgain } from "./run_after.ts";
import {
  attemptNote,
  type RunningTask,
  settledAs,
  withLease,
} from "./lease.ts";
import { findRepetition } from "../rules.ts";
import {
  dateOfSlot,
  forSlot,
  isSpawning,
  type Repetition,
  repetitionsAfterRun,
  slotAfterRun,
} from "./repetition.ts";

/** The most bytes of a result that a history record holds. */
const MAX_PREVIEW_BYTES = 1_024;

const MOST_BYTES_OF_A_UNIT = 3;

/**
 * Returns the beginning of a text, at most 1 KiB of UTF-8, cut between
 * characters.
 */
export function cutPreview(text: string): string {
  if (text.length * MOST_BYTES_OF_A_UNIT <= MAX_PREVIEW_BYTES) return text;
  const { read } = new TextEncoder()
    .encodeInto(text, new Uint8Array(MAX_PREVIEW_BYTES));
  return text.slice(0, read);
}

/** Completes the run. A repeating task gets the date of its next run. */
const complete = withLease<"complete">(
  { action: "complete", outcome: "completed" },
  (task, { resultJson, isResultTruncated, message, http }, context) => {
    const { attempt } = task;
    const ended = patched(task, {
      executions: task.executions + 1,
      retries: 0,
      lostInRow: 0,
      lastOutcome: "succeeded",
      durationMs: Math.max(0, context.nowMs - attempt.startedAtMs),
      resultJson,
      isResultTruncated,
      error: undefined,
      attempt: undefined,
      settled: settledAs(attempt, "completed"),
    });
    const note = attemptNote(attempt, {
      type: "succeeded",
      resultPreview: resultJson === undefined
        ? undefined
        : cutPreview(resultJson),
      message,
      http,
    });
    const repetition = findRepetition(task, context.rules);
    return preceded([note], afterSuccess(ended, repetition, context));
  },
);

function afterSuccess(
  task: Task,
  repetition: Repetition | undefined,
  context: EventContext,
): Step {
  if (repetition !== undefined) return followRun(task, repetition, context);
  return task.again === undefined
    ? end(task, { status: "complete" }, context)
    : runAgain(task, task.again, context);
}

/**
 * Dates the next run, or ends the task when its schedule has no more slots.
 * Until the next run, the task is `done` after a success and `scheduled` after
 * a failure. When the run took so long that slots were missed, the history says
 * that the schedule has slipped.
 *
 * @param task the task after the run, with the run's outcome
 */
function followRun(
  task: Task,
  repetition: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  const next = slotAfterRun(task, repetition, nowMs);
  const { repetitions, slotMs, lateMs = 0, missed } = next;
  // Slots were missed because the run was still going on.
  const slipped: readonly Note[] = missed === 0
    ? []
    : [{ type: "slipped", amount: lateMs }];
  const notes = [...slipped, ...missedNotes(missed)];
  const counted = patched(task, { repetitions, missed: task.missed + missed });
  const isSuccess = task.lastOutcome === "succeeded";
  if (slotMs === undefined) {
    const status = isSuccess ? "complete" : "failed";
    const step = end(counted, { status }, context);
    // The history already says that a failed run is exhausted.
    return preceded(notes, isSuccess ? step : { ...step, notes: [] });
  }
  const dateMs = next.dateMs ?? dateOfSlot(slotMs, repetition.rule, context);
  const isDue = dateMs <= nowMs && !isSpawning(task);
  const run = task.run + 1;
  const isHeld = task.held?.slotMs === slotMs;
  const forRun = forSlot({ ...task, run }, slotMs);
  const dated = patched(counted, {
    status: pickStatus(task, isDue),
    run,
    retries: 0,
    ...forRun,
    // A slot that was found just now is of the present schedule, so it does not
    // matter since when the task has that.
    scheduleSinceMs: isHeld ? task.scheduleSinceMs : forRun.scheduleSinceMs,
    dateMs,
    isDue,
    wait: undefined,
    firstTriedAtMs: undefined,
  });
  notes.push({ type: "repeated", nextDateMs: dateMs });
  return { task: dated, notes };
}

function pickStatus(
  task: Task,
  isDue: boolean,
): "done" | "waiting" | "scheduled" {
  if (isSpawning(task)) return "scheduled";
  if (task.lastOutcome === "succeeded") return "done";
  return isDue ? "waiting" : "scheduled";
}

/** A failure, with the type of its history record. */
type FailedAttempt = Omit<EventOf<"fail">, "kind" | "lease"> & {
  readonly type: "failed" | "timed_out" | "lost";
};

/** Ends the attempt as failed. */
const fail = withLease<"fail">(
  { action: "fail", outcome: "failed" },
  (task, event, context) =>
    failAttempt(task, { ...event, type: "failed" }, context),
);

/**
 * Decides what follows a failure: a retry, or when there is no other, the end
 * of the run. That ends the task too, unless its schedule goes on, which it
 * does in any case after a run started by hand.
 */
export function failAttempt(
  task: RunningTask,
  failed: FailedAttempt,
  context: EventContext,
): Step {
  const { nowMs, rules, random } = context;
  const { attempt, firstTriedAtMs = attempt.startedAtMs } = task;
  const { type, failure, message, detailJson, retryAfterMs, http } = failed;
  const { code, httpStatus } = failure;
  const error: TaskError = {
    code,
    message,
    detailJson,
    httpStatus,
    atMs: nowMs,
  };
  const failedTask = patched(task, {
    executions: task.executions + 1,
    lostInRow: 0,
    durationMs: Math.max(0, nowMs - attempt.startedAtMs),
    error,
    settled: settledAs(attempt, type === "lost" ? "lost" : "failed"),
    attempt: undefined,
  });
  const note = attemptNote(attempt, { type, error, http });
  if (task.again !== undefined) {
    // A retry would try again what newer values have replaced.
    const failed = patched(failedTask, { lastOutcome: "failed" });
    return preceded([note], runAgain(failed, task.again, context));
  }
  const decision = nextRetry(rules.retry, {
    retries: task.retries,
    failedAtMs: nowMs,
    firstTriedAtMs,
    failure,
    retryAfterMs,
    random,
  });
  if (decision.kind === "stop") {
    const reason = STOP_REASONS[decision.reason];
    const notes = [note, { type: "exhausted", message: reason }] as const;
    return preceded(notes, endFailedRun(failedTask, context));
  }
  const { atMs: dateMs } = decision;
  return {
    task: patched(failedTask, {
      status: "retry",
      retries: task.retries + 1,
      dateMs,
      isDue: dateMs <= nowMs,
    }),
    notes: [note, { type: "retrying", nextDateMs: dateMs }],
  };
}

const STOP_REASONS: Readonly<
  Record<Extract<RetryDecision, { kind: "stop" }>["reason"], string>
> = {
  not_retryable: "the failure is not to be tried again",
  limit: "all retries are spent",
  for: "the next retry would begin too long after the first try",
};

/**
 * Ends a run that has failed for good. The history already has a record of the
 * failure.
 */
export function endFailedRun(task: Task, context: EventContext): Step {
  const ended = patched(task, { lastOutcome: "failed" });
  const repetition = findRepetition(task, context.rules);
  const ending = buildEnding(task, "failed", context);
  if (repetition === undefined) {
    return { task: patched(ended, ending), notes: [] };
  }
  const { rule, schedule } = repetition;
  if (rule.onFailure !== "stop" || task.held !== undefined) {
    return followRun(ended, repetition, context);
  }
  const repetitions = repetitionsAfterRun(ended, schedule);
  return { task: patched(ended, { ...ending, repetitions }), notes: [] };
}

/** The error code of a task that lost too many attempts in a row. */
const WORKER_LOST = "worker_lost";

/** Ends an attempt that no worker will finish, as lost. */
const lose = withLease<"lose">(
  { action: "lose", outcome: "lost" },
  (task, { reason }, context) => loseAttempt(task, reason, context),
);

/**
 * Makes the task wait again at once, with its date and its retries unchanged.
 * When the number of attempts lost in a row exceeds the limit, that counts as a
 * failure, so that a task that crashes its workers does not do so forever.
 *
 * @param reason why the attempt is lost, for people
 */
export function loseAttempt(
  task: RunningTask,
  reason: string,
  context: EventContext,
): Step {
  const { attempt } = task;
  const lost = task.lost + 1;
  const lostInRow = task.lostInRow + 1;
  if (lostInRow > context.rules.maxLost) {
    return failAttempt({ ...task, lost }, {
      type: "lost",
      failure: { code: WORKER_LOST },
      message: `${reason}, for the ${ordinal(lostInRow)} time in a row`,
    }, context);
  }
  return {
    task: patched(task, {
      status: "waiting",
      isDue: true,
      lost,
      lostInRow,
      settled: settledAs(attempt, "lost"),
      attempt: undefined,
    }),
    notes: [
      attemptNote(attempt, {
        type: "lost",
        message: reason,
        amount: lostInRow,
      }),
    ],
  };
}

function ordinal(count: number): string {
  const isTeen = Math.floor(count % 100 / 10) === 1;
  const suffix = isTeen ? undefined : ["th", "st", "nd", "rd"][count % 10];
  return `${count}${suffix ?? "th"}`;
}

/** The handlers of the events that end an attempt. */
export const END_EVENTS: Handlers<
  "complete" | "fail" | "lose"
> = { complete, fail, lose };
