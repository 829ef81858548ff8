/**
 * Small writes that come together go to the disk together.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import {
  inTransaction,
  type TransactionTarget,
} from "../../shared/sqlite/transaction.ts";
import type { FileErrors } from "../store/sqlite/database_file.ts";

/** Options of {@linkcode GroupedWrites}. */
export interface GroupedWritesOptions {
  /** The database. */
  readonly db: TransactionTarget;
  /** Measures the time. */
  readonly clock: Clock;
  /** Names the file in errors. */
  readonly errors: FileErrors;
  /**
   * Most writes of a transaction.
   *
   * @default {1000}
   */
  readonly maxGroup?: number;
  /**
   * Most writes that wait; one more is refused.
   *
   * @default {20000}
   */
  readonly maxWaiting?: number;
}

interface Waiting {
  readonly write: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * After a transaction so many times as long goes to other work: the disk is
 * waited for in the thread that answers requests.
 */
const REST_FACTOR = 2;
const LONGEST_REST_MS = 20;

/** Runs writes in groups, each group in one transaction. */
export class GroupedWrites {
  readonly #options: GroupedWritesOptions;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #restUntilMs = -Infinity;
  #whenIdle: (() => void)[] = [];

  /** Nothing waits yet. */
  constructor(options: GroupedWritesOptions) {
    this.#options = options;
  }

  /**
   * Runs a write of one statement; resolves when it is on disk. One that fails
   * leaves the others of its group alone.
   *
   * @throws {Error} what the write throws, or that too much waits
   */
  add(write: () => void): Promise<void> {
    if (this.#waiting.length >= (this.#options.maxWaiting ?? 20_000)) {
      return Promise.reject(
        new Error("Cannot write to the ledger: too much waits to be written"),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when nothing waits. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const restMs = Math.max(0, this.#restUntilMs - this.#nowMs());
    this.#options.clock.setTimer(() => this.#run(), restMs);
  }

  #run(): void {
    this.#isScheduled = false;
    const group = this.#waiting.splice(0, this.#options.maxGroup ?? 1_000);
    const startedMs = this.#nowMs();
    const { errors } = this.#options;
    const failures = this.#writeGroup(group);
    const tookMs = Math.max(0, this.#nowMs() - startedMs);
    this.#restUntilMs = startedMs + tookMs +
      Math.min(LONGEST_REST_MS, REST_FACTOR * tookMs);
    for (const [index, { resolve, reject }] of group.entries()) {
      if (failures.has(index)) reject(errors.named(failures.get(index)));
      else resolve();
    }
    if (this.#waiting.length > 0) this.#schedule();
    else for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** What was not written, by its place, and why. */
  #writeGroup(group: readonly Waiting[]): ReadonlyMap<number, unknown> {
    const { db } = this.#options;
    const failures = new Map<number, unknown>();
    try {
      inTransaction(db, () => {
        for (const [index, { write }] of group.entries()) {
          try {
            write();
          } catch (error) {
            // SQLite has undone this statement and nothing else. Where it had to
            // undo more, there is no transaction left to go on in.
            if (!db.isTransaction) throw error;
            failures.set(index, error);
          }
        }
      });
      return failures;
    } catch (error) {
      return new Map(group.map((_, index) => [index, error]));
    }
  }

  #nowMs(): number {
    const { clock } = this.#options;
    return clock.monotonicMs?.() ?? clock.nowMs();
  }
}
