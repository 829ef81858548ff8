/**
 * Handles the events that callers cause: canceling, pausing and resuming a
 * task, and running or retrying it by hand.
 *
 * @module
 */

import { isFinal, movedCalls, type Task } from "../task.ts";
import {
  type EventContext,
  type Handler,
  type Handlers,
  type Note,
  type Outcome,
  type Patch,
  patched,
  preceded,
  type Step,
  wrongState,
} from "../task_event.ts";
import { buildEnding, settleAfterPause } from "./due.ts";
import { attemptNote, settledAs } from "./lease.ts";
import type { FieldChange } from "../history.ts";
import { nextOccurrence } from "../schedule.ts";
import { findRepetition } from "../rules.ts";
import {
  finishedRuns,
  forSlot,
  isCounted,
  isSpawning,
  toGrid,
} from "./repetition.ts";
import { isAwaiting, resumeByHand } from "./wait.ts";

/**
 * Cancels a live task at once, even during an attempt. The attempt ends as
 * canceled, so the worker learns it with its next heartbeat, and its report is
 * refused.
 */
const cancel: Handler<"cancel"> = (task, event, context) => {
  const { status, attempt } = task;
  if (status === "canceled") return undefined;
  if (isFinal(status)) {
    return wrongState(`Cannot cancel: the task is "${status}"`);
  }
  const note: Note = { type: "canceled", message: event.reason };
  return {
    task: patched(task, {
      ...buildEnding(task, "canceled", context),
      settled: attempt ? settledAs(attempt, "canceled") : task.settled,
    }),
    notes: [attempt ? attemptNote(attempt, note) : note],
  };
};

/**
 * Pauses a task, so that it is not started; it does not expire meanwhile
 * either. A running task cannot be paused, for nothing would hold its attempt.
 */
const pause: Handler<"pause"> = (task) => {
  const { status } = task;
  if (status === "paused") return undefined;
  if (status === "running") {
    return wrongState(
      `Cannot pause: the task is "running"; wait for the attempt's end or cancel it`,
    );
  }
  if (isFinal(status)) {
    return wrongState(`Cannot pause: the task is "${status}"`);
  }
  return {
    task: patched(task, {
      status: "paused",
      pausedFrom: status,
      isDue: false,
    }),
    notes: [{ type: "paused" }],
  };
};

/**
 * Resumes a paused task in the status it had. If its date has passed meanwhile,
 * it is due; for slots that passed meanwhile the catch-up rule decides, as
 * after downtime, and the date of the run is its slot.
 */
const resume: Handler<"resume"> = (task, _event, context) => {
  const { status, pausedFrom = "scheduled" } = task;
  if (status !== "paused") {
    return isFinal(status)
      ? wrongState(`Cannot resume: the task is "${status}"`)
      : undefined;
  }
  const live = patched(task, { status: pausedFrom, pausedFrom: undefined });
  return preceded(
    [{ type: "resumed" }],
    pausedFrom === "blocked"
      ? { task: live, notes: [] }
      : settleAfterPause(live, context),
  );
};

/**
 * Tries a task again: a final task as a new run, a task in `retry` at once. A
 * caller who asks for a retry knows the task's dependencies and its expiry, so
 * neither holds it back. A schedule that creates tasks goes on with its next
 * slot.
 */
const retry: Handler<"retry"> = (task, _event, context) => {
  const { status } = task;
  const { nowMs } = context;
  if (status === "retry") {
    return {
      task: patched(task, { status: "waiting", dateMs: nowMs, isDue: true }),
      notes: [{ type: "requeued" }],
    };
  }
  if (!isFinal(status)) {
    return wrongState(
      `Cannot retry: the task is "${status}"; only one that has ended or is in "retry" can be`,
    );
  }
  if (isSpawning(task)) return reopenSchedule(task, context);
  const reopened = reopen(task, { dateMs: nowMs, nowMs });
  return {
    ...reopened,
    task: patched(reopened.task, { status: "waiting", isDue: true }),
  };
};

/**
 * Runs a task now, whatever its date and its dependencies. For a repeating task
 * this is a run besides the schedule: the next slot stays, with its date, and
 * the schedule goes on with it whatever the outcome of the run. A schedule that
 * creates tasks creates one more.
 */
