/**
 * What the holder of a lease is answered.
 *
 * @module
 */

import type { LeaseProof, TaskEvent } from "../../domain/task_event.ts";
import type { Task } from "../../domain/task.ts";
import { taskOfLease } from "../../engine/lease_id.ts";
import type { LeaseOutcome, LeaseWord } from "../../engine/leases.ts";
import type { Scrubber } from "../../secrets/scrub.ts";
import { leaseOfNoTask, noSuchLease } from "../../http/admission.ts";
import { json, type JsonAnswer } from "../../http/answer.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { utcTime } from "../../domain/utc_time.ts";
import { type LogTally, MAX_ATTEMPT_LINES } from "./log_budget.ts";
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
   * Counts the log lines of the lease; needed for those only.
   * @default they are not counted
   */
  readonly tally?: LogTally;
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
  const { tenantId, leaseId, token, workerId, tally } = holder;
  const event = eventOfWord(word, holder.scrubber);
  let isForeign = false;
  let lines: { readonly count: number; readonly areTaken: boolean } | undefined;
  return {
    heard: {
      tenantId,
      leaseId,
      token,
      event(lease, task): TaskEvent {
        isForeign = workerId !== undefined && task.workerId !== workerId;
        const said = event(
          isForeign ? { id: lease.id, tokenHash: NO_TOKEN } : lease,
        );
        if (said.kind !== "log" || tally === undefined) return said;
        if (!isHeldBy(task, said.lease)) return said;
        // A commit that was refused is planned again, with the lines it has.
        const count = said.lines.length;
        lines ??= { count, areTaken: tally.take(count) };
        return lines.areTaken ? said : { ...said, lines: [] };
      },
    },
    answer(outcome) {
      if (lines !== undefined && !lines.areTaken && outcome.kind === "ok") {
        return tooManyLines(lines.count, tally?.lines ?? 0);
      }
      if (lines?.areTaken && outcome.kind !== "ok") {
        tally?.giveBack(lines.count);
      }
      return answerOf(outcome, { word, leaseId, isForeign });
    },
  };
}

function isHeldBy({ attempt }: Task, lease: LeaseProof): boolean {
  return attempt?.id === lease.id && attempt.tokenHash === lease.tokenHash;
}

function tooManyLines(count: number, used: number): ProblemAnswer {
  return problem("quota_exceeded", {
    detail: `Cannot add log lines: there are ${used}, ${count} are too many ` +
      `more, an attempt may have ${MAX_ATTEMPT_LINES}`,
    extensions: { limit: MAX_ATTEMPT_LINES, used },
  });
}

function answerOf(
  outcome: LeaseOutcome,
  { word: { action }, leaseId, isForeign }: {
    readonly word: Word;
    readonly leaseId: string;
    readonly isForeign: boolean;
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
      const canceled = isCanceled && !isForeign;
      return canceled && action === "heartbeat"
        ? json(viewCanceled(leaseId))
        : problem("lease_gone", { detail: reason, extensions: { canceled } });
    }
    case "missing":
      return taskOfLease(leaseId) === undefined
        ? noSuchLease()
        : leaseOfNoTask();
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
