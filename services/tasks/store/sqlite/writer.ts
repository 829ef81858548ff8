/**
 * The serving thread's side of writing: transactions are encoded in batches,
 * which wait in a queue for the thread that writes.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Pausing } from "../../../shared/slices.ts";
import type { Logger } from "../../../shared/logger.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import type { Applied } from "../../../shared/commit_queue.ts";
import { APPLIED, decodeResult } from "../result_codes.ts";
import { inBatches, isLong } from "../tenant_batches.ts";
import type { Durability } from "./database_file.ts";
import type { Transaction, TransactionResult } from "../store.ts";
import {
  CommitQueue,
  type WrittenGroup,
} from "../../../shared/commit_queue.ts";
import {
  encodeBatch,
  type EncodedBatch,
  encodeLongBatch,
} from "./encode_batch.ts";
import type { InternedIds } from "./interned_ids.ts";
import type { PayloadCache } from "./task_row.ts";
import type {
  LogFault,
  OperationList,
  WriterAnswer,
  WriterRequest,
} from "./thread_messages.ts";

/** Options of {@linkcode Writer}. */
interface WriterOptions {
  /** The database's path. */
  readonly path: string;
  /** Whether commits wait for the disk. */
  readonly durability: Durability;
  /** Logs when the thread dies, and when it cannot move the log of commits. */
  readonly logger: Logger;
  /**
   * The present, in milliseconds since the epoch, which is stored with
   * migrations.
   */
  readonly nowMs: () => number;
  /** Starts the thread that writes. */
  readonly startThread: () => Worker;
}

/** Starts the thread that writes. */
export function startWriterThread(): Worker {
  return new Worker(new URL("./writer_thread.ts", import.meta.url), {
    type: "module",
  });
}

/**
 * For how many milliseconds a successful write counts as proof that writing
 * works.
 */
const PROVEN_MS = 2_000;

type Succeeded = Exclude<WriterAnswer, { readonly kind: "failed" }>;

interface Waiting {
  readonly resolve: (answer: Succeeded) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Sends requests to the thread that writes. When the thread dies, its open
 * requests fail and the next request starts another thread.
 */
export class Writer {
  readonly #options: WriterOptions;
  #worker: Worker | undefined;
  #opening: Promise<unknown> | undefined;
  #waiting: Waiting[] = [];
  #isClosed = false;
  /** When transactions were last written; -Infinity after a failure. */
  #wroteAtMs = -Infinity;

  #busyMs = 0;

