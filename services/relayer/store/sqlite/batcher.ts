/**
 * Batches writes: all writes of one turn share a transaction and its wait for
 * the disk.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { rollBack } from "../../../shared/sqlite/transaction.ts";
import { StoreBusyError } from "../store.ts";
import type { FileErrors } from "./database_file.ts";

/** Options of {@linkcode Batcher}. */
interface BatcherOptions {
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /**
   * Most writes that wait; one more is refused with a
   * {@linkcode StoreBusyError}.
   */
  readonly maxQueued: number;
  /** Most bytes that wait; a single write may have more if no other waits. */
  readonly maxQueuedBytes: number;
  /** Names the file in errors. */
  readonly errors: FileErrors;
  /**
   * Most milliseconds that a write with `canWait` waits for another one.
   *
   * @default {100}
   */
  readonly longestWaitMs?: number;
  /**
   * Called at the end of each transaction, within it.
   *
   * @default nothing
   */
  readonly beforeCommit?: () => void;
  /**
   * Called after each transaction, when it is durable and before its writes
   * resolve. If it throws, all writes of that transaction reject with the
   * error.
   *
   * @default nothing
   */
  readonly afterCommit?: () => void;
}

/** Options of a write, for {@linkcode Batcher.add}. */
export interface BatchedWrite {
  /** About how many bytes of memory the write takes while it is queued. */
  readonly bytes: number;
  /**
   * Whether the write can wait a moment for another one to share a transaction
   * with. It keeps its place before all later writes.
   *
   * @default {false}
   */
  readonly canWait?: boolean | undefined;
}

interface Waiting {
  readonly apply: () => unknown;
  readonly bytes: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Result =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Most milliseconds of rest after a transaction. The rest is as long as the
 * transaction took, so that other work gets the thread, which a transaction
 * blocks until the disk has it. Writes that come meanwhile form the next
 * transaction.
 */
const LONGEST_REST_MS = 5;
const MAX_GROUP = 2_000;
/**
 * Most bytes of a transaction, unless a single write has more: 1 MiB blocks the
 * thread for about 5 ms.
 */
const MAX_GROUP_BYTES = 1_048_576;
const LEAST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;

/**
 * Groups writes into transactions, in the order of the calls. A first write
 * after a pause is done at the end of its turn, together with all other writes
 * of that turn. A write resolves only when it is on disk.
 */
export class Batcher {
  readonly #db: DatabaseSync;
  readonly #options: BatcherOptions;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #waiting: Waiting[] = [];
  #queuedBytes = 0;
  #isPlanned = false;
  /** The timer of waiting writes with `canWait`; other writes clear it. */
  #later: ReturnType<typeof setTimeout> | undefined;
  #msPerPiece = 0.1;
  #restUntilMs = -Infinity;
  #whenIdle: (() => void)[] = [];

  /**
   * Writes over this connection, on which nothing else may begin transactions.
   */
  constructor(db: DatabaseSync, options: BatcherOptions) {
    this.#db = db;
    this.#options = options;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
  }

  /**
   * Runs `apply` within the next transaction and resolves with its result when
   * the transaction is durable. `apply` may run again after its writes were
   * undone; if it throws, only its own writes are undone.
   *
   * @throws {StoreBusyError} when too many writes wait
   * @throws {StoreFailedError} when the file or its disk failed; it is unknown
   * then whether the write is on disk
   */
  async add<T>(
    apply: () => T,
    { bytes, canWait = false }: BatchedWrite,
  ): Promise<T> {
    this.#demandRoom(bytes);
    this.#queuedBytes += bytes;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ apply, bytes, resolve, reject });
    });
    if (!canWait) this.#plan();
    else this.#planLater();
    return await answer as T;
  }

  /** Writes all queued writes; resolves when the queue is empty. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    this.#plan();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #demandRoom(bytes: number): void {
    const { maxQueued, maxQueuedBytes } = this.#options;
    const count = this.#waiting.length;
    if (count === 0) return;
    if (count < maxQueued && this.#queuedBytes + bytes <= maxQueuedBytes) {
      return;
    }
    throw new StoreBusyError(
      Math.min(
        LONGEST_RETRY_MS,
        Math.max(LEAST_RETRY_MS, Math.ceil(count * this.#msPerPiece)),
      ),
    );
  }

  #planLater(): void {
    // The planned transaction includes all waiting writes.
    if (this.#isPlanned) return;
    const { longestWaitMs = 100 } = this.#options;
    this.#later ??= setTimeout(() => this.#plan(), longestWaitMs);
  }

  #plan(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    if (this.#isPlanned || this.#waiting.length === 0) return;
    this.#isPlanned = true;
    const restMs = this.#restUntilMs - this.#options.monotonicMs();
    if (restMs >= 1) setTimeout(() => this.#run(), restMs);
    else setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isPlanned = false;
    this.#writeGroup(this.#nextGroup());
    if (this.#waiting.length > 0) return this.#plan();
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #nextGroup(): readonly Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const piece of this.#waiting) {
      bytes += piece.bytes;
      if (count > 0 && (bytes > MAX_GROUP_BYTES || count === MAX_GROUP)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  #writeGroup(group: readonly Waiting[]): void {
    const { errors } = this.#options;
    const startedMs = this.#options.monotonicMs();
    for (const { bytes } of group) this.#queuedBytes -= bytes;
    try {
      const results = this.#write(group);
      this.#options.afterCommit?.();
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results[index];
        if (result?.kind === "failed") reject(errors.named(result.error));
        else resolve(result?.value);
      }
    } catch (error) {
      for (const { reject } of group) reject(errors.named(error));
    }
    const endedMs = this.#options.monotonicMs();
    const tookMs = endedMs - startedMs;
    this.#restUntilMs = endedMs + Math.min(LONGEST_REST_MS, tookMs);
    this.#msPerPiece = 0.8 * this.#msPerPiece + 0.2 * tookMs / group.length;
  }

  #write(group: readonly Waiting[]): readonly Result[] {
    try {
      return this.#transaction(() =>
        group.map(({ apply }) => ({ kind: "ok", value: apply() }))
      );
    } catch (error) {
      if (group.length === 1) throw error;
      // A second try runs each write in a savepoint, so that only those fail
      // that throw themselves.
      return this.#transaction(() =>
        group.map(({ apply }) => this.#attempt(apply))
      );
    }
  }

  #transaction(run: () => readonly Result[]): readonly Result[] {
    this.#begin.run();
    try {
      const results = run();
      this.#options.beforeCommit?.();
      this.#commit.run();
      return results;
    } catch (error) {
      rollBack(this.#db);
      throw error;
    }
  }

  #attempt(apply: () => unknown): Result {
    this.#db.exec("SAVEPOINT piece");
    try {
      const value = apply();
      this.#db.exec("RELEASE piece");
      return { kind: "ok", value };
    } catch (error) {
      // SQLite has ended the whole transaction: the other writes are lost, too.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec("ROLLBACK TO piece; RELEASE piece");
      return { kind: "failed", error };
    }
  }
}
