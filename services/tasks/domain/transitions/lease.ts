/**
 * Whether somebody holds the lease of a task's attempt.
 *
 * @module
 */

import type { Attempt, SettledAttempt, Task } from "../task.ts";
import type { LeaseProof, Transition } from "../task_event.ts";
import { type Note, UNCHANGED } from "./step.ts";

/** What somebody wants to do with a lease. */
export interface LeaseClaim {
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
  readonly outcome?: SettledAttempt["outcome"];
}

/**
 * Goes on with the attempt when the claim holds it.
 *
 * That the lease's time is over does not matter as long as the task still has
 * the attempt: nobody else was given the task, so a sign of life that comes late
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
    return gone(claim, "it is not the task's lease, or not any more");
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
