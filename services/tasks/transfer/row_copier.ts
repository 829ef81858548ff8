/**
 * Writes rows to a store as they are in another one. A row that is there
 * already in the same version is passed over, so that a copy that was cut short
 * can be made again.
 *
 * @module
 */

import { settle } from "../../shared/settled.ts";
import type { Task } from "../domain/task.ts";
import type { StartsQuery } from "../store/queries.ts";
import type { StoredRecord } from "../store/stored.ts";
import {
  type Store,
  StoreBusyError,
  type Transaction,
  type TransactionResult,
  type Write,
} from "../store/store.ts";
import {
  charsOfPiece,
  newPiece,
  nextPiece,
  type TaskPiece,
  TaskPieces,
} from "./task_pieces.ts";
import type { TransferRow } from "./transfer_rows.ts";

/** A row to write, or one to remove. */
export type CopiedRow =
  | TransferRow
  | {
    readonly kind: "no_task";
    readonly tenantId: string;
    readonly id: string;
  }
  | {
    readonly kind: "no_record";
    readonly tenantId: string;
    readonly record: Pick<StoredRecord, "kind" | "id">;
  };

/** What one write does. */
type Pending =
  | Exclude<CopiedRow, { kind: "tenant" | "task" | "history" }>
  | TaskPiece;

/** The most writes that are committed together. */
const BATCH = 500;
/** The most characters of them. */
const BATCH_CHARS = 4_000_000;

/** How long to wait when too much waits to be written. */
const BUSY_WAIT_MS = 100;

/** Writes rows to a store to which no service writes. */
export class RowCopier {
  readonly #store: Store;
  #pieces: TaskPieces | undefined;
  #batch: Pending[] = [];
  #chars = 0;
  /** Rows that wait for others, which have their key or alias still. */
  #blocked: Pending[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Whether the store had rows of the last batch. */
  #looksFirst = false;
  #written = 0;

  /** Takes the store. */
  constructor(store: Store) {
    this.#store = store;
  }

  /** How many rows were written so far; those that were there do not count. */
  get written(): number {
    return this.#written;
  }

  /**
   * Takes a row. The rows of a tenant follow each other, and the records of a
   * history follow their task.
   *
   * @throws {Error} when the store refuses a row
   * @throws {StoreFailedError} when the store fails
   */
  async put(row: CopiedRow): Promise<void> {
    if (row.kind === "history") {
      const pieces = this.#pieces;
      if (pieces?.id !== row.taskId) {
        throw new Error(
          `Cannot copy a history of task "${row.taskId}": the task is not ` +
            "before it",
        );
      }
      for (const piece of pieces.add(row.records)) await this.#add(piece);
      return;
    }
    const last = this.#pieces?.end();
    this.#pieces = undefined;
    if (last !== undefined) await this.#add(last);
    if (row.kind === "task") this.#pieces = new TaskPieces(row.task);
    else if (row.kind !== "tenant") await this.#add(row);
  }

  /**
   * Waits until all rows are written. The copier can be used again.
   *
   * @throws {Error} as {@linkcode RowCopier.put}
   */
  async end(): Promise<void> {
    const last = this.#pieces?.end();
    this.#pieces = undefined;
    if (last !== undefined) await this.#add(last);
    await this.#flush();
    await this.#writing;
    while (this.#blocked.length > 0) {
      const blocked = this.#blocked;
      this.#blocked = [];
      for (const row of blocked) await this.#write([row]);
      if (this.#blocked.length === blocked.length) await this.#freeAlias();
    }
  }

  /** Resolves when nothing is under way, after an error as well. */
  async idle(): Promise<void> {
    await settle(() => this.#writing);
  }

  async #add(row: Pending): Promise<void> {
    // All writes of a commit are of one tenant.
    const [first = row] = this.#batch;
    if (first.tenantId !== row.tenantId) await this.#flush();
    this.#batch.push(row);
    this.#chars += charsOf(row);
    if (this.#batch.length >= BATCH || this.#chars >= BATCH_CHARS) {
      await this.#flush();
    }
  }

  /** Writes the batch, while the next one is collected. */
  async #flush(): Promise<void> {
    await this.#writing;
    const batch = this.#batch;
    this.#batch = [];
    this.#chars = 0;
    this.#writing = this.#write(batch);
    // It is awaited, and so reported, before the next batch.
    this.#writing.catch(() => {});
  }

