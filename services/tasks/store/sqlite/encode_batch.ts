/**
 * Encodes transactions as lists of operations, which the thread that writes
 * applies.
 *
 * @module
 */

import type { Pausing } from "../../../shared/slices.ts";
import { listLinks } from "../../domain/placement.ts";
import { ACTIVITY_COLUMNS } from "../kept_counts.ts";
import type { Transaction, Write } from "../store.ts";
import type { QueuedBatch } from "../../../shared/commit_queue.ts";
import { demandSame, tenantOfTransaction } from "../tenant_batches.ts";
import type { InternedIds, InternedName } from "./interned_ids.ts";
import {
  type EncodedPayload,
  MAX_INLINE_CHARS,
  numberOfTask,
  type PayloadCache,
  type PayloadKind,
  pushColumns,
  type StoredPayload,
} from "./task_row.ts";
import {
  OPERATION,
  type OperationList,
  type OperationValue,
  packed,
  TRANSACTION_FORM,
} from "./thread_messages.ts";

/** Transactions of one tenant, encoded. */
export interface EncodedBatch extends QueuedBatch {
  /** The operations. */
  readonly operations: OperationList;
  /** Tenants and queues that the batch adds to the database's names. */
  readonly newNames: readonly InternedName[];
  /**
   * Changes of the payload cache that follow when a transaction is applied or
   * conflicts.
   */
  readonly payloads: readonly PayloadChange[];
}

/**
 * A change of the payload cache, to be made once a transaction has its result.
 */
interface PayloadChange {
  /** The result after which the change is made. */
  readonly after: "applied" | "conflict";
  /** The index of the transaction in the batch. */
  readonly transaction: number;
  /** Whether the payload is a task's data or its result. */
  readonly kind: PayloadKind;
  /** The id of the task. */
  readonly id: string;
  /** The payload; undefined removes it from the cache. */
  readonly payload: StoredPayload | undefined;
}

/** A payload that is about to be written with its task. */
interface PayloadToWrite extends EncodedPayload {
  /**
   * The text for the payload table; null together with a `version` means that
   * it is there already.
   */
  readonly outside: string | null;
}

/** Options of {@linkcode encodeBatch}. */
interface EncodeBatchOptions {
  /** The numbers of tenants and of workers' queues. */
  readonly interned: InternedIds;
  /** The payloads that are known to be in the database. */
  readonly payloads: PayloadCache;
  /**
   * The present, in milliseconds since the epoch, by which idempotency entries
   * expire.
   */
  readonly nowMs: number;
}

/**
 * Encodes transactions of one tenant.
 *
 * @throws {TypeError} when the store's interface does not allow a task or a
 * record
 */
export function encodeBatch(
  transactions: readonly Transaction[],
  options: EncodeBatchOptions,
): EncodedBatch {
  const encoder = new BatchEncoder(options);
  for (const transaction of transactions) encoder.addTransaction(transaction);
  const [first] = transactions;
  return encoder.finish(first === undefined ? "" : tenantOfTransaction(first));
}

/**
 * Encodes transactions of one tenant as {@linkcode encodeBatch} does, and lets
 * others go first in between.
 *
 * @throws {TypeError} as {@linkcode encodeBatch}
 */
export async function encodeLongBatch(
  transactions: readonly Transaction[],
  { pausing, ...options }: EncodeBatchOptions & { readonly pausing: Pausing },
): Promise<EncodedBatch> {
  const encoder = new BatchEncoder(options);
  for (const transaction of transactions) {
    await encoder.addLongTransaction(transaction, pausing);
  }
  const [first] = transactions;
  return encoder.finish(first === undefined ? "" : tenantOfTransaction(first));
}

/** How many values are packed together, which takes about a millisecond. */
const PACKED_VALUES = 2_000;

type WriteOf<Kind extends Write["kind"]> = Extract<Write, { kind: Kind }>;

class BatchEncoder {
  readonly #options: EncodeBatchOptions;
  #values: OperationValue[] = [];
  /** The values that are packed; those in `#values` follow. */
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  readonly #newNames: InternedName[] = [];
  readonly #payloads: PayloadChange[] = [];
  #transactions = 0;
  #rows = 0;

  constructor(options: EncodeBatchOptions) {
    this.#options = options;
  }

  addTransaction(transaction: Transaction): void {
    const { writes } = transaction;
    for (const write of writes) this.#nameAll(write);
    const values = this.#values;
    values.push(OPERATION.transaction, writes.length, pickForm(writes));
    const lengthAt = values.push(0) - 1;
    for (const write of writes) this.#addWrite(write);
    values[lengthAt] = values.length - lengthAt - 1;
    this.#transactions++;
    this.#rows++;
  }

