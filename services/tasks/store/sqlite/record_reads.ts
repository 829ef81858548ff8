/**
 * Reads records, histories, idempotency answers, usage counts and audit logs
 * from the database.
 *
 * @module
 */

import type { HistoryRecord } from "../../domain/history.ts";
import { HistoryPageFill } from "../history_page.ts";
import type {
  AuditQuery,
  AuditTrim,
  HistoryPage,
  HistoryQuery,
  StartsQuery,
} from "../queries.ts";
import type {
  AuditEntry,
  CountedStarts,
  IdempotencyEntry,
  RecordKind,
  RecordPage,
  RecordQuery,
  StoredRecord,
  Usage,
} from "../store.ts";
import { taskNumber } from "../task_id.ts";
import type { ReadParts } from "./task_reads.ts";
import type { PiecewiseRead } from "./read_turns.ts";
import { readNumber, readText, type Row } from "./reader.ts";

const COLUMNS = "id, version, alias, parent, text";

/** Reads records, idempotency answers, usage counts and audit logs. */
export class RecordReads {
  readonly #parts: ReadParts;

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** A record by its id. */
  record(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): StoredRecord | undefined {
    return this.#one("id = ?", { kind, tenantId, value: id });
  }

  /** A record by its alias. */
  byAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): StoredRecord | undefined {
    return this.#one("alias = ?", { kind, tenantId, value: alias });
  }

  /** A page of records. */
  page(query: RecordQuery): RecordPage {
    const { kind, tenantId, parentId, afterId = "", limit } = query;
    const tenant = this.#parts.interned.tenant(tenantId);
    if (tenant === undefined) return { records: [], hasMore: false };
    const rows = this.#parts.reader.rows(
      `SELECT ${COLUMNS} FROM records WHERE tenant = ? AND kind = ? ` +
        `${parentId === undefined ? "" : "AND parent = ? "}` +
        "AND id > ? ORDER BY id LIMIT ?",
      tenant,
      kind,
      ...(parentId === undefined ? [] : [parentId]),
      afterId,
      limit + 1,
    );
    return {
      records: rows.slice(0, limit).map((row) =>
        readRecord(row, { kind, tenantId })
      ),
      hasMore: rows.length > limit,
    };
  }

  /** The stored answer to a request with an idempotency key. */
  idempotency(
    tenantId: string,
    key: string,
    nowMs: number,
  ): IdempotencyEntry | undefined {
    const tenant = this.#parts.interned.tenant(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#parts.reader.row(
      "SELECT expires_ms, body_hash, status, headers, body FROM idempotency " +
        "WHERE tenant = ? AND key = ? AND expires_ms > ?",
      tenant,
      key,
      nowMs,
    );
    return row && readAnswer(row);
  }

  /** The usage counts of a tenant in a period. */
  usage(tenantId: string, period: string): Usage {
    const tenant = this.#parts.interned.tenant(tenantId);
    const executions = tenant === undefined ? 0 : this.#parts.reader.number(
      "SELECT executions FROM usage WHERE tenant = ? AND period = ?",
      tenant,
      period,
    );
    return { executions: executions ?? 0 };
  }

  /** Starts that were counted for rates; see {@linkcode Store.starts}. */
  starts(
    { tenantId, workerId, group, afterNumber, end, limit }: StartsQuery,
  ): readonly CountedStarts[] {
    const tenant = this.#parts.interned.tenant(tenantId);
    if (tenant === undefined) return [];
    const areLast = end === "last";
    const rows = this.#parts.reader.rows(
      "SELECT number, task_group, at_ms, count FROM starts " +
        (group === undefined
          ? "INDEXED BY starts_of WHERE tenant = ? AND worker = ? "
          : "INDEXED BY starts_of_group " +
            "WHERE tenant = ? AND worker = ? AND task_group = ? ") +
        `AND number > ? ORDER BY number ${areLast ? "DESC" : "ASC"} LIMIT ?`,
      tenant,
      workerId,
      ...(group === undefined ? [] : [group]),
      afterNumber,
      limit,
    );
    return (areLast ? rows.toReversed() : rows).map((row) => ({
      number: readNumber(row, "number"),
      group: readText(row, "task_group"),
      atMs: readNumber(row, "at_ms"),
      count: readNumber(row, "count"),
    }));
  }

  /** A page of the audit log. */
  audit(
    { tenantId, limit, before = Number.MAX_SAFE_INTEGER }: AuditQuery,
  ): readonly AuditEntry[] {
    const tenant = this.#parts.interned.tenant(tenantId);
    if (tenant === undefined) return [];
    return this.#parts.reader.rows(
      "SELECT number, at_ms, action, text FROM audit " +
        "WHERE tenant = ? AND number < ? ORDER BY number DESC LIMIT ?",
      tenant,
      before,
      limit,
    ).map(readAuditEntry);
  }

  /** The number of a tenant whose audit log has entries from before an instant. */
  tenantToTrim(
    { tenantId, beforeMs }: Pick<AuditTrim, "tenantId" | "beforeMs">,
  ): number | undefined {
    const tenant = this.#parts.interned.tenant(tenantId);
    if (tenant === undefined) return undefined;
    const oldestMs = this.#parts.reader.number(
      "SELECT at_ms FROM audit WHERE tenant = ? ORDER BY number LIMIT 1",
      tenant,
    );
    return (oldestMs ?? Infinity) < beforeMs ? tenant : undefined;
  }

  #one(
    condition: string,
    options: {
      readonly kind: RecordKind;
      readonly tenantId: string;
      readonly value: string;
    },
  ): StoredRecord | undefined {
    const { kind, tenantId, value } = options;
    const tenant = this.#parts.interned.tenant(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#parts.reader.row(
      `SELECT ${COLUMNS} FROM records ` +
        `WHERE tenant = ? AND kind = ? AND ${condition}`,
      tenant,
      kind,
      value,
    );
    return row && readRecord(row, { kind, tenantId });
  }
}

