/**
 * The rows of a store in the order in which they are exported, copied and
 * compared: tenant by tenant, records, tasks with their histories, answers,
 * usage counts, starts that count for rates, and the audit log.
 *
 * @module
 */

import type { Task } from "../domain/task.ts";
import type {
  AnswerRow,
  HistoryRow,
  RowCounts,
  RowPage,
  RowsOf,
  StartRow,
  StoredRows,
  UsageRow,
} from "../store/rows.ts";
import type { AuditEntry, StoredRecord } from "../store/stored.ts";
import { isTransferMark } from "./transfer_mark.ts";

/** A row, with whose it is. */
export type TransferRow =
  & {
    /** The tenant. */
    readonly tenantId: string;
  }
  & (
    /** The rows of a tenant follow. */
    | { readonly kind: "tenant" }
    | { readonly kind: "record"; readonly record: StoredRecord }
    | { readonly kind: "task"; readonly task: Task }
    /** Records of the history of the task before it. */
    | {
      readonly kind: "history";
      readonly taskId: string;
      readonly records: readonly HistoryRow[];
    }
    | { readonly kind: "answer"; readonly answer: AnswerRow }
    | { readonly kind: "usage"; readonly usage: UsageRow }
    | { readonly kind: "starts"; readonly starts: StartRow }
    | { readonly kind: "audit"; readonly entry: AuditEntry }
  );

/** The kinds of rows. */
export type TransferKind = TransferRow["kind"];

/** How many rows of each kind there are; of histories, how many records. */
export type TransferCounts = Readonly<Record<TransferKind, number>>;

/** Counts rows. */
export class RowTally {
  readonly #counts: Record<TransferKind, number> = {
    tenant: 0,
    record: 0,
    task: 0,
    history: 0,
    answer: 0,
    usage: 0,
    starts: 0,
    audit: 0,
  };

  /** The counts so far. */
  get counts(): TransferCounts {
    return { ...this.#counts };
  }

  /** How many tasks so far. */
  get tasks(): number {
    return this.#counts.task;
  }

  /** Counts a row. */
  note(row: TransferRow): void {
    this.#counts[row.kind] += row.kind === "history" ? row.records.length : 1;
  }
}

/** Which rows to read. */
export interface TransferScope {
  /** The instant by which answers and starts have expired. */
  readonly nowMs: number;
  /**
   * The tenants, "" among them for the registry.
   *
   * @default all
   */
  readonly tenantIds?: readonly string[] | undefined;
  /**
   * Of the registry, only what belongs to this tenant.
   *
   * @default all
   */
  readonly only?: string | undefined;
}

/** The scope of a single tenant: its rows, and its record in the registry. */
export function scopeOfTenant(
  tenantId: string,
  nowMs: number,
): TransferScope {
  return { nowMs, tenantIds: ["", tenantId], only: tenantId };
}

/** How many rows are read together. */
const PAGE = 500;
/** How many records of histories are read together. */
const HISTORY_PAGE = 5_000;
/** The most records of a history in one row, and the most characters. */
const MAX_RECORDS = 100;
const MAX_RECORD_CHARS = 1_000_000;

/** Yields the rows of a store; a tenant without rows is left out. */
export async function* readRows(
  rows: StoredRows,
  scope: TransferScope,
): AsyncGenerator<TransferRow> {
  for await (const tenantId of tenantIdsOf(rows, scope)) {
    let isTold = false;
    for await (const row of rowsOfTenant(rows, tenantId, scope)) {
      if (!isTold) yield { kind: "tenant", tenantId };
      isTold = true;
      yield row;
    }
  }
}

/** Adds up how many rows there are; records of histories are not counted. */
export async function countRows(
  rows: StoredRows,
  scope: TransferScope,
): Promise<RowCounts> {
  const sum = {
    records: 0,
    tasks: 0,
    answers: 0,
    usage: 0,
    starts: 0,
    audit: 0,
  };
  for await (const tenantId of tenantIdsOf(rows, scope)) {
    if (tenantId === "" && scope.only !== undefined) {
      for await (const row of rowsOfTenant(rows, tenantId, scope)) {
        if (row.kind === "record") sum.records++;
      }
      continue;
    }
    const counts = await rows.count({ tenantId, nowMs: scope.nowMs });
    sum.records += counts.records;
    sum.tasks += counts.tasks;
    sum.answers += counts.answers;
    sum.usage += counts.usage;
    sum.starts += counts.starts;
    sum.audit += counts.audit;
  }
  return sum;
}