const run: Handler<"run"> = (task, _event, context) => {
  const { status, isDue } = task;
  const { nowMs } = context;
  const refusal = runRefusal(task);
  if (refusal !== undefined) return wrongState(`Cannot run: ${refusal}`);
  if (isAwaiting(task)) return resumeByHand(task, context);
  const isUntried = task.firstTriedAtMs === undefined;
  if (isSpawning(task) && isUntried) {
    const notes: readonly Note[] = [{ type: "spawned", amount: 1 }];
    return { task, notes, spawnSlotsMs: [nowMs] };
  }
  if (isDue && task.dateMs <= nowMs) return undefined;
  const patch = isUntried ? besideSchedule(task, context) : {};
  return {
    task: patched(task, {
      status: status === "retry" || status === "done" ? status : "waiting",
      ...patch,
      dateMs: nowMs,
      isDue: true,
    }),
    notes: [{ type: "moved", nextDateMs: nowMs }],
  };
};

/**
 * The slot fields of a run that has not begun when a caller starts it by hand.
 */
function besideSchedule(task: Task, { nowMs, rules }: EventContext): Patch {
  const { run, slotMs, dateMs, held } = task;
  const byHand: Patch = {
    calls: movedCalls(task, nowMs),
    slotMs: Math.min(slotMs, nowMs),
    startWithinMs: undefined,
  };
  const schedule = findRepetition(task, rules)?.schedule;
  if (schedule === undefined || dateMs <= nowMs) return byHand;
  // The coming run may itself be one by hand, which only starts earlier then.
  const isOfSchedule = held === undefined &&
    (run === 0 || isCounted(task, schedule));
  if (!isOfSchedule) return byHand;
  return {
    ...byHand,
    held: { slotMs, dateMs },
    isRepetition: run === 0 ? undefined : false,
  };
}

/**
 * Makes a final task live again as a new run with a date, `scheduled` for the
 * moment. An expiry that would end the new run before it starts is removed.
 */
export function reopen(
  task: Task,
  { dateMs, nowMs }: { readonly dateMs: number; readonly nowMs: number },
): Step {
  const { expiresAtMs } = task;
  const isLifted = expiresAtMs !== undefined &&
    expiresAtMs <= Math.max(nowMs, dateMs);
  const reopened = patched(task, {
    status: "scheduled",
    run: task.run + 1,
    retries: 0,
    lostInRow: 0,
    dateMs,
    slotMs: dateMs,
    isRepetition: false,
    startWithinMs: undefined,
    isDue: false,
    expiresAtMs: isLifted ? undefined : expiresAtMs,
    firstTriedAtMs: undefined,
    finishedAtMs: undefined,
    purgeAtMs: undefined,
  });
  const changes = isLifted ? [lifted(expiresAtMs)] : undefined;
  return {
    task: reopened,
    notes: [{ type: "requeued", nextDateMs: dateMs, changes }],
    run: reopened.run,
  };
}

function reopenSchedule(task: Task, { nowMs, rules }: EventContext): Outcome {
  const schedule = findRepetition(task, rules)?.schedule;
  const nextMs = schedule === undefined ? undefined : nextOccurrence(schedule, {
    ...toGrid(task),
    afterMs: nowMs - 1,
    runs: finishedRuns(task),
  });
  if (nextMs === undefined) {
    return wrongState("Cannot retry: the task's schedule has no more slots");
  }
  const reopened = reopen(task, { dateMs: nextMs, nowMs });
  return {
    ...reopened,
    task: patched(reopened.task, forSlot(reopened.task, nextMs)),
  };
}

function runRefusal({ status }: Task): string | undefined {
  if (status === "paused") return `the task is "paused"; resume it first`;
  if (status === "running") return `the task is "running"`;
  return isFinal(status) ? `the task is "${status}"; retry it` : undefined;
}

function lifted(expiresAtMs: number): FieldChange {
  const from = new Date(expiresAtMs).toISOString();
  return { field: "expires", from, to: null };
}

/**
 * The handlers of the events that callers cause, except changes of the task.
 */
export const OWNER_EVENTS: Handlers<
  "cancel" | "pause" | "resume" | "retry" | "run"
> = { cancel, pause, resume, retry, run };