  async #write(batch: readonly Pending[]): Promise<void> {
    let left: readonly Pending[] = batch;
    // A second look may find what the first write has changed.
    for (let round = 0; round < 3 && left.length > 0; round++) {
      const blind = this.#looksFirst || round > 0
        ? [undefined]
        : left.map(newWrite);
      const writes = blind.includes(undefined)
        ? await this.#nextWrites(left)
        : blind;
      const results = await this.#commit(writes);
      const refused = results.map((result) => result?.kind === "conflict");
      this.#looksFirst = refused.includes(true) ||
        writes.some((write) => write === undefined || !isNew(write));
      left = left.filter((_, index) => refused[index]);
    }
    this.#blocked.push(...left);
  }

  /** Commits each write by itself; there is no result where there is none. */
  async #commit(
    writes: readonly (Write | undefined)[],
  ): Promise<readonly (TransactionResult | undefined)[]> {
    const transactions: Transaction[] = writes.flatMap((write) =>
      write === undefined ? [] : [{ writes: [write] }]
    );
    let results = await this.#tryCommit(transactions);
    while (results === "busy") {
      await new Promise<void>((resolve) =>
        void this.#store.clock.setTimer(resolve, BUSY_WAIT_MS)
      );
      results = await this.#tryCommit(transactions);
    }
    const each = results.values();
    return writes.map((write) => {
      if (write === undefined) return undefined;
      const result = each.next().value;
      if (result?.kind === "ok") this.#written++;
      return result;
    });
  }

  async #tryCommit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[] | "busy"> {
    try {
      return await this.#store.commit(transactions);
    } catch (error) {
      if (error instanceof StoreBusyError) return "busy";
      throw error;
    }
  }

  /** Finds the writes of rows of one tenant by what the store has. */
  async #nextWrites(
    rows: readonly Pending[],
  ): Promise<readonly (Write | undefined)[]> {
    const store = this.#store;
    const ids = rows.flatMap((row) => taskIdOf(row) ?? []);
    const rates = new Map<string, ReturnType<typeof countStarts>>();
    const tasks = (await store.tasks(rows[0]?.tenantId ?? "", ids)).values();
    return await Promise.all(rows.map(async (row) => {
      const { tenantId } = row;
      switch (row.kind) {
        case "piece": {
          const there = tasks.next().value;
          return there === undefined ? newPiece(row) : nextPiece(row, there);
        }
        case "no_task": {
          const there = tasks.next().value;
          return there && removeTask(there);
        }
        case "record": {
          const { kind, id } = row.record;
          const there = await store.record(kind, tenantId, id);
          return isSame(row.record, there)
            ? undefined
            : putRecord(row.record, there?.version ?? 0);
        }
        case "no_record": {
          const { kind, id } = row.record;
          const there = await store.record(kind, tenantId, id);
          return there && removeRecord(there);
        }
        case "starts": {
          const { workerId, group, atMs } = row.starts;
          const rate = { tenantId, workerId, group };
          const key = JSON.stringify(rate);
          const counting = rates.get(key) ?? countStarts(store, rate);
          rates.set(key, counting);
          const count = row.starts.count - ((await counting).get(atMs) ?? 0);
          return count <= 0
            ? undefined
            : { kind: "start", tenantId, ...row.starts, count };
        }
        case "usage": {
          const { period } = row.usage;
          const there = await store.usage(tenantId, period);
          const executions = row.usage.executions - there.executions;
          return executions === 0
            ? undefined
            : { kind: "usage", tenantId, period, executions };
        }
        default:
          return newWrite(row);
      }
    }));
  }

  /**
   * Takes the alias from a record: several records may have exchanged theirs.
   *
   * @throws {Error} when no record is blocked, so that nothing can be done
   */
  async #freeAlias(): Promise<void> {
    const [first] = this.#blocked;
    const row = this.#blocked.find((one) =>
      one.kind === "record" && one.record.alias !== undefined
    );
    if (row?.kind === "record") {
      const record = { ...row.record, alias: undefined };
      const [result] = await this.#commit(
        await this.#nextWrites([{ ...row, record }]),
      );
      if (result?.kind === "ok") return;
    }
    const task = first && taskIdOf(first);
    throw new Error(
      task === undefined
        ? "Cannot copy a record: the store has another one in its place"
        : `Cannot copy task "${task}": another one has its number or its key`,
    );
  }
}

/** How many entries of a rate are read together. */
const RATE_PAGE = 5_000;

/** Counts the starts for a rate in a store, by their instants. */
export async function countStarts(
  store: Pick<Store, "starts">,
  rate: Omit<StartsQuery, "afterNumber" | "limit">,
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  let afterNumber = 0;
  while (true) {
    const page = { ...rate, afterNumber, limit: RATE_PAGE };
    const { starts } = await store.starts(page);
    for (const { atMs, count } of starts) {
      counts.set(atMs, (counts.get(atMs) ?? 0) + count);
    }
    const last = starts.at(-1);
    if (last === undefined) return counts;
    afterNumber = last.number;
  }
}

/** The write of a row, if the store need not be read for it. */
function newWrite(row: Pending): Write | undefined {
  const { tenantId } = row;
  switch (row.kind) {
    case "piece":
      // The version alone does not tell whether a later piece is there.
      return row.isFirst ? newPiece(row) : undefined;
    case "record":
      return putRecord(row.record, 0);
    case "answer": {
      const { key, entry } = row.answer;
      return { kind: "idempotency", tenantId, key, entry, replaces: true };
    }
    case "audit": {
      const { number, ...entry } = row.entry;
      return { kind: "audit", tenantId, entry, number };
    }
    default:
      return undefined;
  }
}

/** Whether a write is that of a row that the store does not have. */
function isNew(write: Write): boolean {
  return !("expectedVersion" in write) || write.expectedVersion === 0;
}

function putRecord(next: StoredRecord, expectedVersion: number): Write {
  const { kind: recordKind, tenantId, id } = next;
  return { kind: "record", recordKind, tenantId, id, expectedVersion, next };
}

function removeRecord({ kind, tenantId, id, version }: StoredRecord): Write {
  return {
    kind: "record",
    recordKind: kind,
    tenantId,
    id,
    expectedVersion: version,
    next: undefined,
  };
}

function removeTask({ tenantId, id, version }: Task): Write {
  return {
    kind: "task",
    tenantId,
    id,
    expectedVersion: version,
    next: undefined,
    history: [],
  };
}

function isSame(one: StoredRecord, there: StoredRecord | undefined): boolean {
  return one.version === there?.version && one.text === there.text &&
    one.alias === there.alias && one.parentId === there.parentId;
}

function charsOf(row: Pending): number {
  switch (row.kind) {
    case "piece":
      return charsOfPiece(row);
    case "record":
      return 500 + row.record.text.length;
    case "answer":
      return 500 + row.answer.entry.body.length;
    case "audit":
      return 500 + row.entry.text.length;
    default:
      return 100;
  }
}

function taskIdOf(row: Pending): string | undefined {
  return row.kind === "piece"
    ? row.task.id
    : row.kind === "no_task"
    ? row.id
    : undefined;
}
