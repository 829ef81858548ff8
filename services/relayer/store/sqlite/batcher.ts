/**
 * Batches writes: those of one turn go to the disk in one transaction.
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
  /** Most pieces of work that wait. */
  readonly maxQueued: number;
  /** Most bytes that wait; one piece may have more when nothing else waits. */
  readonly maxQueuedBytes: number;
  /** Names the file in errors. */
  readonly errors: FileErrors;
  /**
   * Milliseconds that a write which can wait does so at most.
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
   * Called after each transaction, when it is durable and before any write is
   * answered. What it throws reaches all who wait for that transaction.
   *
   * @default nothing
   */
  readonly afterCommit?: () => void;
}

/** What a {@linkcode Batcher} is told of a write. */
export interface BatchedWrite {
  /** About how much memory it takes while it is queued. */
  readonly bytes: number;
  /**
   * Whether it can wait for a moment for another write to share a transaction
   * with. It keeps its place before all that come after it.
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
 * After a transaction as long goes to other work, for the disk is waited for in
 * the thread that answers requests; what comes meanwhile forms the next one.
 */
const LONGEST_REST_MS = 5;
const MAX_GROUP = 2_000;
/** A mebibyte holds the thread for about 5 ms; one piece may have more. */
const MAX_GROUP_BYTES = 1_048_576;
const LEAST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;

/**
 * Groups writes: after a silence the first one is done at the end of the turn
 * with all that came in it, in the order they came. No write is answered before the
 * disk has what was written.
 */
export class Batcher {
  readonly #db: DatabaseSync;
  readonly #options: BatcherOptions;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #waiting: Waiting[] = [];
  #queuedBytes = 0;
  #isPlanned = false;
  /** Runs writes that can wait when no other write has come. */
  #later: ReturnType<typeof setTimeout> | undefined;
  #msPerPiece = 0.1;
  #restUntilMs = -Infinity;
  #whenIdle: (() => void)[] = [];

  /** A writer over a connection on which nothing else begins transactions. */
  constructor(db: DatabaseSync, options: BatcherOptions) {
    this.#db = db;
    this.#options = options;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
  }

  /**
   * Has `apply` run within the next transaction and answers with what it returns,
   * once that is durable. It may be run more than once, each time as if for the
   * first time; when it throws, only its own writes are undone.
   *
   * @throws {StoreBusyError} when too much waits
   * @throws {StoreFailedError} when the file or its disk failed; whether it was
   * written is not known then
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

  /** Writes what is queued; resolves when nothing is. */
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
    // What is planned takes along all that waits.
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
      // Only the piece that fails is to suffer.
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
      // Without a transaction there is nothing to go on with.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec("ROLLBACK TO piece; RELEASE piece");
      return { kind: "failed", error };
    }
  }
}
