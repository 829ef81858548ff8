/**
 * What happens during an attempt, and the end that is no outcome.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { attemptNote, settledAs, withLease } from "./lease.ts";
import { progressNews } from "./progress.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  UNCHANGED,
} from "./step.ts";

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
 * what was said last, and the history some; see `progress.ts`.
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
      ...(reason === undefined ? {} : { message: reason }),
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
