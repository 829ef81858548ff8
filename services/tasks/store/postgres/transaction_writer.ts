/**
 * Commits transactions: they wait in queues, from which they are written in
 * groups.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Pausing } from "../../../shared/slices.ts";
import {
  CommitQueue,
  type WrittenGroup,
} from "../../../shared/commit_queue.ts";
import { APPLIED, decodeResult } from "../result_codes.ts";
import type { Transaction, TransactionResult } from "../store.ts";
import { inBatches, isLong } from "../tenant_batches.ts";
import type { GroupApplier } from "./group_applier.ts";
import type { KnownTasks } from "./known_tasks.ts";
import {
  prepareBatch,
  type PreparedBatch,
  type PreparedTransaction,
  prepareLongBatch,
} from "./prepared_write.ts";

/** Options of {@linkcode TransactionWriter}. */
export interface TransactionWriterOptions {
  /**
   * What writes groups, each for a share of the tenants. A tenant belongs to
   * one, so that its order is kept.
   */
  readonly appliers: readonly Pick<GroupApplier, "apply">[];
  /** The tasks that were read. */
  readonly known: KnownTasks;
  /**
   * Throws where a group would wait for a standby in vain: it may have waited
   * for the one before it.
   *
   * @default every group is written
   */
  readonly demandDurable?: (() => void) | undefined;
  /** The most rows that wait to be written. */
  readonly maxQueuedRows: number;
  /** The most characters that wait to be written. */
  readonly maxQueuedChars: number;
  /** Called with the transactions that were applied. */
  readonly onApplied: (transactions: readonly PreparedTransaction[]) => void;
  /**
   * Called with the milliseconds that a batch of a tenant waited to be written.
   */
  readonly onWritten: (tenantId: string, waitedMs: number) => void;
  /** Called with each group after it was written, or its write failed. */
  readonly onGroup: ((group: WrittenGroup) => void) | undefined;
  /** Called when a commit is refused because too much waits. */
  readonly onRefused: (() => void) | undefined;
}

const MAX_GROUP_ROWS = 5_000;
const MAX_GROUP_CHARS = 8_000_000;
/** A small group waits for the one under way, as each waits for the disk. */
const AHEAD_ROWS = 150;
const HALF_ROWS = AHEAD_ROWS / 2;
/**
 * How long the server works for a row, as was measured. The rest of a group's
 * time is the wait for the disk, a standby and the network, however many rows
 * it has.
 */
const ROW_MS = 0.01;

/** Commits transactions through queues of batches. */
export class TransactionWriter {
  readonly #options: TransactionWriterOptions;
  readonly #queues: readonly CommitQueue<PreparedBatch>[];
  /** Commits whose transactions are being prepared in slices. */
  readonly #preparing = new Set<Promise<unknown>>();

  /** Starts with empty queues. */
  constructor(options: TransactionWriterOptions) {
    this.#options = options;
    const { appliers, maxQueuedRows, maxQueuedChars, onWritten } = options;
    this.#queues = appliers.map((applier) =>
      new CommitQueue<PreparedBatch>({
        write: (group) => this.#write(applier, group),
        atEndOfTurn: (callback) => void setImmediate(callback),
        monotonicMs: () => performance.now(),
        maxGroupRows: MAX_GROUP_ROWS,
        maxGroupChars: MAX_GROUP_CHARS,
        aheadRows: AHEAD_ROWS,
        maxQueuedRows: maxQueuedRows / appliers.length,
        maxQueuedChars: maxQueuedChars / appliers.length,
        onWritten: ({ tenant }, waitedMs) => onWritten(tenant, waitedMs),
        onGroup: options.onGroup,
        onRefused: options.onRefused,
      })
    );
  }

  /**
   * Applies transactions and answers once they are durable; see
   * {@linkcode Store.commit}.
   */
  async commit(
    transactions: readonly Transaction[],
    pausing?: Pausing,
  ): Promise<readonly TransactionResult[]> {
    const batches = pausing !== undefined && isLong(transactions)
      ? await this.#prepareInSlices(transactions, pausing)
      : inBatches(transactions).map((batch) =>
        prepareBatch(batch, this.#options.known)
      );
    const answers = await this.#add(batches);
    return batches.flatMap((batch, index) =>
      batch.prepared.map((_, transaction) =>
        decodeResult(answers[index]?.[transaction] ?? APPLIED)
      )
    );
  }

  /**
   * Resolves when nothing is prepared, no batch waits and no group is being
   * written.
   */
  async idle(): Promise<void> {
    while (this.#preparing.size > 0) {
      await Promise.allSettled(this.#preparing);
    }
    await Promise.all(this.#queues.map((queue) => queue.idle()));
  }

  async #add(
    batches: readonly PreparedBatch[],
  ): Promise<readonly (readonly number[])[]> {
    const [first, ...others] = batches;
    if (first === undefined) return [];
    if (others.length === 0) return await this.#queueFor(first).add(batches);
    const byQueue = Map.groupBy(
      batches,
      ({ tenant }) => this.#queueOf(tenant),
    );
    const codes = new Map<PreparedBatch, readonly number[]>();
    const added = [...byQueue].map(async ([queue, some]) => {
      const answers = await queue.add(some);
      some.forEach((batch, index) => codes.set(batch, answers[index] ?? []));
    });
    for (const one of await Promise.allSettled(added)) {
      if (one.status === "rejected") throw one.reason;
    }
    return batches.map((batch) => codes.get(batch) ?? []);
  }

  /**
   * New tasks without a key have no order among them. From a half of a group on
   * they take the shortest queue, so that the server writes some of them while
   * others are prepared; smaller groups cost more than that gains.
   */
  #queueFor(batch: PreparedBatch): CommitQueue<PreparedBatch> {
    const own = this.#queueOf(batch.tenant);
    if (own.queuedRows < HALF_ROWS || !batch.isUnordered) return own;
    return this.#queues.reduce(
      (least, queue) => queue.queuedRows < least.queuedRows ? queue : least,
      own,
    );
  }

  #queueOf(tenant: string): CommitQueue<PreparedBatch> {
    let hash = 0;
    for (let index = 0; index < tenant.length; index++) {
      hash = (hash * 31 + tenant.charCodeAt(index)) >>> 0;
    }
    return this.#queues[hash % this.#queues.length]!;
  }

  async #prepareInSlices(
    transactions: readonly Transaction[],
    pausing: Pausing,
  ): Promise<readonly PreparedBatch[]> {
    const { known } = this.#options;
    const preparing = (async () => {
      const batches: PreparedBatch[] = [];
      for (const batch of inBatches(transactions)) {
        batches.push(await prepareLongBatch(batch, { known, pausing }));
      }
      return batches;
    })();
    this.#preparing.add(preparing);
    try {
      return await preparing;
    } finally {
      this.#preparing.delete(preparing);
    }
  }

  async #write(
    applier: Pick<GroupApplier, "apply">,
    group: readonly PreparedBatch[],
  ): Promise<{ codes: readonly number[]; workMs: number; commitMs: number }> {
    const { onApplied, demandDurable } = this.#options;
    demandDurable?.();
    const prepared = group.flatMap((batch) => batch.prepared);
    let rows = 0;
    for (const batch of group) rows += batch.rows;
    const startedMs = performance.now();
    const codes = await applier.apply(prepared);
    const tookMs = performance.now() - startedMs;
    onApplied(
      codes.length === 0
        ? prepared
        : prepared.filter((_, index) => codes[index] === APPLIED),
    );
    const workMs = Math.min(tookMs, rows * ROW_MS);
    return { codes, workMs, commitMs: tookMs - workMs };
  }
}