/** Reads an answer to a request. */
export function readAnswer(row: Row): IdempotencyEntry {
  return {
    bodyHash: readText(row, "body_hash"),
    status: readNumber(row, "status"),
    headers: JSON.parse(readText(row, "headers")),
    body: readText(row, "body"),
    expiresAtMs: readNumber(row, "expires_ms"),
  };
}

/** Reads an entry of an audit log. */
export function readAuditEntry(row: Row): AuditEntry {
  return {
    number: readNumber(row, "number"),
    atMs: readNumber(row, "at_ms"),
    action: readText(row, "action"),
    text: readText(row, "text"),
  };
}

/** Reads a record of a kind and tenant. */
export function readRecord(
  row: Row,
  { kind, tenantId }: { readonly kind: RecordKind; readonly tenantId: string },
): StoredRecord {
  return {
    kind,
    tenantId,
    id: readText(row, "id"),
    version: readNumber(row, "version"),
    alias: row["alias"] === null ? undefined : readText(row, "alias"),
    parentId: row["parent"] === null ? undefined : readText(row, "parent"),
    text: readText(row, "text"),
  };
}

/** How many records are read together. */
const PIECE = 200;

/** Reads the histories of tasks. */
export class HistoryReads {
  readonly #parts: ReadParts;

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /**
   * Reads a page of a task's history, in pieces. Records are only added or
   * folded meanwhile, never changed.
   */
  *page(query: HistoryQuery): PiecewiseRead<HistoryPage> {
    const { reader, interned } = this.#parts;
    const n = taskNumber(query.taskId);
    const tenant = interned.tenant(query.tenantId);
    if (n === undefined || tenant === undefined) return { records: [] };
    const filling = new HistoryPageFill(query, PIECE);
    for (;;) {
      const rows = reader.snapshot(() => {
        // The number may belong to another task by now.
        const isThere = reader.row(
          "SELECT 1 FROM tasks WHERE n = ? AND id = ? AND tenant = ?",
          n,
          query.taskId,
          tenant,
        ) !== undefined;
        return isThere ? this.#rows(n, query, filling.piece) : [];
      });
      const page = filling.take(rows.map(readHistoryRecord));
      if (page !== undefined) return page;
      yield;
    }
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
      // In a folded history, the record before the first one was removed, so
      // the task's body gives its hash.
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

function readHistoryRecord(row: Row): HistoryRecord {
  return {
    seq: readNumber(row, "seq"),
    text: readText(row, "text"),
    prev: row["prev"] === null ? "" : readText(row, "prev"),
    hash: readText(row, "hash"),
  };
}