  /** Adds a transaction in slices, and packs its values. */
  async addLongTransaction(
    { writes }: Transaction,
    pausing: Pausing,
  ): Promise<void> {
    for (const write of writes) {
      this.#nameAll(write);
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
    }
    const header = this.#values;
    header.push(OPERATION.transaction, writes.length, pickForm(writes));
    const headerAt = this.#pieces.push(new Uint8Array()) - 1;
    this.#values = [];
    let length = 0;
    const pack = (): void => {
      length += this.#values.length;
      this.#pieces.push(packed(this.#values));
      this.#values = [];
    };
    for (const write of writes) {
      this.#addWrite(write);
      if (this.#values.length >= PACKED_VALUES) pack();
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
    }
    pack();
    header.push(length);
    this.#pieces[headerAt] = packed(header);
    this.#transactions++;
    this.#rows++;
  }

  finish(tenant: string): EncodedBatch {
    let chars = 0;
    for (const value of this.#values) {
      chars += typeof value === "string" ? value.length + 16 : 16;
    }
    for (const { byteLength } of this.#pieces) chars += byteLength;
    return {
      tenant,
      operations: this.#pieces.length === 0
        ? this.#values
        : { pieces: this.#pieces },
      transactions: this.#transactions,
      rows: this.#rows,
      chars,
      newNames: this.#newNames,
      payloads: this.#payloads,
    };
  }

  /**
   * Adds the names that a write needs before its transaction begins, so that
   * they stay even when the transaction is undone.
   */
  #nameAll(write: Write): void {
    const { interned } = this.#options;
    const tenant = interned.internTenant(write.tenantId);
    if (!tenant.isStored) {
      this.#values.push(OPERATION.nameTenant, tenant.number, write.tenantId);
      this.#newNames.push(tenant);
    }
    if (write.kind !== "task" || write.next === undefined) return;
    const { workerId } = write.next;
    const queue = interned.internQueue(write.tenantId, workerId);
    if (queue.isStored) return;
    this.#values.push(OPERATION.nameQueue, queue.number);
    this.#values.push(tenant.number, workerId);
    this.#newNames.push(queue);
  }

  #addWrite(write: Write): void {
    const tenant = this.#options.interned.internTenant(write.tenantId).number;
    switch (write.kind) {
      case "task":
        return this.#addTask(write, tenant);
      case "record":
        return this.#addRecord(write, tenant);
      case "require":
        this.#values.push(
          OPERATION.requireRecord,
          tenant,
          write.recordKind,
          write.id,
        );
        return;
      case "quota":
        this.#values.push(OPERATION.requireRoom, tenant, write.adds);
        this.#values.push(write.limit);
        return;
      case "idempotency": {
        const { expiresAtMs, bodyHash, status, headers, body } = write.entry;
        // An entry that replaces others treats every existing entry as expired.
        const expiredMs = write.replaces === true
          ? Number.MAX_SAFE_INTEGER
          : this.#options.nowMs;
        this.#values.push(OPERATION.putAnswer, expiredMs);
        this.#values.push(tenant, write.key, expiresAtMs, bodyHash, status);
        this.#values.push(JSON.stringify(headers), body);
        return;
      }
      case "audit": {
        const { atMs, action, text } = write.entry;
        this.#values.push(OPERATION.addAudit, tenant, write.number ?? null);
        this.#values.push(atMs, action, text);
        return;
      }
      case "usage":
        this.#values.push(OPERATION.addUsage, tenant, write.period);
        this.#values.push(write.executions);
        return;
      case "listen":
        this.#values.push(OPERATION.listen, tenant, write.untilMs);
        return;
      case "event":
        this.#values.push(OPERATION.addEvent, tenant, write.type, write.atMs);
        this.#values.push(write.text);
        return;
      case "request":
        throw new TypeError("Cannot take a request: the store has no inbox");
      case "start": {
        const { workerId, group, atMs, expiresAtMs, count = 1 } = write;
        this.#values.push(OPERATION.addStart, tenant, workerId, group);
        this.#values.push(atMs, expiresAtMs, count);
        return;
      }
      case "activity": {
        const { series, stepMs, atMs, expiresAtMs, counts } = write;
        this.#values.push(OPERATION.addActivity, tenant, series.workerId);
        this.#values.push(series.job, stepMs, atMs, expiresAtMs);
        for (const [name] of ACTIVITY_COLUMNS) this.#values.push(counts[name]);
        return;
      }
    }
  }

