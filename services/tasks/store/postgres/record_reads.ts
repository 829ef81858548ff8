/**
 * Reads records, idempotency answers, usage counts and audit logs.
 *
 * @module
 */

import type { Runner } from "../../../shared/postgres/session.ts";
import type { AuditQuery, StartsQuery } from "../queries.ts";
import type {
  AuditEntry,
  IdempotencyEntry,
  RecordKind,
  RecordPage,
  RecordQuery,
  StartsPage,
  StoredRecord,
  Usage,
} from "../store.ts";
import { SqlBuilder } from "../../../shared/postgres/sql_builder.ts";

const OF_TENANT = "tenant = (SELECT tenant FROM tenants WHERE id = $1::text)";

/** The columns of a record. */
export interface RecordColumns {
  /** The id. */
  readonly id: string;
  /** The version. */
  readonly version: number;
  /** The alias. */
  readonly alias: string | null;
  /** The record that it belongs to. */
  readonly parent: string | null;
  /** The content. */
  readonly text: string;
}

interface StartsCells {
  readonly number: number;
  readonly task_group: string;
  readonly at_ms: number;
  readonly count: number;
}

/** A row of starts, or of none. */
type StartsRow =
  & { readonly now_ms: number }
  & (StartsCells | { readonly [Name in keyof StartsCells]: null });

/** The columns of an answer to a request. */
export interface AnswerColumns {
  /** When it may be removed. */
  readonly expires_ms: number;
  /** SHA-256 of the request's body. */
  readonly body_hash: string;
  /** The status. */
  readonly status: number;
  /** The headers as JSON text. */
  readonly headers: string;
  /** The body. */
  readonly body: string;
}

/** Reads records, idempotency answers, usage counts and audit logs. */
export class RecordReads {
  readonly #runner: Runner;

  /** Takes what runs the queries. */
  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /** A record by its id. */
  record(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): Promise<StoredRecord | undefined> {
    return this.#one("id", { kind, tenantId, value: id });
  }

  /** A record by its alias. */
  byAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): Promise<StoredRecord | undefined> {
    return this.#one("alias", { kind, tenantId, value: alias });
  }

  /** A page of records. */
  async page(query: RecordQuery): Promise<RecordPage> {
    const { kind, tenantId, parentId, afterId = "", limit } = query;
    const builder = new SqlBuilder();
    builder.add(tenantId, "text");
    const ofKind = builder.add(kind, "text");
    const ofParent = parentId === undefined
      ? ""
      : ` AND parent = ${builder.add(parentId, "text")}`;
    const rows = await this.#runner.query<RecordColumns>(
      "SELECT id, version, alias, parent, text FROM records " +
        `WHERE ${OF_TENANT} AND kind = ${ofKind}${ofParent} AND ` +
        `id > ${builder.add(afterId, "text")} ORDER BY id ` +
        `LIMIT ${builder.add(limit + 1, "bigint")}`,
      builder.parameters,
    );
    return {
      records: rows.slice(0, limit).map((row) =>
        readRecord(row, { kind, tenantId })
      ),
      hasMore: rows.length > limit,
    };
  }

  /** The stored answer to a request with an idempotency key. */
  async idempotency(
    tenantId: string,
    key: string,
    nowMs: number,
  ): Promise<IdempotencyEntry | undefined> {
    const [row] = await this.#runner.query<AnswerColumns>(
      "SELECT expires_ms, body_hash, status, headers, body FROM idempotency " +
        `WHERE ${OF_TENANT} AND key = $2::text AND expires_ms + 0 > $3::bigint`,
      [tenantId, key, nowMs],
    );
    return row && readAnswer(row);
  }

  /** The usage counts of a tenant in a period. */
  async usage(tenantId: string, period: string): Promise<Usage> {
    const [row] = await this.#runner.query<{ executions: number }>(
      "SELECT coalesce(sum(executions), 0)::bigint AS executions FROM (" +
        ["usage", "usage_deltas"].map((table) =>
          `SELECT executions FROM ${table} ` +
          `WHERE ${OF_TENANT} AND period = $2::text`
        ).join(" UNION ALL ") + ") AS used",
      [tenantId, period],
    );
    return { executions: row?.executions ?? 0 };
  }

  /**
   * Starts that were counted for rates, with the database's time at the moment
   * of reading.
   */
  async starts(
    { tenantId, workerId, group, afterNumber, end, limit }: StartsQuery,
  ): Promise<StartsPage> {
    const order = end === "last" ? "DESC" : "ASC";
    const rows = await this.#runner.query<StartsRow>(
      "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint " +
        "AS now_ms, found.* FROM (VALUES (1)) AS one LEFT JOIN (" +
        "SELECT number, task_group, at_ms, count FROM starts WHERE " +
        `${OF_TENANT} AND worker = $2::text AND number > $3::bigint ` +
        (group === undefined ? "" : "AND task_group = $5::text ") +
        `ORDER BY number ${order} LIMIT $4::bigint) AS found ON true ` +
        "ORDER BY number",
      [
        ...[tenantId, workerId, afterNumber, limit],
        ...(group === undefined ? [] : [group]),
      ],
    );
    return {
      nowMs: rows[0]?.now_ms ?? 0,
      starts: rows.flatMap((
        { number, task_group: group, at_ms: atMs, count },
      ) => number === null ? [] : [{ number, group, atMs, count }]),
    };
  }

  /** A page of the audit log. */
  async audit(
    { tenantId, limit, before = Number.MAX_SAFE_INTEGER }: AuditQuery,
  ): Promise<readonly AuditEntry[]> {
    const rows = await this.#runner.query<
      { number: number; at_ms: number; action: string; text: string }
    >(
      `SELECT number, at_ms, action, text FROM audit WHERE ${OF_TENANT} AND ` +
        "number < $2::bigint ORDER BY number DESC LIMIT $3::bigint",
      [tenantId, before, limit],
    );
    return rows.map(({ number, at_ms: atMs, action, text }) => ({
      number,
      atMs,
      action,
      text,
    }));
  }

  async #one(
    column: "id" | "alias",
    { kind, tenantId, value }: {
      readonly kind: RecordKind;
      readonly tenantId: string;
      readonly value: string;
    },
  ): Promise<StoredRecord | undefined> {
    const [row] = await this.#runner.query<RecordColumns>(
      "SELECT id, version, alias, parent, text FROM records " +
        `WHERE ${OF_TENANT} AND kind = $2::text AND ${column} = $3::text`,
      [tenantId, kind, value],
    );
    return row && readRecord(row, { kind, tenantId });
  }
}

/** Reads an answer to a request. */
export function readAnswer(row: AnswerColumns): IdempotencyEntry {
  return {
    bodyHash: row.body_hash,
    status: row.status,
    headers: JSON.parse(row.headers),
    body: row.body,
    expiresAtMs: row.expires_ms,
  };
}

/** Reads a record of a kind and tenant. */
export function readRecord(
  { id, version, alias, parent, text }: RecordColumns,
  { kind, tenantId }: { readonly kind: RecordKind; readonly tenantId: string },
): StoredRecord {
  return {
    kind,
    tenantId,
    id,
    version,
    alias: alias ?? undefined,
    parentId: parent ?? undefined,
    text,
  };
}
