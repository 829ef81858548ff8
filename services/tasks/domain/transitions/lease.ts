/**
 * Handles the events of a lease: its start, its heartbeats, and what the worker
 * reports during the attempt.
 *
 * @module
 */

import {
  type Attempt,
  movedCalls,
  type SettledAttempt,
  type Task,
} from "../task.ts";
import {
  type EventContext,
  type EventOf,
  type Handler,
  type Handlers,
  type LeaseProof,
  type Note,
  type Outcome,
  patched,
  type TaskEvent,
  wrongState,
} from "../task_event.ts";
import { missedNotes } from "./due.ts";
import { findRepetition } from "../rules.ts";
import {
  forOtherSlot,
  hasSlotPassed,
  lateFromMs,
  pendingSlot,
} from "./repetition.ts";

/**
 * How long the lease of a push call outlives the attempt's deadline, in
 * milliseconds. The service ends its call at the deadline itself; if the lease
 * ended first, a call that takes its full time would count as lost.
 */
const CALL_SLACK_MS = 10_000;

const ID_PREFIX_LENGTH = "tsk_".length;

/**
 * Starts an attempt of a due task. It never starts before the task's date, even
 * when the task was due already and the clock was set back.
 */
const start: Handler<"start"> = (task, event, context) => {
  const { tokenHash, bootId, leaseMs, instance } = event;
  const { nowMs, rules } = context;
  const refusal = startRefusal(task, nowMs);
  if (refusal !== undefined) return wrongState(`Cannot start: ${refusal}`);
  const { slotMs, dateMs, missed, hasSlipped } = lateness(task, context);
  const lagMs = nowMs - dateMs;
  const deadlineMs = nowMs + rules.timeoutMs;
  const attempt: Attempt = {
    id: `lse_${task.id.slice(ID_PREFIX_LENGTH)}_${task.fence + 1}`,
    tokenHash,
    bootId,
    startedAtMs: nowMs,
    expiresAtMs: bootId === undefined
      ? Math.min(nowMs + leaseMs, deadlineMs)
      : deadlineMs + CALL_SLACK_MS,
    deadlineMs,
    leaseMs,
    instance,
  };
  const running = patched(task, {
    status: "running",
    isDue: false,
    attempt,
    fence: task.fence + 1,
    dateMs,
    lagMs,
    ...forOtherSlot(task, slotMs),
    missed: task.missed + missed,
    startedAtMs: nowMs,
    firstTriedAtMs: task.firstTriedAtMs ?? nowMs,
  });
  const note = attemptNote(attempt, { type: "started", amount: lagMs });
  const slipped: Note = { type: "slipped", amount: lagMs };
  return {
    task: running,
    notes: hasSlipped ? [note, slipped, ...missedNotes(missed)] : [note],
  };
};

function startRefusal(task: Task, nowMs: number): string | undefined {
  const { status, isDue, dateMs, expiresAtMs = Infinity } = task;
  if (status !== "waiting" && status !== "retry" && status !== "done") {
    return `the task is "${status}"`;
  }
  if (!isDue || nowMs < dateMs) return "its date has not come";
  if (nowMs >= expiresAtMs) return "it has expired";
  return nowMs >= lateFromMs(task) ? "it is too late for its slot" : undefined;
}

/**
 * Tells whether a run begins late. A run that begins after the next slot has
 * slipped. In the mode "one", in which one run stands for all slots that
 * passed, it is for the latest of them. If its worker was paused since the
 * date, it is late from that slot on.
 */
function lateness(
  task: Task,
  { nowMs, rules }: EventContext,
): Pick<Task, "slotMs" | "dateMs" | "missed"> & {
  readonly hasSlipped: boolean;
} {
  const { slotMs, dateMs } = task;
  const onTime = { slotMs, dateMs, missed: 0, hasSlipped: false };
  const repetition = findRepetition(task, rules);
  if (
    repetition === undefined || task.firstTriedAtMs !== undefined ||
    task.held !== undefined || slotMs > nowMs
  ) {
    return onTime;
  }
  if (!hasSlotPassed(task, repetition, nowMs)) {
    // The slot is later than the date if the clock has already moved the run to
    // a later slot.
    return { ...onTime, hasSlipped: dateMs < slotMs };
  }
  const slipped = { ...onTime, hasSlipped: true };
  if (repetition.rule.catchUp !== "one") return slipped;
  const pending = pendingSlot(task, repetition, nowMs);
  if (!pending.isRun || pending.slotMs === undefined) return slipped;
  const { slotMs: latestMs, missed } = pending;
  return dateMs < (rules.resumedAtMs ?? -Infinity)
    ? { slotMs: latestMs, dateMs: latestMs, missed, hasSlipped: false }
    : { ...slipped, slotMs: latestMs, missed };
}