  /** Creates the writer without starting its thread. */
  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /**
   * Starts the thread and opens the database.
   *
   * @throws {Error} when the database cannot be opened
   */
  async open(): Promise<void> {
    try {
      await this.#opened();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /**
   * Applies lists of transactions in one commit of SQLite.
   *
   * @throws {StoreFailedError} when the commit failed, or the thread died; in
   * the second case the transactions may have been applied all the same
   */
  async apply(
    lists: readonly OperationList[],
  ): Promise<Applied> {
    try {
      const answer = await this.#request({ kind: "apply", lists });
      if (answer.kind !== "applied") {
        throw new StoreFailedError(
          "Cannot write: received the answer of another write",
        );
      }
      this.#wroteAtMs = this.#options.nowMs();
      this.#busyMs += answer.workMs + answer.commitMs;
      return answer;
    } catch (error) {
      this.#wroteAtMs = -Infinity;
      throw error;
    }
  }

  /** How many milliseconds all transactions took so far. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /** Whether no request waits for its answer. */
  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * Sends another request; all requests are answered in their order. When the
   * thread dies, the open ones fail, though they may have been carried out.
   *
   * @throws {StoreFailedError} when the request failed, or the thread died
   */
  async ask(
    request: Exclude<WriterRequest, { readonly kind: "apply" }>,
  ): Promise<readonly number[]> {
    const answer = await this.#request(request);
    return answer.kind === "done" ? answer.numbers : [];
  }

  /**
   * Resolves when writing works: at once after a recent write, otherwise after
   * a test write that changes no data and is as long as those of tasks.
   *
   * @throws {StoreFailedError} when writing fails
   */
  async check(): Promise<void> {
    const ageMs = this.#options.nowMs() - this.#wroteAtMs;
    if (ageMs >= 0 && ageMs < PROVEN_MS) return;
    await this.ask({ kind: "probe" });
  }

  /** Closes the database, which empties its log, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#worker === undefined) return;
    try {
      await this.#send({ kind: "close" });
    } finally {
      this.#end();
    }
  }

  #opened(): Promise<unknown> {
    if (this.#opening !== undefined) return this.#opening;
    if (this.#isClosed) return Promise.reject(closedError());
    const { path, durability, nowMs, startThread } = this.#options;
    const worker = startThread();
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<WriterAnswer | LogFault>) => {
      if (this.#worker !== worker) return;
      if (data.kind !== "log_fault") return this.#settle(data);
      this.#options.logger.warn("the log of commits could not be moved", {
        reason: data.message,
      });
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#die(worker, event.message);
    };
    worker.onmessageerror = () => this.#die(worker, "an answer was unreadable");
    const opening = this.#send({
      kind: "open",
      path,
      durability,
      nowMs: nowMs(),
    });
    this.#opening = opening;
    // A thread that could not open the database is of no use to the next
    // request.
    opening.catch((error: Error) => {
      if (this.#worker === worker) this.#end(error);
    });
    return opening;
  }

  #request(request: WriterRequest): Promise<Succeeded> {
    // A failure to open also fails the request, which is queued behind it.
    if (this.#opening === undefined) this.#opened().catch(() => {});
    return this.#send(request);
  }

  #send(request: WriterRequest): Promise<Succeeded> {
    const worker = this.#worker;
    if (worker === undefined) {
      return Promise.reject(closedError());
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage(
        request,
        // Packed values are moved to the thread instead of copied.
        request.kind !== "apply"
          ? []
          : request.lists.flatMap((list) =>
            "pieces" in list ? list.pieces.map(({ buffer }) => buffer) : []
          ),
      );
    });
  }

  #settle(answer: WriterAnswer): void {
    const waiting = this.#waiting.shift();
    if (answer.kind !== "failed") waiting?.resolve(answer);
    else {
      waiting?.reject(new StoreFailedError(`Cannot write: ${answer.message}`));
    }
  }

  #die(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return;
    this.#options.logger.error("the thread that writes died", { reason });
    this.#end();
  }

  #end(
    error: Error = new StoreFailedError(
      "Cannot write: the thread that writes has ended",
    ),
  ): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#opening = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }
}

function closedError(): Error {
  return new StoreFailedError("Cannot write: the store is closed");
}

/** Options of {@linkcode TransactionWriter}. */
interface TransactionWriterOptions {
  /** Sends groups to the thread that writes. */
  readonly writer: Writer;
  /** The numbers of tenants and of workers' queues. */
  readonly interned: InternedIds;
  /** The cache of long payloads that are in the database. */
  readonly payloads: PayloadCache;
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** The most rows that wait to be written. */
  readonly maxQueuedRows: number;
  /** The most characters that wait to be written. */
  readonly maxQueuedChars: number;
  /**
   * Called with the milliseconds that a batch of a tenant waited to be written.
   */
  readonly onWritten: (tenantId: string, waitedMs: number) => void;
  /**
   * Called with each group of batches after it was written, or its write
   * failed.
   */
  readonly onGroup: ((group: WrittenGroup) => void) | undefined;
  /** Called when a commit is refused because too much waits. */
  readonly onRefused: (() => void) | undefined;
}

const MAX_GROUP_ROWS = 5_000;
const MAX_GROUP_CHARS = 8_000_000;
/**
 * Small groups go ahead, so that the thread that writes has the next one when a
 * commit ends: at 50 connections that makes creates a tenth faster than 30 rows.
 */
const AHEAD_ROWS = 4;

/** Commits transactions through a queue of batches. */
export class TransactionWriter {
  readonly #options: TransactionWriterOptions;
  readonly #queue: CommitQueue<EncodedBatch>;
  /** Commits whose transactions are being encoded in slices. */
  readonly #encoding = new Set<Promise<unknown>>();

  /** Starts with an empty queue. */
  constructor(options: TransactionWriterOptions) {
    this.#options = options;
    const { writer, maxQueuedRows, maxQueuedChars, onWritten } = options;
    this.#queue = new CommitQueue({
      write: (group) => writer.apply(group.map(({ operations }) => operations)),
      atEndOfTurn: (callback) => void setImmediate(callback),
      monotonicMs: () => performance.now(),
      maxGroupRows: MAX_GROUP_ROWS,
      maxGroupChars: MAX_GROUP_CHARS,
      aheadRows: AHEAD_ROWS,
      maxQueuedRows,
      maxQueuedChars,
      onWritten: ({ tenant }, waitedMs) => onWritten(tenant, waitedMs),
      onGroup: options.onGroup,
      onRefused: options.onRefused,
    });
  }

  /**
   * Applies transactions and answers once they are durable; see
   * {@linkcode Store.commit}.
   */
  async commit(
    transactions: readonly Transaction[],
    pausing?: Pausing,
  ): Promise<readonly TransactionResult[]> {
    this.#queue.demandRoom({ rows: transactions.length, chars: 0 });
    const batches = pausing !== undefined && isLong(transactions)
      ? await this.#encodeInSlices(transactions, pausing)
      : this.#encode(transactions);
    const answers = await this.#queue.add(batches);
    return batches.flatMap((batch, index) =>
      this.#settle(batch, answers[index] ?? [])
    );
  }

  /**
   * Resolves when nothing is encoded, no batch waits and no group is being
   * written.
   */
  async idle(): Promise<void> {
    while (this.#encoding.size > 0) await Promise.allSettled(this.#encoding);
    await this.#queue.idle();
  }

  #encode(transactions: readonly Transaction[]): readonly EncodedBatch[] {
    const options = this.#encodeOptions;
    return inBatches(transactions).map((batch) => encodeBatch(batch, options));
  }

  async #encodeInSlices(
    transactions: readonly Transaction[],
    pausing: Pausing,
  ): Promise<readonly EncodedBatch[]> {
    const options = { ...this.#encodeOptions, pausing };
    const encoding = (async () => {
      const batches: EncodedBatch[] = [];
      for (const batch of inBatches(transactions)) {
        batches.push(await encodeLongBatch(batch, options));
      }
      return batches;
    })();
    this.#encoding.add(encoding);
    try {
      return await encoding;
    } finally {
      this.#encoding.delete(encoding);
    }
  }

  get #encodeOptions(): Parameters<typeof encodeBatch>[1] {
    const { interned, payloads, nowMs } = this.#options;
    return { interned, payloads, nowMs: nowMs() };
  }

  #settle(
    batch: EncodedBatch,
    codes: readonly number[],
  ): readonly TransactionResult[] {
    const { payloads } = this.#options;
    for (const name of batch.newNames) name.isStored = true;
    for (const { after, transaction, kind, id, payload } of batch.payloads) {
      const isApplied = (codes[transaction] ?? APPLIED) === APPLIED;
      if (isApplied !== (after === "applied")) continue;
      if (payload === undefined) payloads.delete(kind, id);
      else payloads.set(kind, id, payload);
    }
    return Array.from(
      { length: batch.transactions },
      (_, transaction) => decodeResult(codes[transaction] ?? APPLIED),
    );
  }
}
