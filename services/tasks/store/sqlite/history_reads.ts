/**
 * Pages of histories.
 *
 * @module
 */

import type { HistoryRecord } from "../../domain/history.ts";
import type { HistoryPage, HistoryQuery } from "../history_query.ts";
import { taskNumber } from "../task_id.ts";
import type { Names } from "./names.ts";
import type { PiecewiseRead } from "./read_turns.ts";
import { numberOf, type Reader, type Row, textOf } from "./reader.ts";

/** Most records that a page looks at. */
const MAX_LOOKED_AT = 5_000;
/** Records that are looked at together, and looked through. */
const PIECE = 200;

/** What reading histories needs. */
export interface HistoryParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
}

/** Reads histories. */
export class HistoryReads {
  readonly #parts: HistoryParts;

  /** Reads from `parts`. */
  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /** A page of a task's history, which is never changed, only added to. */
  *page(query: HistoryQuery): PiecewiseRead<HistoryPage> {
    const { reader, names } = this.#parts;
    const n = taskNumber(query.taskId);
    const tenant = names.tenant(query.tenantId);
    if (n === undefined || tenant === undefined) return { records: [] };
    const { limit, types, run } = query;
    const isFiltered = types !== undefined || run !== undefined;
    const records: HistoryRecord[] = [];
    let lastSeq = query.afterSeq;
    for (let left = isFiltered ? MAX_LOOKED_AT : limit + 1; left > 0;) {
      const piece = Math.min(PIECE, left);
      const rows = reader.snapshot(() => {
        // Its number may be another task's by now.
        const isThere = reader.row(
          "SELECT 1 FROM tasks WHERE n = ? AND id = ? AND tenant = ?",
          n,
          query.taskId,
          tenant,
        ) !== undefined;
        return isThere
          ? this.#rows(n, query, { afterSeq: lastSeq, limit: piece })
          : [];
      });
      for (const row of rows) {
        const record = recordOf(row);
        const isWantedHere = !isFiltered || isWanted(record, query);
        if (isWantedHere && records.length === limit) {
          return more(records, lastSeq);
        }
        lastSeq = record.seq;
        if (isWantedHere) records.push(record);
      }
      if (rows.length < piece) return { records };
      left -= rows.length;
      yield;
    }
    return more(records, lastSeq);
  }

  #rows(
    n: number,
    { order }: HistoryQuery,
    options: { readonly afterSeq: number | undefined; readonly limit: number },
  ): readonly Row[] {
    const isRising = order === "asc";
    const { afterSeq = isRising ? 0 : Number.MAX_SAFE_INTEGER, limit } =
      options;
    return this.#parts.reader.rows(
      // The record before the first one of a folded history is gone.
      "SELECT now.seq, now.text, now.hash, " +
        "CASE WHEN before.hash IS NULL AND now.seq > 1 THEN " +
        "(SELECT json_extract(body, '$.historyFolded.hash') FROM tasks " +
        "WHERE tasks.n = now.n) ELSE before.hash END AS prev " +
        "FROM history AS now LEFT JOIN history AS before " +
        "ON before.n = now.n AND before.seq = now.seq - 1 " +
        `WHERE now.n = ? AND now.seq ${isRising ? ">" : "<"} ? ` +
        `ORDER BY now.seq ${order} LIMIT ?`,
      n,
      afterSeq,
      limit,
    );
  }
}

function more(
  records: readonly HistoryRecord[],
  lastSeq: number | undefined,
): HistoryPage {
  return lastSeq === undefined
    ? { records }
    : { records, nextAfterSeq: lastSeq };
}

function recordOf(row: Row): HistoryRecord {
  return {
    seq: numberOf(row, "seq"),
    text: textOf(row, "text"),
    prev: row["prev"] === null ? "" : textOf(row, "prev"),
    hash: textOf(row, "hash"),
  };
}

function isWanted({ text }: HistoryRecord, query: HistoryQuery): boolean {
  const { type, run } = JSON.parse(text);
  return (query.types?.includes(type) ?? true) && run === (query.run ?? run);
}
