/**
 * Records, idempotency entries, use and the audit log.
 *
 * @module
 */

import type {
  RecordKind,
  RecordPage,
  RecordQuery,
  StoredRecord,
} from "../record.ts";
import type { AuditEntry, IdempotencyEntry, Usage } from "../store.ts";
import type { Names } from "./names.ts";
import { numberOf, type Reader, type Row, textOf } from "./reader.ts";

const COLUMNS = "id, version, alias, parent, text";

/** What reading records needs. */
export interface RecordParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
}

/** Reads records and what stands beside them. */
export class RecordReads {
  readonly #parts: RecordParts;

  /** Reads from `parts`. */
  constructor(parts: RecordParts) {
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
    const tenant = this.#parts.names.tenant(tenantId);
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
        recordOf(row, { kind, tenantId })
      ),
      hasMore: rows.length > limit,
    };
  }

  /** What was answered to a request. */
  idempotency(
    tenantId: string,
    key: string,
    nowMs: number,
  ): IdempotencyEntry | undefined {
    const tenant = this.#parts.names.tenant(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#parts.reader.row(
      "SELECT expires_ms, body_hash, status, headers, body FROM idempotency " +
        "WHERE tenant = ? AND key = ? AND expires_ms > ?",
      tenant,
      key,
      nowMs,
    );
    return row && {
      bodyHash: textOf(row, "body_hash"),
      status: numberOf(row, "status"),
      headers: JSON.parse(textOf(row, "headers")),
      body: textOf(row, "body"),
      expiresAtMs: numberOf(row, "expires_ms"),
    };
  }

  /** Counted use. */
  usage(tenantId: string, period: string): Usage {
    const tenant = this.#parts.names.tenant(tenantId);
    const executions = tenant === undefined ? 0 : this.#parts.reader.number(
      "SELECT executions FROM usage WHERE tenant = ? AND period = ?",
      tenant,
      period,
    );
    return { executions: executions ?? 0 };
  }

  /** A page of the audit log. */
  audit(
    options: {
      readonly tenantId: string;
      readonly limit: number;
      readonly before?: number;
    },
  ): readonly AuditEntry[] {
    const { tenantId, limit, before = Number.MAX_SAFE_INTEGER } = options;
    const tenant = this.#parts.names.tenant(tenantId);
    if (tenant === undefined) return [];
    return this.#parts.reader.rows(
      "SELECT number, at_ms, action, text FROM audit " +
        "WHERE tenant = ? AND number < ? ORDER BY number DESC LIMIT ?",
      tenant,
      before,
      limit,
    ).map((row) => ({
      number: numberOf(row, "number"),
      atMs: numberOf(row, "at_ms"),
      action: textOf(row, "action"),
      text: textOf(row, "text"),
    }));
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
    const tenant = this.#parts.names.tenant(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#parts.reader.row(
      `SELECT ${COLUMNS} FROM records ` +
        `WHERE tenant = ? AND kind = ? AND ${condition}`,
      tenant,
      kind,
      value,
    );
    return row && recordOf(row, { kind, tenantId });
  }
}

function recordOf(
  row: Row,
  { kind, tenantId }: { readonly kind: RecordKind; readonly tenantId: string },
): StoredRecord {
  return {
    kind,
    tenantId,
    id: textOf(row, "id"),
    version: numberOf(row, "version"),
    ...(row["alias"] === null ? {} : { alias: textOf(row, "alias") }),
    ...(row["parent"] === null ? {} : { parentId: textOf(row, "parent") }),
    text: textOf(row, "text"),
  };
}
