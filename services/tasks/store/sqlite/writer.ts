/**
 * Writing, as the thread that serves sees it: transactions are encoded in batches,
 * which wait in a queue for the thread that writes.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Logger } from "../../../shared/logger.ts";
import { StoreFailedError } from "../../../shared/store_failed_error.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import type { Durability } from "./database_file.ts";
import type { Transaction, TransactionResult } from "../store.ts";
import { CommitQueue, type WrittenGroup } from "./commit_queue.ts";
import {
  encodeBatch,
  type EncodedBatch,
  tenantOfTransaction,
} from "./encode_batch.ts";
import type { InternedIds } from "./interned_ids.ts";
import type { PayloadCache } from "./task_row.ts";
import {
  APPLIED,
  type Applied,
  conflictOf,
  type LogFault,
  type OperationValue,
  type WriterAnswer,
  type WriterRequest,
} from "./thread_messages.ts";

/** Options of {@linkcode Writer}. */
interface WriterOptions {
  /** The database's path. */
  readonly path: string;
  /** What a commit waits for. */
  readonly durability: Durability;
  /** Logs the death of the thread, and when it cannot move the log of commits. */
  readonly logger: Logger;
  /** Keys of the MACs of what the database holds, the one that seals first. */
  readonly proofKeys: readonly ProofKey[];
  /** The time, which is kept with migrations. */
  readonly nowMs: () => number;
  /** Starts the thread. */
  readonly startThread: () => Worker;
}

/** Starts the thread that writes. */
export function startWriterThread(): Worker {
  return new Worker(new URL("./writer_thread.ts", import.meta.url), {
    type: "module",
  });
}

/** For how long a successful write proves that the next one can be made. */
const PROVEN_MS = 2_000;

type Succeeded = Exclude<WriterAnswer, { readonly kind: "failed" }>;

interface Waiting {
  readonly resolve: (answer: Succeeded) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Sends requests to the thread that writes. When the thread dies, what it was
 * asked fails and the next request finds a new one.
 */
export class Writer {
  readonly #options: WriterOptions;
  #worker: Worker | undefined;
  #opening: Promise<unknown> | undefined;
  #waiting: Waiting[] = [];
  #isClosed = false;
  /** When tasks were last written; -Infinity after a failure. */
  #wroteAtMs = -Infinity;

  /** A writer whose thread is not started yet. */
  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /**
   * Starts the thread and opens the database.
   *
   * @throws {Error} when it cannot be opened
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
   * @throws {StoreFailedError} when it failed, or the thread died; it may have
   * been done all the same when the thread died
   */
  async apply(
    lists: readonly (readonly OperationValue[])[],
  ): Promise<Applied> {
    try {
      const answer = await this.#request({ kind: "apply", lists });
      if (answer.kind !== "applied") {
        throw new StoreFailedError("Cannot write: got the answer of another");
      }
      this.#wroteAtMs = this.#options.nowMs();
      return answer;
    } catch (error) {
      this.#wroteAtMs = -Infinity;
      throw error;
    }
  }

  /**
   * Sends another request; all requests are answered in their order. When the thread
   * dies those under way fail, though they may have been carried out.
   *
   * @throws {StoreFailedError} when it failed, or the thread died
   */
  async ask(
    request: Exclude<WriterRequest, { readonly kind: "apply" }>,
  ): Promise<readonly number[]> {
    const answer = await this.#request(request);
    return answer.kind === "done" ? answer.numbers : [];
  }

  /**
   * Resolves when it can write: when it has just done so, or after a write that is as
   * long as those of tasks and changes nothing.
   *
   * @throws {StoreFailedError} when it cannot
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
    const { path, durability, nowMs, proofKeys, startThread } = this.#options;
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
      proofKeys,
    });
    this.#opening = opening;
    // A thread that cannot open is of no use to the next request.
    opening.catch((error: Error) => {
      if (this.#worker === worker) this.#end(error);
    });
    return opening;
  }

  #request(request: WriterRequest): Promise<Succeeded> {
    // A failure to open also fails the request, which waits behind it.
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
      worker.postMessage(request);
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
  /** The thread that writes. */
  readonly writer: Writer;
  /** Numbers of tenants and of workers' queues. */
  readonly interned: InternedIds;
  /** Long payloads that are in the database. */
  readonly payloads: PayloadCache;
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Most rows that wait. */
  readonly maxQueuedRows: number;
  /** Most characters that wait. */
  readonly maxQueuedChars: number;
  /** Called with the milliseconds that a batch of a tenant waited to be written. */
  readonly onWritten: (tenantId: string, waitedMs: number) => void;
  /** Called with each group of batches that was written, or was not. */
  readonly onGroup: ((group: WrittenGroup) => void) | undefined;
  /** Called when a commit is refused, as too much waits. */
  readonly onRefused: (() => void) | undefined;
}

/** Most transactions that are encoded together. */
const MAX_BATCH_TRANSACTIONS = 100;
const MAX_GROUP_ROWS = 5_000;
const MAX_GROUP_CHARS = 8_000_000;
const AHEAD_ROWS = 30;

const OK: TransactionResult = { kind: "ok" };

/** Writes transactions. */
export class TransactionWriter {
  readonly #options: TransactionWriterOptions;
  readonly #queue: CommitQueue<EncodedBatch>;

  /** Writes with nothing waiting. */
  constructor(options: TransactionWriterOptions) {
    this.#options = options;
    const { writer, maxQueuedRows, maxQueuedChars, onWritten } = options;
    this.#queue = new CommitQueue({
      write: (group) => writer.apply(group.map(({ values }) => values)),
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

  /** Applies transactions and answers after they are durable. */
  async commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    this.#queue.demandRoom({ rows: transactions.length, chars: 0 });
    const batches = this.#encode(transactions);
    const answers = await this.#queue.add(batches);
    return batches.flatMap((batch, index) =>
      this.#settle(batch, answers[index] ?? [])
    );
  }

  /** Resolves when nothing waits. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #encode(transactions: readonly Transaction[]): readonly EncodedBatch[] {
    const { interned, payloads, nowMs } = this.#options;
    const options = { interned, payloads, nowMs: nowMs() };
    const batches: EncodedBatch[] = [];
    for (let from = 0; from < transactions.length;) {
      const to = endOfBatch(transactions, from);
      batches.push(encodeBatch(transactions.slice(from, to), options));
      from = to;
    }
    return batches;
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
      (_, transaction): TransactionResult => {
        const code = codes[transaction] ?? APPLIED;
        return code === APPLIED
          ? OK
          : { kind: "conflict", ...conflictOf(code) };
      },
    );
  }
}

/** The end of the transactions that form a batch: of one tenant, and not too many. */
function endOfBatch(
  transactions: readonly Transaction[],
  from: number,
): number {
  const first = transactions[from];
  if (first === undefined) return from;
  const tenant = tenantOfTransaction(first);
  for (let to = from + 1; to < transactions.length; to++) {
    const transaction = transactions[to];
    if (transaction === undefined || to === from + MAX_BATCH_TRANSACTIONS) {
      return to;
    }
    if (tenantOfTransaction(transaction) !== tenant) return to;
  }
  return transactions.length;
}