/** A task with a running attempt. */
export type RunningTask = Task & { readonly attempt: Attempt };

/** Tells whether a task has a running attempt. */
export function hasAttempt(task: Task): task is RunningTask {
  return task.attempt !== undefined;
}

/** The events that only the holder of the lease may cause. */
type LeaseEventKind = Extract<
  TaskEvent,
  { readonly lease: LeaseProof }
>["kind"];

/** What a caller does with a lease. */
interface LeaseAction {
  /** The verb of the message that refuses a caller without the lease. */
  readonly action: string;
  /**
   * The outcome that the action gives the attempt. When the attempt has already
   * ended with this outcome, the worker repeats its report, which is fine.
   *
   * @default {none: an attempt that has ended accepts nothing more}
   */
  readonly outcome?: SettledAttempt["outcome"] | undefined;
}

/**
 * Wraps a handler so that it only runs for the holder of the lease, and refuses
 * other callers.
 *
 * A lease whose time is over is still accepted as long as the task has the
 * attempt: no other worker was given the task, so a late heartbeat saves a
 * second execution and cannot collide with one. The lease is gone once the
 * clock has looked at the task and ended the attempt.
 */
export function withLease<Kind extends LeaseEventKind>(
  { action, outcome }: LeaseAction,
  proceed: (
    task: RunningTask,
    event: EventOf<Kind>,
    context: EventContext,
  ) => Outcome,
): Handler<Kind> {
  const gone = (state: string): Outcome => ({
    kind: "refused",
    code: "lease_gone",
    reason: `Cannot ${action} with this lease: ${state}`,
  });
  return (task, event, context) => {
    if (hasAttempt(task) && fits(task.attempt, event.lease)) {
      return proceed(task, event, context);
    }
    const { settled } = task;
    if (settled === undefined || !fits(settled, event.lease)) {
      return gone("it is not, or no longer, the task's lease");
    }
    return settled.outcome === outcome
      ? undefined
      : gone(`its attempt has ended as "${settled.outcome}"`);
  };
}

/** The fields of an ended attempt that are kept. */
export function settledAs(
  { id, tokenHash }: Attempt,
  outcome: SettledAttempt["outcome"],
): SettledAttempt {
  return { id, tokenHash, outcome };
}

/** A note that names its attempt. */
export function attemptNote({ id, instance }: Attempt, note: Note): Note {
  return { ...note, attempt: id, instance };
}

/**
 * Tells whether a proof is valid for an attempt. An attempt that only the
 * service holds has no token, so no token is valid for it.
 */
function fits(
  held: Pick<Attempt, "id" | "tokenHash">,
  proof: LeaseProof,
): boolean {
  if (held.id !== proof.id) return false;
  return proof.tokenHash === undefined ||
    held.tokenHash !== "" && held.tokenHash === proof.tokenHash;
}

/**
 * The least time between two progress records of an attempt, in milliseconds.
 */
const MIN_PROGRESS_SPACING_MS = 1_000;

/**
 * The distance between two progress records grows to this share of the time
 * before the first of them.
 */
const PROGRESS_SPACING_SHARE = 0.1;

/**
 * Processes the progress of a heartbeat. The history gets a record when the
 * progress differs from the last recorded one, and at least a tenth of the
 * attempt's time, and a second, has passed since then. So the number of records
 * grows with the logarithm of the time: about a hundred in a day, and a dozen
 * more by the third day. Progress that was reported too early is recorded with
 * the first heartbeat that is late enough, unless newer progress was reported
 * by then.
 *
 * @returns the fields of the attempt that change, and the notes; undefined when
 * nothing is new
 */
function progressNews(
  attempt: Attempt,
  { progressJson = attempt.progressJson }: EventOf<"heartbeat">,
  nowMs: number,
):
  | {
    readonly fields: Pick<Attempt, "progressJson" | "progressNoted">;
    readonly notes: readonly Note[];
  }
  | undefined {
  const { progressNoted: last } = attempt;
  const isSaid = progressJson !== attempt.progressJson;
  const isOwed = last?.isNewest === false;
  if (progressJson === undefined || !isSaid && !isOwed) return undefined;
  const afterMs = nowMs - attempt.startedAtMs;
  if (last === undefined || isLater(afterMs, last.afterMs)) {
    return {
      fields: { progressJson, progressNoted: { afterMs, isNewest: true } },
      notes: [attemptNote(attempt, { type: "progress", progressJson })],
    };
  }
  const progressNoted = { ...last, isNewest: false };
  return isSaid
    ? { fields: { progressJson, progressNoted }, notes: [] }
    : undefined;
}

