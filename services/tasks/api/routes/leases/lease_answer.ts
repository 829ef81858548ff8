/**
 * What the holder of a lease is answered.
 *
 * @module
 */

import type { LeaseProof, TaskEvent } from "../../../domain/task_event.ts";
import type { Task } from "../../../domain/task.ts";
import type { LeaseOutcome, LeaseWord } from "../../../engine/leases.ts";
import type { Scrubber } from "../../../secrets/scrub.ts";
import { json, type JsonAnswer } from "../../http/answer.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { utcTime } from "../../views/utc_time.ts";
import { eventOfWord } from "./word_event.ts";
import type { Word } from "./word_schema.ts";

/** Who says something, and what proves that the lease is theirs. */
export interface Holder {
  /** The tenant. */
  readonly tenantId: string;
  /** The lease's id. */
  readonly leaseId: string;
  /** What they say is its token. */
  readonly token: string;
  /** Takes the secrets of the lease's worker out; there are none if absent. */
  readonly scrubber: Scrubber | undefined;
  /**
   * The only worker whose leases they may hold.
   * @default any
   */
  readonly workerId?: string;
}

/** Something said, ready for the engine, and what it is answered. */
export interface SpokenWord {
  /** What the engine hears. */
  readonly heard: LeaseWord;
  /** Makes the answer of what came of it. */
  answer(outcome: LeaseOutcome): JsonAnswer | ProblemAnswer;
}

/** A token that fits no lease: no hash is empty. */
const NO_TOKEN = "";

/** Makes a word ready for the engine. */
export function speak(word: Word, holder: Holder): SpokenWord {
  const { tenantId, leaseId, token, workerId } = holder;
  const event = eventOfWord(word, holder.scrubber);
  let wasTheirs = false;
  return {
    heard: {
      tenantId,
      leaseId,
      token,
      event(lease, task): TaskEvent {
        if (workerId !== undefined && task.workerId !== workerId) {
          return event({ id: lease.id, tokenHash: NO_TOKEN });
        }
        wasTheirs = isSettledOf(task, lease);
        return event(lease);
      },
    },
    answer: (outcome) => answerOf(outcome, { word, leaseId, wasTheirs }),
  };
}

/** The problem of a lease that never was, as far as the tenant goes. */
export function noSuchLease(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find lease: there is none with this id",
  });
}

function isSettledOf({ settled }: Task, lease: LeaseProof): boolean {
  return settled?.id === lease.id && settled.tokenHash === lease.tokenHash;
}

function answerOf(
  outcome: LeaseOutcome,
  { word: { action }, leaseId, wasTheirs }: {
    readonly word: Word;
    readonly leaseId: string;
    readonly wasTheirs: boolean;
  },
): JsonAnswer | ProblemAnswer {
  switch (outcome.kind) {
    case "ok": {
      const { task, isRepeated } = outcome;
      const isOutcome = action !== "heartbeat" && action !== "log";
      return json(viewState(task, {
        leaseId,
        isRepeated: isRepeated && isOutcome,
      }));
    }
    case "lease_gone": {
      const { reason, isCanceled } = outcome;
      const canceled = isCanceled && wasTheirs;
      return canceled && action === "heartbeat"
        ? json(viewCanceled(leaseId))
        : problem("lease_gone", { detail: reason, extensions: { canceled } });
    }
    case "missing":
      return noSuchLease();
    case "conflict":
      throw new Error(
        `Cannot write what a worker said: there is a conflict by ` +
          `"${outcome.reason}"`,
      );
  }
}

function viewState(
  task: Task,
  { leaseId, isRepeated }: {
    readonly leaseId: string;
    readonly isRepeated: boolean;
  },
): Readonly<Record<string, unknown>> {
  const { id, status, attempt } = task;
  const isNext = status === "retry" || status === "done" ||
    status === "scheduled" || status === "waiting";
  return {
    id: leaseId,
    task: id,
    status,
    date: isNext ? utcTime(task.dateMs) : null,
    expires_at: attempt?.id === leaseId ? utcTime(attempt.expiresAtMs) : null,
    canceled: false,
    repeated: isRepeated,
  };
}

/** What the one who does canceled work hears at the next sign of life. */
function viewCanceled(leaseId: string): Readonly<Record<string, unknown>> {
  return {
    id: leaseId,
    task: `tsk_${leaseId.slice(4, 30)}`,
    status: "canceled",
    date: null,
    expires_at: null,
    canceled: true,
    repeated: false,
  };
}
