/**
 * Compares two sources of rows side by side: everything that an export holds,
 * and so the count of every kind and the end of every history.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { encodeRow } from "./row_text.ts";
import type { TransferRow } from "./transfer_rows.ts";

/** The outcome of {@linkcode compareRows}. */
export interface RowComparison {
  /** How many rows are the same. */
  readonly same: number;
  /** What differs, a sentence each; empty when nothing does. */
  readonly differences: readonly string[];
}

/** The most differences that are told. */
const MAX_DIFFERENCES = 20;

/** The order of the kinds within a tenant. */
const ORDER = [
  "tenant",
  "record",
  "task",
  "answer",
  "usage",
  "starts",
  "audit",
] as const;

/** What orders rows. */
type Place = readonly (string | number)[];

interface Placed {
  readonly row: TransferRow;
  readonly place: Place;
}

/** Options of {@linkcode compareRows}. */
interface CompareRowsOptions {
  /**
   * Called with each row of the source.
   *
   * @default nothing is called
   */
  readonly onRow?: (row: TransferRow) => void;
  /**
   * Called with each row of the copy that the source does not have; returns
   * whether the copy may have it.
   *
   * @default it may not
   */
  readonly onSurplus?: (row: TransferRow) => boolean | Promise<boolean>;
}

/**
 * Compares the rows of a copy with those of its source, both in the order of an
 * export.
 */
export async function compareRows(
  source: AsyncIterable<TransferRow>,
  copy: AsyncIterable<TransferRow>,
  { onRow = () => {}, onSurplus = () => false }: CompareRowsOptions = {},
): Promise<RowComparison> {
  const differences: string[] = [];
  let same = 0;
  const [left, right] = [placed(source), placed(copy)];
  try {
    let [here, there] = [await next(left), await next(right)];
    while (here !== undefined || there !== undefined) {
      const order = here === undefined
        ? 1
        : there === undefined
        ? -1
        : compare(here.place, there.place);
      if (order < 0 && here !== undefined) {
        differences.push(`${nameRow(here.row)} is missing`);
      } else if (order > 0 && there !== undefined) {
        if (!await onSurplus(there.row)) {
          differences.push(`${nameRow(there.row)} is not in the source`);
        }
      } else if (here !== undefined && there !== undefined) {
        if (encodeRow(here.row) === encodeRow(there.row)) same++;
        else {differences.push(
            `${nameRow(here.row)} ${tell(here.row, there.row)}`,
          );}
      }
      if (differences.length >= MAX_DIFFERENCES) break;
      if (order <= 0) {
        if (here !== undefined) onRow(here.row);
        here = await next(left);
      }
      if (order >= 0) there = await next(right);
    }
  } finally {
    await left.return(undefined);
    await right.return(undefined);
  }
  return { same, differences };
}

async function* placed(
  rows: AsyncIterable<TransferRow>,
): AsyncGenerator<Placed, undefined> {
  let task: Place = [];
  for await (const row of rows) {
    const { kind, tenantId } = row;
    if (kind === "task") {
      task = [tenantId, 2, row.task.createdAtMs, row.task.id, 0];
    }
    const place = kind === "task"
      ? task
      : kind === "history"
      ? [...task.slice(0, -1), row.records[0]?.seq ?? 0]
      : [tenantId, ORDER.indexOf(kind), ...keyOf(row)];
    yield { row, place };
  }
}

function keyOf(row: TransferRow): Place {
  switch (row.kind) {
    case "record":
      return [row.record.kind, row.record.id];
    case "answer":
      return [row.answer.key];
    case "usage":
      return [row.usage.period];
    case "starts":
      return [row.starts.workerId, row.starts.group, row.starts.atMs];
    case "audit":
      return [row.entry.number];
    default:
      return [];
  }
}

function compare(left: Place, right: Place): number {
  for (const [index, value] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (value !== other) return value < other ? -1 : 1;
  }
  return left.length - right.length;
}

/** A row, for people. */
export function nameRow(row: TransferRow): string {
  const of = `of tenant ${quote(row.tenantId)}`;
  switch (row.kind) {
    case "tenant":
      return `tenant ${quote(row.tenantId)}`;
    case "record":
      return `the ${row.record.kind} ${quote(row.record.id)} ${of}`;
    case "task":
      return `task ${quote(row.task.id)} ${of}`;
    case "history": {
      const [first, last] = [row.records.at(0), row.records.at(-1)];
      return `history of task ${quote(row.taskId)} ${of} from record ` +
        `${first?.seq} to ${last?.seq}`;
    }
    case "answer":
      return `the answer ${quote(row.answer.key)} ${of}`;
    case "usage":
      return `the usage in ${row.usage.period} ${of}`;
    case "starts": {
      const { workerId, group, atMs } = row.starts;
      return `the starts of worker ${quote(workerId)}, group ${
        quote(group)
      }, ` +
        `at ${atMs} ${of}`;
    }
    case "audit":
      return `entry ${row.entry.number} of the audit log ${of}`;
  }
}

/** How two rows in the same place differ. */
function tell(here: TransferRow, there: TransferRow): string {
  if (here.kind === "task" && there.kind === "task") {
    const [one, other] = [here.task, there.task];
    if (one.version !== other.version) {
      return `has version ${other.version} and not ${one.version}`;
    }
    if (one.historyHash !== other.historyHash) {
      return "has a history that ends otherwise";
    }
  }
  if (here.kind === "record" && there.kind === "record") {
    const [{ version }, { version: other }] = [here.record, there.record];
    if (version !== other) return `has version ${other} and not ${version}`;
  }
  return "differs";
}

async function next(
  rows: AsyncGenerator<Placed, undefined>,
): Promise<Placed | undefined> {
  const { value } = await rows.next();
  return value;
}