/** The ids of the tenants, in order. */
export async function* tenantIdsOf(
  rows: StoredRows,
  { tenantIds }: Pick<TransferScope, "tenantIds">,
): AsyncGenerator<string> {
  if (tenantIds !== undefined) return yield* tenantIds;
  yield* readPages(
    (page) => rows.tenantIds(page),
    (id: string) => id,
    PAGE,
  );
}

async function* rowsOfTenant(
  rows: StoredRows,
  tenantId: string,
  { nowMs, only }: TransferScope,
): AsyncGenerator<TransferRow> {
  const of: RowsOf = { tenantId, nowMs };
  const records = readPages(
    (page) => rows.records({ ...of, ...page }),
    ({ kind, id }: StoredRecord) => ({ kind, id }),
    PAGE,
  );
  const isCut = tenantId === "" && only !== undefined;
  for await (const record of records) {
    if (isTransferMark(record)) continue;
    if (isCut && !isOfTenant(record, only)) continue;
    yield { kind: "record", tenantId, record };
  }
  if (isCut) return;
  yield* tasksOf(rows, of);
  const answers = readPages(
    (page) => rows.answers({ ...of, ...page }),
    ({ key }: AnswerRow) => key,
    PAGE,
  );
  for await (const answer of answers) {
    yield { kind: "answer", tenantId, answer };
  }
  const periods = readPages(
    (page) => rows.usage({ ...of, ...page }),
    ({ period }: UsageRow) => period,
    PAGE,
  );
  for await (const usage of periods) yield { kind: "usage", tenantId, usage };
  const rated = readPages(
    (page) => rows.starts({ ...of, ...page }),
    (starts: StartRow) => starts,
    PAGE,
  );
  for await (const starts of rated) yield { kind: "starts", tenantId, starts };
  const entries = readPages(
    (page) => rows.audit({ ...of, ...page }),
    ({ number }: AuditEntry) => number,
    PAGE,
  );
  for await (const entry of entries) yield { kind: "audit", tenantId, entry };
}

/** Whether a record of the registry belongs to a tenant. */
function isOfTenant({ kind, id }: StoredRecord, tenantId: string): boolean {
  return kind === "tenant"
    ? id === tenantId
    : kind === "service" && id.startsWith(`subject:${tenantId}:`);
}

async function* tasksOf(
  rows: StoredRows,
  of: RowsOf,
): AsyncGenerator<TransferRow> {
  const { tenantId } = of;
  let after: { sortMs: number; id: string } | undefined;
  while (true) {
    const tasks = await rows.tasks({ ...of, after, limit: PAGE });
    const last = tasks.at(-1);
    if (last === undefined) return;
    const histories = readHistories(rows, of, tasks);
    let history = await histories.next();
    for (const task of tasks) {
      yield { kind: "task", tenantId, task };
      while (history.done !== true && history.value.taskId === task.id) {
        yield { kind: "history", tenantId, ...history.value };
        history = await histories.next();
      }
    }
    after = { sortMs: last.createdAtMs, id: last.id };
  }
}

/**
 * Yields the histories of tasks, in their order, in pieces that every engine
 * cuts alike.
 */
export async function* readHistories(
  rows: StoredRows,
  of: RowsOf,
  tasks: readonly Task[],
): AsyncGenerator<
  { readonly taskId: string; readonly records: readonly HistoryRow[] }
> {
  const taskIds = tasks.map(({ id }) => id);
  let piece: HistoryRow[] = [];
  let chars = 0;
  const all = readPages(
    (page) => rows.histories({ ...of, ...page, taskIds }),
    ({ taskId, seq }: HistoryRow) => ({ taskId, seq }),
    HISTORY_PAGE,
  );
  for await (const record of all) {
    const [first] = piece;
    const isFull = piece.length === MAX_RECORDS || chars > MAX_RECORD_CHARS;
    if (first !== undefined && (isFull || first.taskId !== record.taskId)) {
      yield { taskId: first.taskId, records: piece };
      piece = [];
      chars = 0;
    }
    piece.push(record);
    chars += record.text.length;
  }
  const [first] = piece;
  if (first !== undefined) yield { taskId: first.taskId, records: piece };
}

async function* readPages<Row, Position>(
  read: (page: RowPage<Position>) => Promise<readonly Row[]>,
  placeOf: (row: Row) => Position,
  limit: number,
): AsyncGenerator<Row> {
  let after: Position | undefined;
  while (true) {
    const rows = await read({ after, limit });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    after = placeOf(last);
  }
}
