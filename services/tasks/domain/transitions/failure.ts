/**
 * The end of an attempt that failed or was lost with its worker.
 *
 * @module
 */

import {
  type Failure,
  nextRetry,
  type RetryDecision,
} from "../retry_policy.ts";
import type { Attempt, Task, TaskError } from "../task.ts";
import type { EventContext, HttpFact, Transition } from "../task_event.ts";
import { endingOf } from "./due.ts";
import { attemptNote, settledAs, withLease } from "./lease.ts";
import { repetitionOf, repetitionsAfterRun } from "./repetition.ts";
import { followRun } from "./run_end.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  type Step,
} from "./step.ts";

/** A failure and what was said of it. */
interface FailedAttempt {
  /** The attempt. */
  readonly attempt: Attempt;
  /** What is told of it first. */
  readonly type: "failed" | "timed_out" | "lost";
  /** Why it failed. */
  readonly failure: Failure;
  /** The same for people. */
  readonly message: string;
  /**
   * What else the worker said, as JSON text.
   *
   * @default {nothing}
   */
  readonly detailJson?: string | undefined;
  /**
   * How long the worker asked to be left alone.
   *
   * @default {not at all}
   */
  readonly retryAfterMs?: number | undefined;
  /**
   * The answer to a push call.
   *
   * @default {there was none}
   */
  readonly http?: HttpFact | undefined;
}

/** Ends the attempt badly. */
export function fail(
  task: Task,
  event: EventOf<"fail">,
  context: EventContext,
): Transition {
  const { lease } = event;
  const claim = { lease, action: "fail", outcome: "failed" } as const;
  return withLease(task, claim, (attempt) => {
    const failed = failAttempt(
      task,
      { ...event, attempt, type: "failed" },
      context,
    );
    return changed(task, failed, context);
  });
}

/**
 * Decides what follows a failure: another try, and when there is none, the end
 * of the run. That ends the task too, unless its schedule goes on, which it does
 * in any case behind a run by hand.
 */
export function failAttempt(
  task: Task,
  failed: FailedAttempt,
  context: EventContext,
): Step {
  const { nowMs, rules, random } = context;
  const { attempt, retryAfterMs } = failed;
  const error = errorOf(failed, nowMs);
  const failedTask = patched(task, {
    executions: task.executions + 1,
    lostInRow: 0,
    durationMs: Math.max(0, nowMs - attempt.startedAtMs),
    error,
    settled: settledAs(attempt, failed.type === "lost" ? "lost" : "failed"),
    attempt: undefined,
  });
  const note = noteOf(failed, error);
  const decision = nextRetry(rules.retry, {
    retries: task.retries,
    failedAtMs: nowMs,
    firstTriedAtMs: task.firstTriedAtMs ?? attempt.startedAtMs,
    failure: failed.failure,
    retryAfterMs,
    random,
  });
  return decision.kind === "stop"
    ? endRun(failedTask, [note, exhaustedNote(decision)], context)
    : {
      task: patched(failedTask, {
        status: "retry",
        retries: task.retries + 1,
        dateMs: decision.atMs,
        isDue: decision.atMs <= nowMs,
      }),
      notes: [note, { type: "retrying", nextDateMs: decision.atMs }],
    };
}

function endRun(
  task: Task,
  notes: readonly Note[],
  context: EventContext,
): Step {
  const ended = patched(task, { lastOutcome: "failed" });
  const repetition = repetitionOf(task, context.rules);
  if (repetition === undefined) {
    return { task: patched(ended, endingOf("failed", context)), notes };
  }
  const { rule, schedule } = repetition;
  if (rule.onFailure === "stop" && task.held === undefined) {
    const repetitions = repetitionsAfterRun(ended, schedule);
    const ending = { ...endingOf("failed", context), repetitions };
    return { task: patched(ended, ending), notes };
  }
  const followed = followRun(ended, repetition, context);
  return { ...followed, notes: [...notes, ...followed.notes] };
}

function errorOf(failed: FailedAttempt, atMs: number): TaskError {
  const { failure: { code, httpStatus }, message, detailJson } = failed;
  return {
    code,
    message,
    detailJson,
    httpStatus,
    atMs,
  };
}

function noteOf(failed: FailedAttempt, error: TaskError): Note {
  const { attempt, type, http } = failed;
  return attemptNote(
    attempt,
    http === undefined ? { type, error } : { type, error, http },
  );
}

const STOP_REASONS: Readonly<
  Record<Extract<RetryDecision, { kind: "stop" }>["reason"], string>
> = {
  not_retryable: "the failure is not to be tried again",
  limit: "all retries are spent",
  for: "the next retry would begin too long after the first try",
};

function exhaustedNote(
  { reason }: Extract<RetryDecision, { kind: "stop" }>,
): Note {
  return { type: "exhausted", message: STOP_REASONS[reason] };
}

/** The code of the failure that too many lost attempts in a row make. */
const WORKER_LOST = "worker_lost";

/** Ends an attempt that no worker will finish. */
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
interface LostAttempt {
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
