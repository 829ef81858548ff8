/**
 * The lease of an attempt: how it begins, who holds it, and what its worker
 * reports during it.
 *
 * @module
 */

import type { Attempt, SettledAttempt, Task } from "../task.ts";
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
import {
  forOtherSlot,
  hasSlotPassed,
  pendingSlot,
  repetitionOf,
} from "./repetition.ts";

/**
 * How long the lease of the service's own call outlives the deadline. The
 * service ends its call at the deadline itself; were the lease to end first, a
 * call that takes its full time would count as lost.
 */
const CALL_SLACK_MS = 10_000;

const ID_PREFIX_LENGTH = "tsk_".length;

/**
 * Gives the task to a worker: when it is due, and never before its date, even if
 * it was due already and the clock was set back.
 */
const start: Handler<"start"> = (task, event, context) => {
  const { tokenHash, bootId, leaseMs, instance } = event;
  const { nowMs, rules } = context;
  const refusal = startRefusal(task, nowMs);
  if (refusal !== undefined) return wrongState(`Cannot start: ${refusal}`);
  const lagMs = nowMs - task.dateMs;
  const { slotMs, missed, hasSlipped } = lateness(task, context);
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
  return nowMs >= expiresAtMs ? "it has expired" : undefined;
}

/**
 * A run that begins later than the next slot was due has slipped, and is for
 * that one too, where one run is to do for all slots that passed.
 */
function lateness(
  task: Task,
  { nowMs, rules }: EventContext,
): Pick<Task, "slotMs" | "missed"> & { readonly hasSlipped: boolean } {
  const { slotMs } = task;
  const onTime = { slotMs, missed: 0, hasSlipped: false };
  const repetition = repetitionOf(task, rules);
  if (
    repetition === undefined || task.firstTriedAtMs !== undefined ||
    task.held !== undefined || slotMs > nowMs
  ) {
    return onTime;
  }
  if (!hasSlotPassed(task, repetition, nowMs)) {
    // The slot is a later one than the date when the clock has moved it on.
    return { ...onTime, hasSlipped: task.dateMs < slotMs };
  }
  const slipped = { ...onTime, hasSlipped: true };
  if (repetition.rule.catchUp !== "one") return slipped;
  const pending = pendingSlot(task, repetition, nowMs);
  if (!pending.isRun || pending.slotMs === undefined) return slipped;
  return { ...slipped, slotMs: pending.slotMs, missed: pending.missed };
}

/** A task with an attempt under way. */
export type RunningTask = Task & { readonly attempt: Attempt };

/** Tells whether a task has an attempt under way. */
export function hasAttempt(task: Task): task is RunningTask {
  return task.attempt !== undefined;
}

/** The events that only the holder of the lease may cause. */
type LeaseEventKind = Extract<
  TaskEvent,
  { readonly lease: LeaseProof }
>["kind"];

/** What is done with a lease. */
interface LeaseAction {
  /** The verb of the message when it is not the caller's. */
  readonly action: string;
  /**
   * The outcome that it brings; when the attempt has ended with that very one,
   * it is said twice, and that is right.
   *
   * @default {none: an attempt that has ended takes nothing more}
   */
  readonly outcome?: SettledAttempt["outcome"] | undefined;
}

/**
 * Handles events of those that hold the lease, and refuses others.
 *
 * That the lease's time is over does not matter as long as the task still has
 * the attempt: no other worker was given the task, so a sign of life that comes late
 * saves a second execution, and can't collide with one. It is over when the
 * clock has looked at the task and has put an end to the attempt.
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

/** What keeps the end of an attempt. */
export function settledAs(
  { id, tokenHash }: Attempt,
  outcome: SettledAttempt["outcome"],
): SettledAttempt {
  return { id, tokenHash, outcome };
}

/** A note that belongs to an attempt. */
export function attemptNote({ id, instance }: Attempt, note: Note): Note {
  return { ...note, attempt: id, instance };
}

