/**
 * Everything that is written, from transactions to their results.
 *
 * @module
 */

import type { Transaction, TransactionResult } from "../store.ts";
import { CommitQueue } from "./commit_queue.ts";
import {
  encodeBatch,
  type EncodedBatch,
  tenantOfTransaction,
} from "./encode_batch.ts";
import { APPLIED, conflictOf } from "./group_applier.ts";
import type { StoreReads } from "./store_reads.ts";
import type { Writer } from "./writer.ts";

/** Options of {@linkcode StoreWrites}. */
export interface StoreWritesOptions {
  /** The thread that writes. */
  readonly writer: Writer;
  /** Knows what is in the database. */
  readonly reads: StoreReads;
  /** Tells the time. */
  readonly nowMs: () => number;
  /** Calls back at the end of the turn. */
  readonly atEndOfTurn: (callback: () => void) => void;
  /** Most rows that wait. */
  readonly maxQueuedRows: number;
  /** Most characters that wait. */
  readonly maxQueuedChars: number;
  /** Hears how many milliseconds something of a tenant waited to be written. */
  readonly onWritten: (tenantId: string, waitedMs: number) => void;
}

/** Most transactions that are encoded together. */
const MAX_BATCH_TRANSACTIONS = 100;
const MAX_GROUP_ROWS = 5_000;
const MAX_GROUP_CHARS = 8_000_000;
const AHEAD_ROWS = 30;

const OK: TransactionResult = { kind: "ok" };

/** Writes transactions. */
export class StoreWrites {
  readonly #options: StoreWritesOptions;
  readonly #queue: CommitQueue<EncodedBatch>;

  /** Writes with nothing waiting. */
  constructor(options: StoreWritesOptions) {
    this.#options = options;
    const { writer, atEndOfTurn, maxQueuedRows, maxQueuedChars, onWritten } =
      options;
    this.#queue = new CommitQueue({
      write: (group) => writer.apply(group.map(({ values }) => values)),
      atEndOfTurn,
      monotonicMs: () => performance.now(),
      maxGroupRows: MAX_GROUP_ROWS,
      maxGroupChars: MAX_GROUP_CHARS,
      aheadRows: AHEAD_ROWS,
      maxQueuedRows,
      maxQueuedChars,
      onWritten: ({ tenant }, waitedMs) => onWritten(tenant, waitedMs),
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

  /** Removes what has expired. */
  async sweep(nowMs: number, limit: number): Promise<number> {
    const { writer } = this.#options;
    const [removed = 0] = await writer.ask({ kind: "sweep", nowMs, limit });
    return removed;
  }

  /**
   * Resolves when it can be written, as far as is known.
   *
   * @throws {StoreFailedError} when it cannot
   */
  check(): Promise<void> {
    return this.#options.writer.check();
  }

  /** Resolves when nothing waits. */
  finish(): Promise<void> {
    return this.#queue.idle();
  }

  #encode(transactions: readonly Transaction[]): readonly EncodedBatch[] {
    const { reads: { names, payloads }, nowMs } = this.#options;
    const options = { names, payloads, nowMs: nowMs() };
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
    const { payloads } = this.#options.reads;
    for (const name of batch.names) name.isStored = true;
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

/** Where the transactions end that are of one tenant and few enough for a batch. */
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