  #addTask(write: WriteOf<"task">, tenant: number): void {
    const { id, expectedVersion, next, history, foldThrough } = write;
    const values = this.#values;
    const n = numberOfTask(id);
    if (next === undefined) {
      values.push(OPERATION.removeTask, n, tenant, id, expectedVersion);
      this.#noteRemoval(id);
      return;
    }
    demandSame(write, next);
    const { interned } = this.#options;
    const queueId = interned.internQueue(write.tenantId, next.workerId).number;
    const of = { id, version: next.version, isNew: expectedVersion === 0 };
    const data = this.#encodePayload("data", { ...of, text: next.dataJson });
    const result = this.#encodePayload("result", {
      ...of,
      text: next.resultJson,
    });
    values.push(
      foldThrough === undefined ? OPERATION.putTask : OPERATION.putFoldedTask,
      expectedVersion,
    );
    values.push(n, id, tenant, next.createdAtMs);
    pushColumns(values, next, { queueId, data, result });
    values.push(data.outside, result.outside);
    const links = listLinks(next);
    values.push(links.length, ...links, history.length);
    for (const { seq, text, hash } of history) values.push(seq, text, hash);
    if (foldThrough !== undefined) values.push(n, foldThrough);
    this.#rows += 1 + links.length + history.length;
  }

  /** Decides where a payload is stored, and how the payload cache changes. */
  #encodePayload(
    kind: PayloadKind,
    { id, version, text, isNew }: {
      readonly id: string;
      readonly version: number;
      readonly text: string | undefined;
      /** Another task with the same number may be about to be removed. */
      readonly isNew: boolean;
    },
  ): PayloadToWrite {
    const { payloads: cache } = this.#options;
    if (text === undefined || text.length <= MAX_INLINE_CHARS) {
      cache.delete(kind, id);
      return { inline: text ?? null, version: null, outside: null };
    }
    const change = { transaction: this.#transactions, kind, id };
    const stored = isNew ? undefined : cache.get(kind, id);
    if (stored?.text === text) {
      // The write conflicts when the database has another payload than the
      // cached one.
      this.#payloads.push({ ...change, after: "conflict", payload: undefined });
      return { inline: null, version: stored.version, outside: null };
    }
    cache.delete(kind, id);
    const payload = { version, text };
    this.#payloads.push({ ...change, after: "applied", payload });
    return { inline: null, version, outside: text };
  }

  #noteRemoval(id: string): void {
    for (const kind of ["data", "result"] as const) {
      this.#payloads.push({
        after: "applied",
        transaction: this.#transactions,
        kind,
        id,
        payload: undefined,
      });
    }
  }

  #addRecord(write: WriteOf<"record">, tenant: number): void {
    const { recordKind, id, expectedVersion, next } = write;
    const values = this.#values;
    if (next === undefined) {
      values.push(OPERATION.removeRecord, tenant, recordKind, id);
      values.push(expectedVersion);
      return;
    }
    demandSame(write, next);
    values.push(OPERATION.putRecord, tenant, recordKind, id, expectedVersion);
    values.push(next.version, next.alias ?? null, next.parentId ?? null);
    values.push(next.text);
  }
}

/** The writes that never conflict. */
const NEVER_CONFLICT: ReadonlySet<Write["kind"]> = new Set([
  "audit",
  "usage",
  "start",
  "activity",
  "listen",
  "event",
]);

/**
 * The form of a transaction, which tells how it has to be applied. Most
 * transactions conflict before they change anything, so they need no undoing,
 * and most new tasks can be inserted together with others.
 */
function pickForm(writes: readonly Write[]): number {
  let hasChanged = false;
  let isCreation = false;
  for (const write of writes) {
    const { kind } = write;
    const mayConflict = !NEVER_CONFLICT.has(kind);
    if (hasChanged && mayConflict) return TRANSACTION_FORM.undoable;
    if (kind !== "require" && kind !== "quota") {
      isCreation = !hasChanged && isPlainCreation(write);
      hasChanged = true;
    }
  }
  return isCreation && writes.at(-1)?.kind === "task"
    ? TRANSACTION_FORM.creation
    : TRANSACTION_FORM.straight;
}

function isPlainCreation(write: Write): boolean {
  return write.kind === "task" && write.expectedVersion === 0 &&
    write.next !== undefined && listLinks(write.next).length === 0;
}
