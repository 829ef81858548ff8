/**
 * The lease of an attempt: who holds it, and what its worker reports during it.
 *
 * @module
 */

import type { Attempt, SettledAttempt, Task } from "../task.ts";
import type { EventContext, LeaseProof, Transition } from "../task_event.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  UNCHANGED,
} from "./step.ts";

/** An action on a lease, and the proof that the caller holds it. */
interface LeaseClaim {
  /** What proves that it is theirs. */
  readonly lease: LeaseProof;
  /** The verb of the message when it is not. */
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
 * Goes on with the attempt when the claim holds it.
 *
 * That the lease's time is over does not matter as long as the task still has
 * the attempt: no other worker was given the task, so a sign of life that comes late
 * saves a second execution, and can't collide with one. It is over when the
 * clock has looked at the task and has put an end to the attempt.
 */
export function withLease(
  task: Task,
  claim: LeaseClaim,
  proceed: (attempt: Attempt) => Transition,
): Transition {
  const { attempt, settled } = task;
  if (attempt !== undefined && fits(attempt, claim.lease)) {
    return proceed(attempt);
  }
  if (settled === undefined || !fits(settled, claim.lease)) {
    return gone(claim, "it is not, or no longer, the task's lease");
  }
  return settled.outcome === claim.outcome
    ? UNCHANGED
    : gone(claim, `its attempt has ended as "${settled.outcome}"`);
}

/** What keeps the end of an attempt. */
export function settledAs(
  attempt: Attempt,
  outcome: SettledAttempt["outcome"],
): SettledAttempt {
  return { id: attempt.id, tokenHash: attempt.tokenHash, outcome };
}

/** A note that belongs to an attempt. */
export function attemptNote(attempt: Attempt, note: Note): Note {
  const { id, instance } = attempt;
  return instance === undefined
    ? { ...note, attempt: id }
    : { ...note, attempt: id, instance };
}

interface Held {
  readonly id: string;
  readonly tokenHash: string;
}

/** An attempt that only the service holds has no token, so no token fits it. */
function fits(held: Held, proof: LeaseProof): boolean {
  if (held.id !== proof.id) return false;
  return proof.tokenHash === undefined ||
    held.tokenHash !== "" && held.tokenHash === proof.tokenHash;
}

function gone(claim: LeaseClaim, state: string): Transition {
  return {
    kind: "refused",
    code: "lease_gone",
    reason: `Cannot ${claim.action} with this lease: ${state}`,
  };
}

/** The least time between two records of an attempt's progress. */
export const MIN_PROGRESS_SPACING_MS = 1_000;

/** Two records are further apart by this share of the time before the first. */
export const PROGRESS_SPACING_SHARE = 0.1;

/** What is new of an attempt's progress. */
interface ProgressNews {
  /** What of the attempt changes. */
  readonly fields: Pick<Attempt, "progressJson" | "progressNoted">;
  /** What there is to tell, if anything. */
  readonly notes: readonly Note[];
}

/**
 * Takes note of what a heartbeat says of progress. The history gets a record
 * when it is something else than was told last, and a tenth of the attempt's
 * time has passed since then, a second at least. So their number grows with the
 * logarithm of the time: about a hundred in a day, and a dozen more by the third.
 * What came too early is told with the first heartbeat that comes late enough,
 * unless something else was said by then.
 *
 * @returns undefined when there is nothing new
 */
function progressNews(
  attempt: Attempt,
  { progressJson = attempt.progressJson }: EventOf<"heartbeat">,
  { nowMs }: Pick<EventContext, "nowMs">,
): ProgressNews | undefined {
  const { progressNoted: last } = attempt;
  const isSaid = progressJson !== attempt.progressJson;
  const isOwed = last?.isNewest === false;
  if (progressJson === undefined || !isSaid && !isOwed) return undefined;
  const afterMs = nowMs - attempt.startedAtMs;
  if (last !== undefined && !isLater(afterMs, last.afterMs)) {
    return isSaid
      ? {
        fields: { progressJson, progressNoted: { ...last, isNewest: false } },
        notes: [],
      }
      : undefined;
  }
  return {
    fields: { progressJson, progressNoted: { afterMs, isNewest: true } },
    notes: [attemptNote(attempt, { type: "progress", progressJson })],
  };
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
export function accept(
  task: Task,
  event: EventOf<"accept">,
  context: EventContext,
): Transition {
  const claim = { lease: event.lease, action: "accept" };
  return withLease(task, claim, (attempt) => {
    const { leaseMs, http } = event;
    const { bootId: _bootId, ...kept } = attempt;
    const expiresAtMs = Math.min(context.nowMs + leaseMs, attempt.deadlineMs);
    const seenAtMs = context.nowMs;
    const accepted = { ...kept, leaseMs, expiresAtMs, seenAtMs };
    const note: Note = {
      type: "accepted",
      message: acceptedMessage({ leaseMs, expiresAtMs }, context.nowMs),
    };
    return changed(task, {
      task: patched(task, { attempt: accepted }),
      notes: [
        attemptNote(attempt, http === undefined ? note : { ...note, http }),
      ],
    }, context);
  });
}

/**
 * Extends the lease, never beyond the deadline. While the service's own call is
 * open, that holds the lease, and only progress counts. Of progress the task has
 * what was said last, and the history some; see {@linkcode progressNews}.
 */
export function heartbeat(
  task: Task,
  event: EventOf<"heartbeat">,
  context: EventContext,
): Transition {
  const claim = { lease: event.lease, action: "extend" };
  return withLease(task, claim, (attempt) => {
    const expiresAtMs = extended(attempt, event, context.nowMs);
    // Of the service's own call its worker's life says nothing.
    const isHeld = attempt.bootId === undefined;
    const seen = isHeld ? { seenAtMs: context.nowMs } : {};
    const news = progressNews(attempt, event, context);
    const isUnchanged = news === undefined &&
      expiresAtMs === attempt.expiresAtMs &&
      (!isHeld || attempt.seenAtMs !== undefined);
    if (isUnchanged) return UNCHANGED;
    return changed(task, {
      task: patched(task, {
        attempt: { ...attempt, expiresAtMs, ...news?.fields, ...seen },
      }),
      notes: news?.notes ?? [],
    }, context);
  });
}

/** Keeps what the worker has to say. */
export function log(
  task: Task,
  event: EventOf<"log">,
  context: EventContext,
): Transition {
  const claim = { lease: event.lease, action: "log" };
  return withLease(task, claim, (attempt) => {
    if (event.lines.length === 0) return UNCHANGED;
    const message = event.lines.join("\n");
    const notes = [attemptNote(attempt, { type: "log", message })];
    return changed(task, { task, notes }, context);
  });
}

/**
 * Takes the task back as if it had not been tried: it waits at once, or is
 * scheduled after the delay that was asked for.
 */
export function release(
  task: Task,
  event: EventOf<"release">,
  context: EventContext,
): Transition {
  const { lease, delayMs = 0, reason } = event;
  const claim = { lease, action: "release", outcome: "released" } as const;
  return withLease(task, claim, (attempt) => {
    const released = patched(task, {
      lostInRow: 0,
      settled: settledAs(attempt, "released"),
      ...(delayMs > 0
        ? {
          status: "scheduled",
          isDue: false,
          dateMs: context.nowMs + delayMs,
        }
        : { status: "waiting", isDue: true }),
      attempt: undefined,
      firstTriedAtMs: triedBefore(task, attempt),
    });
    const note: Note = {
      type: "released",
      ...(delayMs > 0 ? { nextDateMs: released.dateMs } : {}),
      message: reason,
    };
    const notes = [attemptNote(attempt, note)];
    return changed(task, { task: released, notes }, context);
  });
}

function extended(
  attempt: Attempt,
  { extendMs }: EventOf<"heartbeat">,
  nowMs: number,
): number {
  return attempt.bootId === undefined
    ? Math.min(nowMs + (extendMs ?? attempt.leaseMs), attempt.deadlineMs)
    : attempt.expiresAtMs;
}

/** When this was the run's first try, the run is as good as never tried. */
function triedBefore(task: Task, attempt: Attempt): number | undefined {
  const { firstTriedAtMs } = task;
  return firstTriedAtMs === attempt.startedAtMs ? undefined : firstTriedAtMs;
}

function acceptedMessage(
  { leaseMs, expiresAtMs }: Pick<Attempt, "leaseMs" | "expiresAtMs">,
  nowMs: number,
): string {
  const end = `the lease ends at ${new Date(expiresAtMs).toISOString()}`;
  return expiresAtMs < nowMs + leaseMs
    ? `${end}, when the attempt times out: sooner than was asked for`
    : end;
}
