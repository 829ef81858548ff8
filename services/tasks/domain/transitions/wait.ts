/**
 * Handles the events of tasks that wait: the attempt that ends with a wait, the
 * event or the decision that resumes the task, and the end of the wait's time.
 *
 * A waiting task is `scheduled` for the end of its wait, so the clock that
 * starts scheduled tasks ends waits, too.
 *
 * @module
 */

import { isFinal, type Task, type TaskError } from "../task.ts";
import {
  type EventContext,
  type Handler,
  type Handlers,
  type Note,
  patched,
  preceded,
  type Step,
  wrongState,
} from "../task_event.ts";
import {
  type AwaitedThing,
  describeAwaited,
  freshEvents,
  type KeptEvent,
  refuseEvent,
  type Resumption,
} from "../wait.ts";
import { attemptNote, settledAs, withLease } from "./lease.ts";
import { isSpawning } from "./repetition.ts";
import { runAgain } from "./run_after.ts";
import { cutPreview, endFailedRun } from "./run_end.ts";

/** The error code of a run whose wait was in vain. */
const WAIT_TIMED_OUT = "wait_timed_out";

/** A task that waits. */
type WaitingTask = Task & {
  readonly wait: { readonly for: AwaitedThing };
};

/** Tells whether a task waits for an event or an approval, paused or not. */
export function isAwaiting(task: Pick<Task, "wait">): task is WaitingTask {
  return task.wait?.for !== undefined;
}

/**
 * Ends the attempt without an outcome: the task sleeps until the event or the
 * decision. An event of that name that has come before resumes it at once.
 */
const wait = withLease<"wait">(
  { action: "wait", outcome: "waited" },
  (
    task,
    { asked, timeoutMs, onTimeout, message, stateJson, http },
    context,
  ) => {
    const { nowMs } = context;
    const { attempt } = task;
    const dateMs = nowMs + timeoutMs;
    const events = freshEvents(task.wait?.events, nowMs);
    const found = asked.kind === "event"
      ? events.find(({ name }) => name === asked.event)
      : undefined;
    const waiting: WaitingTask = {
      ...task,
      status: "scheduled",
      isDue: false,
      dateMs,
      lostInRow: 0,
      durationMs: Math.max(0, nowMs - attempt.startedAtMs),
      settled: settledAs(attempt, "waited"),
      attempt: undefined,
      wait: {
        for: { ...asked, sinceMs: nowMs, onTimeout, message },
        stateJson: stateJson ?? task.wait?.stateJson,
        events: unlessEmpty(events.filter((event) => event !== found)),
      },
    };
    const note = attemptNote(attempt, {
      type: "waiting",
      message: `it waits for ${describeAwaited(asked)}`,
      nextDateMs: dateMs,
      http,
    });
    return found === undefined
      ? { task: waiting, notes: [note] }
      : preceded([note], resumeByEvent(waiting, found, nowMs));
  },
);

/**
 * Resumes a task that waits for the event. For any other live task the event is
 * kept until a wait of its current run takes it.
 */
const sendEvent: Handler<"send_event"> = (
  task,
  { name, dataJson },
  { nowMs, actor: by },
) => {
  const event: KeptEvent = { name, dataJson, atMs: nowMs, by };
  if (isFinal(task.status)) {
    return wrongState(`Cannot send the event: the task is "${task.status}"`);
  }
  if (isAwaiting(task) && awaitsEvent(task.wait.for, name)) {
    return resumeByEvent(task, event, nowMs);
  }
  if (isSpawning(task) && task.firstTriedAtMs === undefined) {
    return wrongState(
      "Cannot send the event: the task is a schedule; send it to a task that " +
        "the schedule has made",
    );
  }
  const kept = freshEvents(task.wait?.events, nowMs);
  const refusal = refuseEvent(kept, event);
  if (refusal !== undefined) {
    return wrongState(`Cannot keep the event: ${refusal}`);
  }
  return {
    task: patched(task, { wait: { ...task.wait, events: [...kept, event] } }),
    notes: [{
      type: "received",
      message: `the event "${name}" is kept for a wait`,
      resultPreview: cutPreview(dataJson),
    }],
  };
};

function awaitsEvent(awaited: AwaitedThing, name: string): boolean {
  return awaited.kind === "event" && awaited.event === name;
}

/** Resumes a task that waits for an approval with the decision. */
const decide: Handler<"decide"> = (
  task,
  { isApproved, comment },
  { nowMs: atMs, actor: by },
) => {
  if (!isAwaiting(task) || task.wait.for.kind !== "approval") {
    return wrongState(
      `Cannot ${isApproved ? "approve" : "reject"}: the task waits for no ` +
        "approval",
    );
  }
  const decision = isApproved ? "approved" : "rejected";
  return resumeWith(task, {
    resumed: { kind: "approval", isApproved, comment, atMs, by },
    note: {
      type: "resumed",
      message: comment === undefined ? decision : `${decision}: ${comment}`,
    },
  });
};

/** Resumes a task whose owner runs it by hand. */
export function resumeByHand(
  task: WaitingTask,
  { nowMs: atMs, actor: by }: EventContext,
): Step {
  return resumeWith(task, {
    resumed: { kind: "run", atMs, by },
    note: {
      type: "resumed",
      message: `it was run before ${describeAwaited(task.wait.for)} came`,
    },
  });
}

/** Ends a wait whose time is over, by its rule. */
export function endWait(task: WaitingTask, context: EventContext): Step {
  const { nowMs: atMs } = context;
  const { for: awaited } = task.wait;
  const message = `${describeAwaited(awaited)} did not come in time`;
  if (awaited.onTimeout === "resume") {
    return resumeWith(task, {
      resumed: { kind: "timeout", atMs },
      note: { type: "resumed", message },
    });
  }
  // The run has failed, which counts as a failed attempt does.
  const error: TaskError = { code: WAIT_TIMED_OUT, message, atMs };
  const failed = patched(task, {
    executions: task.executions + 1,
    lastOutcome: "failed",
    error,
    wait: undefined,
  });
  const note: Note = { type: "timed_out", message, error };
  if (task.again !== undefined) {
    return preceded([note], runAgain(failed, task.again, context));
  }
  return preceded(
    [note, { type: "exhausted", message }],
    endFailedRun(failed, context),
  );
}

function resumeByEvent(
  task: WaitingTask,
  event: KeptEvent,
  nowMs: number,
): Step {
  return resumeWith(task, {
    resumed: { kind: "event", ...event },
    atMs: nowMs,
    note: {
      type: "resumed",
      message: `the event "${event.name}" came`,
      resultPreview: cutPreview(event.dataJson),
    },
  });
}

/**
 * Makes a task that has waited due, with what ended the wait. A paused one stays
 * paused, and is due once it goes on.
 */
function resumeWith(
  task: WaitingTask,
  { resumed, note, atMs = resumed.atMs }: {
    readonly resumed: Resumption;
    readonly note: Note;
    /** When it is resumed. @default the time of what ended the wait */
    readonly atMs?: number;
  },
): Step {
  const { for: _, ...kept } = task.wait;
  const isPaused = task.status === "paused";
  return {
    task: patched(task, {
      status: isPaused ? "paused" : "waiting",
      isDue: !isPaused,
      dateMs: atMs,
      wait: { ...kept, resumed },
    }),
    notes: [note],
  };
}

function unlessEmpty<Item>(
  list: readonly Item[],
): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** The handlers of the events of waits. */
export const WAIT_EVENTS: Handlers<"wait" | "send_event" | "decide"> = {
  wait,
  send_event: sendEvent,
  decide,
};