/**
 * Tells whether enough time has passed for another progress record. A time
 * before the last record means that the clock was set; this counts as enough,
 * since the two times cannot be compared.
 */
function isLater(afterMs: number, lastMs: number): boolean {
  const spacingMs = Math.max(
    MIN_PROGRESS_SPACING_MS,
    lastMs * PROGRESS_SPACING_SHARE,
  );
  return afterMs < lastMs || afterMs >= lastMs + spacingMs;
}

/**
 * Hands the lease of a push call over to the worker, for no longer than the
 * attempt may take. The history record states the end of the lease, which may
 * be earlier than the worker asked for.
 */
const accept = withLease<"accept">(
  { action: "accept" },
  (task, { leaseMs, http }, { nowMs }) => {
    const { bootId: _bootId, ...kept } = task.attempt;
    const askedMs = nowMs + leaseMs;
    const expiresAtMs = Math.min(askedMs, kept.deadlineMs);
    const end = `the lease ends at ${new Date(expiresAtMs).toISOString()}`;
    const message = expiresAtMs < askedMs
      ? `${end}, when the attempt times out: sooner than requested`
      : end;
    return {
      task: patched(task, {
        attempt: { ...kept, leaseMs, expiresAtMs, seenAtMs: nowMs },
      }),
      notes: [attemptNote(kept, { type: "accepted", message, http })],
    };
  },
);

/**
 * Extends the lease, never beyond the attempt's deadline. While a push call is
 * open, the call itself holds the lease, so only the progress of the heartbeat
 * counts. The task keeps the last progress, and the history some of it; see
 * {@linkcode progressNews}.
 */
const heartbeat = withLease<"heartbeat">(
  { action: "extend" },
  (task, event, { nowMs }) => {
    const { attempt } = task;
    // While the service's own call is open, a heartbeat does not affect its
    // lease.
    const isHeld = attempt.bootId === undefined;
    const expiresAtMs = isHeld
      ? Math.min(
        nowMs + (event.extendMs ?? attempt.leaseMs),
        attempt.deadlineMs,
      )
      : attempt.expiresAtMs;
    const news = progressNews(attempt, event, nowMs);
    const isUnchanged = news === undefined &&
      expiresAtMs === attempt.expiresAtMs &&
      (!isHeld || attempt.seenAtMs !== undefined);
    if (isUnchanged) return undefined;
    const seenAtMs = isHeld ? nowMs : attempt.seenAtMs;
    return {
      task: patched(task, {
        attempt: { ...attempt, expiresAtMs, ...news?.fields, seenAtMs },
      }),
      notes: news?.notes ?? [],
    };
  },
);

/** Adds the worker's log lines to the history. */
const log = withLease<"log">({ action: "log" }, (task, { lines }) => {
  if (lines.length === 0) return undefined;
  const message = lines.join("\n");
  return { task, notes: [attemptNote(task.attempt, { type: "log", message })] };
});

/**
 * Takes the task back as if it had not been tried: it waits again at once, or
 * is scheduled after the delay that the worker asked for.
 */
const release = withLease<"release">(
  { action: "release", outcome: "released" },
  (task, { delayMs = 0, reason: message }, { nowMs }) => {
    const { attempt, firstTriedAtMs } = task;
    const nextDateMs = delayMs > 0 ? nowMs + delayMs : undefined;
    const dateMs = nextDateMs ?? task.dateMs;
    const note: Note = { type: "released", nextDateMs, message };
    // When this was the run's first try, the run is as good as never tried.
    const isUntried = firstTriedAtMs === attempt.startedAtMs;
    return {
      task: patched(task, {
        status: nextDateMs === undefined ? "waiting" : "scheduled",
        isDue: nextDateMs === undefined,
        dateMs,
        calls: isUntried ? movedCalls(task, dateMs) : task.calls,
        // It has the values of the run that was asked for, and stands for it.
        again: isUntried ? undefined : task.again,
        lostInRow: 0,
        settled: settledAs(attempt, "released"),
        attempt: undefined,
        firstTriedAtMs: isUntried ? undefined : firstTriedAtMs,
      }),
      notes: [attemptNote(attempt, note)],
    };
  },
);

/** The handlers of the events from the start of an attempt until its end. */
export const LEASE_EVENTS: Handlers<
  "start" | "accept" | "heartbeat" | "log" | "release"
> = { start, accept, heartbeat, log, release };