/** An attempt that only the service holds has no token, so no token fits it. */
function fits(
  held: Pick<Attempt, "id" | "tokenHash">,
  proof: LeaseProof,
): boolean {
  if (held.id !== proof.id) return false;
  return proof.tokenHash === undefined ||
    held.tokenHash !== "" && held.tokenHash === proof.tokenHash;
}

/** The least time between two records of an attempt's progress. */
const MIN_PROGRESS_SPACING_MS = 1_000;

/** Two records are further apart by this share of the time before the first. */
const PROGRESS_SPACING_SHARE = 0.1;

/**
 * Takes note of what a heartbeat says of progress. The history gets a record
 * when it is something else than was told last, and a tenth of the attempt's
 * time has passed since then, a second at least. So their number grows with the
 * logarithm of the time: about a hundred in a day, and a dozen more by the third.
 * What came too early is told with the first heartbeat that comes late enough,
 * unless something else was said by then.
 *
 * @returns What of the attempt changes and what there is to tell; undefined when
 * there is nothing new.
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

/** Less time than before means that the clock was set, and tells nothing. */
function isLater(afterMs: number, lastMs: number): boolean {
  const spacingMs = Math.max(
    MIN_PROGRESS_SPACING_MS,
    lastMs * PROGRESS_SPACING_SHARE,
  );
  return afterMs < lastMs || afterMs >= lastMs + spacingMs;
}

/**
 * Hands the lease from the service's own call to the worker, for no longer than
 * the attempt may take. The record tells the lease's end, which may be earlier
 * than the worker asked for.
 */
const accept = withLease<"accept">(
  { action: "accept" },
  (task, { leaseMs, http }, { nowMs }) => {
    const { bootId: _bootId, ...kept } = task.attempt;
    const askedMs = nowMs + leaseMs;
    const expiresAtMs = Math.min(askedMs, kept.deadlineMs);
    const end = `the lease ends at ${new Date(expiresAtMs).toISOString()}`;
    const message = expiresAtMs < askedMs
      ? `${end}, when the attempt times out: sooner than was asked for`
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
 * Extends the lease, never beyond the deadline. While the service's own call is
 * open, that holds the lease, and only progress counts. Of progress the task has
 * what was said last, and the history some; see {@linkcode progressNews}.
 */
const heartbeat = withLease<"heartbeat">(
  { action: "extend" },
  (task, event, { nowMs }) => {
    const { attempt } = task;
    // Of the service's own call its worker's life says nothing.
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

/** Keeps what the worker has to say. */
const log = withLease<"log">({ action: "log" }, (task, { lines }) => {
  if (lines.length === 0) return undefined;
  const message = lines.join("\n");
  return { task, notes: [attemptNote(task.attempt, { type: "log", message })] };
});

/**
 * Takes the task back as if it had not been tried: it waits at once, or is
 * scheduled after the delay that was asked for.
 */
const release = withLease<"release">(
  { action: "release", outcome: "released" },
  (task, { delayMs = 0, reason: message }, { nowMs }) => {
    const { attempt, firstTriedAtMs } = task;
    const nextDateMs = delayMs > 0 ? nowMs + delayMs : undefined;
    const note: Note = { type: "released", nextDateMs, message };
    return {
      task: patched(task, {
        status: nextDateMs === undefined ? "waiting" : "scheduled",
        isDue: nextDateMs === undefined,
        dateMs: nextDateMs ?? task.dateMs,
        lostInRow: 0,
        settled: settledAs(attempt, "released"),
        attempt: undefined,
        // When this was the run's first try, the run is as good as never tried.
        firstTriedAtMs: firstTriedAtMs === attempt.startedAtMs
          ? undefined
          : firstTriedAtMs,
      }),
      notes: [attemptNote(attempt, note)],
    };
  },
);

/** What happens from the beginning of an attempt on until it ends. */
export const LEASE_EVENTS: Handlers<
  "start" | "accept" | "heartbeat" | "log" | "release"
> = { start, accept, heartbeat, log, release };
