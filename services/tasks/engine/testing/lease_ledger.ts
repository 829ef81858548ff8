/**
 * The ledger of who works at what in a simulation. Where neither the process nor
 * the store fails, nobody is given a task that another one is at, a lease ends
 * only when its worker is lost, and it does so when its real time is over,
 * whatever the time of day is set to.
 *
 * @module
 */

import type { Attempt, Task } from "../../domain/task.ts";
import type { Transaction, TransactionResult } from "../../store/store.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import { draftOf } from "../../domain/history.ts";

/**
 * How far the end of a lease may lie from its time: the clock is looked at once
 * a second, and one that is set back by three has a doubt of as much.
 */
const TOLERANCE_MS = 5_000;

/** An attempt as real time has it. */
interface RealAttempt {
  readonly startedAtMs: number;
  /** The last sign of life of its worker. */
  readonly seenAtMs: number;
}

/** Options of {@linkcode LeaseLedger}. */
export interface LeaseLedgerOptions {
  /** Hears of broken promises, and knows what was canceled. */
  readonly ledger: SimulationLedger;
  /** The time that has passed, however the time of day was set. */
  readonly elapsedMs: () => number;
  /** Whether neither the process nor the store fails. */
  readonly isReliable: boolean;
}

/** Sees who works at what. */
export class LeaseLedger {
  readonly #options: LeaseLedgerOptions;
  /** The attempts that somebody works at, by task. */
  readonly #atWork = new Map<string, Set<string>>();
  readonly #lost = new Set<string>();
  readonly #real = new Map<string, RealAttempt>();
  readonly #tasks = new Map<string, Task>();

  /** A ledger of a world in which nobody works yet. */
  constructor(options: LeaseLedgerOptions) {
    this.#options = options;
  }

  /** Somebody begins to work at an attempt of a task. */
  begins(taskId: string, attemptId: string): void {
    const { ledger, isReliable } = this.#options;
    const others = this.#atWork.get(taskId) ?? new Set();
    this.#atWork.set(taskId, others);
    for (const other of others) {
      if (!isReliable || ledger.canceledAttempts.has(other)) continue;
      ledger.broken(`${attemptId} began while somebody was at ${other}`);
    }
    others.add(attemptId);
  }

  /** Nobody works at an attempt any more. */
  ends(taskId: string, attemptId: string): void {
    this.#atWork.get(taskId)?.delete(attemptId);
  }

  /** Who worked at an attempt is gone without a word. */
  vanishes(taskId: string, attemptId: string): void {
    this.ends(taskId, attemptId);
    this.#lost.add(attemptId);
  }

  /** Sees a commit that was applied. */
  applied(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ): void {
    if (!this.#options.isReliable) return;
    for (const [index, { writes }] of transactions.entries()) {
      if (results[index]?.kind !== "ok") continue;
      for (const write of writes) {
        if (write.kind !== "task" || write.next === undefined) continue;
        const previous = this.#tasks.get(write.id)?.attempt;
        this.#tasks.set(write.id, write.next);
        this.#sign(previous, write.next.attempt);
        for (const { type } of write.history.map(draftOf)) {
          if (type === "lost" || type === "timed_out") {
            this.#checkEnd(previous, type);
          }
        }
      }
    }
  }

  #sign(previous: Attempt | undefined, next: Attempt | undefined): void {
    if (next === undefined) return;
    const nowMs = this.#options.elapsedMs();
    const real = this.#real.get(next.id);
    if (real === undefined) {
      this.#real.set(next.id, { startedAtMs: nowMs, seenAtMs: nowMs });
      return;
    }
    // When its begin moves, too, it is the clock that was set.
    const isSign = next.startedAtMs === previous?.startedAtMs &&
      next.seenAtMs !== previous.seenAtMs;
    if (isSign) this.#real.set(next.id, { ...real, seenAtMs: nowMs });
  }

  #checkEnd(attempt: Attempt | undefined, type: "lost" | "timed_out"): void {
    const { ledger, elapsedMs } = this.#options;
    if (attempt === undefined) return;
    const { id, leaseMs, startedAtMs, deadlineMs } = attempt;
    if (!this.#lost.has(id)) {
      return ledger.broken(`${id} was ${type}, and its worker is at it`);
    }
    const real = this.#real.get(id);
    const [beginMs = 0, lastsMs] = type === "lost"
      ? [real?.seenAtMs, leaseMs]
      : [real?.startedAtMs, deadlineMs - startedAtMs];
    const tookMs = elapsedMs() - beginMs;
    if (Math.abs(tookMs - lastsMs) <= TOLERANCE_MS) return;
    ledger.broken(`${id} was ${type} after ${tookMs} ms of ${lastsMs}`);
  }
}
