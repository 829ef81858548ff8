/**
 * Checks in a simulation which worker works on which attempt. While neither the
 * process nor the store fails, a task that a worker is working on is given to
 * no other worker, and a lease ends only when its worker is lost, at the right
 * real time, whatever the machine's clock is set to.
 *
 * @module
 */

import type { Attempt, Task } from "../../domain/task.ts";
import type { Transaction, TransactionResult } from "../../store/store.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import { parseDraft } from "../../domain/history.ts";

/**
 * How far the end of a lease may be from its real time, in milliseconds: the
 * clock is read once a second, and a step back of three seconds adds as much
 * uncertainty.
 */
const TOLERANCE_MS = 5_000;

/** The real times of an attempt. */
interface RealAttempt {
  readonly startedAtMs: number;
  /** When its worker last sent a heartbeat. */
  readonly seenAtMs: number;
}

/** Options of {@linkcode LeaseLedger}. */
export interface LeaseLedgerOptions {
  /** Records broken promises, and knows which attempts were canceled. */
  readonly ledger: SimulationLedger;
  /** The real time that has passed, however the machine's clock was set. */
  readonly elapsedMs: () => number;
  /** Whether neither the process nor the store fails. */
  readonly isReliable: boolean;
}

/** Tracks and checks which worker works on which attempt. */
export class LeaseLedger {
  readonly #options: LeaseLedgerOptions;
  /** The attempts that workers are working on, by task. */
  readonly #atWork = new Map<string, Set<string>>();
  readonly #lost = new Set<string>();
  readonly #real = new Map<string, RealAttempt>();
  readonly #tasks = new Map<string, Task>();

  /** Starts without any work. */
  constructor(options: LeaseLedgerOptions) {
    this.#options = options;
  }

  /** Notes that a worker begins to work on an attempt. */
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

  /** Notes that the worker has stopped to work on an attempt. */
  ends(taskId: string, attemptId: string): void {
    this.#atWork.get(taskId)?.delete(attemptId);
  }

  /** Notes that the worker of an attempt has died silently. */
  vanishes(taskId: string, attemptId: string): void {
    this.ends(taskId, attemptId);
    this.#lost.add(attemptId);
  }

  /** Checks the attempts in a commit that was applied. */
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
        for (const { type } of write.history.map(parseDraft)) {
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
    // When the start of the attempt changes too, the clock was set.
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
