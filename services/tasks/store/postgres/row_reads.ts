/**
 * Reads all rows of a schema as they stand at one moment.
 *
 * @module
 */

import type { Runner } from "../../../shared/postgres/session.ts";
import type {
  AnswerRow,
  HistoryRow,
  RowCounts,
  StartRow,
  StoredRows,
  UsageRow,
} from "../rows.ts";
import type { AuditEntry, StoredRecord } from "../stored.ts";
import { KnownTasks } from "./known_tasks.ts";
import {
  type AnswerColumns,
  readAnswer,
  readRecord,
  type RecordColumns,
} from "./record_reads.ts";
import { MAX_ANSWER_BYTES, readTasks, selectFound } from "./task_rows.ts";

const OF_TENANT = "tenant = (SELECT tenant FROM tenants WHERE id = $1::text)";

/** Reads all rows in one transaction. */
export class RowReads implements StoredRows {
  readonly #runner: Runner;

  /** Takes a transaction that sees one state of the database. */
  constructor(runner: Runner) {
    this.#runner = runner;
  }

  tenantIds: StoredRows["tenantIds"] = async ({ limit, after = null }) => {
    const rows = await this.#runner.query<{ id: string }>(
      "SELECT id FROM tenants WHERE $1::text IS NULL OR id > $1::text " +
        "ORDER BY id LIMIT $2::bigint",
      [after, limit],
    );
    return rows.map(({ id }) => id);
  };

  count: StoredRows["count"] = async ({ tenantId, nowMs }) => {
    const count = (table: string, condition = ""): string =>
      `(SELECT count(*) FROM ${table} WHERE ${OF_TENANT}${condition})`;
    // Executions that were not folded yet may be of a period without a row.
    const periods = ["usage", "usage_deltas"].map((table) =>
      `SELECT period, executions FROM ${table} WHERE ${OF_TENANT}`
    ).join(" UNION ALL ");
    const [row] = await this.#runner.query<RowCounts>(
      `SELECT ${count("records")} AS records, ${count("tasks")} AS tasks, ` +
        `${count("idempotency", " AND expires_ms > $2::bigint")} AS answers, ` +
        `(SELECT count(*) FROM (SELECT FROM (${periods}) AS used ` +
        "GROUP BY period HAVING sum(executions) <> 0) AS periods) AS usage, " +
        `(SELECT count(*) FROM (SELECT FROM starts WHERE ${OF_TENANT} AND ` +
        "expires_ms > $2::bigint GROUP BY worker, task_group, at_ms) " +
        "AS rated) AS starts, " +
        `${count("audit")} AS audit`,
      [tenantId, nowMs],
    );
    if (row === undefined) throw new Error("Cannot count rows: no answer");
    return row;
  };

  waiting: NonNullable<StoredRows["waiting"]> = async (tenantId) => {
    const [row] = await this.#runner.query<{ count: number }>(
      `SELECT count(*) FROM inbox WHERE $1::text IS NULL OR ${OF_TENANT}`,
      [tenantId ?? null],
    );
    return row?.count ?? 0;
  };

  records: StoredRows["records"] = async ({ tenantId, after, limit }) => {
    const rows = await this.#runner.query<
      RecordColumns & { kind: StoredRecord["kind"] }
    >(
      "SELECT kind, id, version, alias, parent, text FROM records " +
        `WHERE ${OF_TENANT} AND (kind, id) > ($2::text, $3::text) ` +
        "ORDER BY kind, id LIMIT $4::bigint",
      [tenantId, after?.kind ?? "", after?.id ?? "", limit],
    );
    return rows.map((row) => readRecord(row, { kind: row.kind, tenantId }));
  };

  tasks: StoredRows["tasks"] = ({ tenantId, after, limit }) =>
    readTasks(
      { runner: this.#runner, known: new KnownTasks() },
      selectFound(
        `SELECT id, created_ms AS at FROM tasks WHERE ${OF_TENANT} AND ` +
          "(created_ms, id) > ($2::bigint, $3::text) " +
          "ORDER BY created_ms, id LIMIT $4::bigint",
      ),
      [
        tenantId,
        after?.sortMs ?? Number.MIN_SAFE_INTEGER,
        after?.id ?? "",
        limit,
      ],
    );

  histories: StoredRows["histories"] = async ({ taskIds, after, limit }) => {
    const first = after === undefined ? 0 : taskIds.indexOf(after.taskId);
    const rows = await this.#runner.query<
      { id: string; seq: number; text: string; hash: string }
    >(
      "SELECT id, seq, text, hash FROM (SELECT of.id, of.place, now.seq, " +
        "now.text, now.hash, row_number() OVER places AS number, " +
        "sum(octet_length(now.text)) OVER places AS bytes " +
        "FROM unnest($1::text[]) WITH ORDINALITY AS of(id, place), " +
        "LATERAL (SELECT seq, text, hash FROM history " +
        "WHERE history.id = of.id AND " +
        "seq > CASE of.place WHEN 1 THEN $2::integer ELSE 0 END " +
        "ORDER BY seq LIMIT $3::bigint) AS now WINDOW places AS " +
        "(ORDER BY of.place, now.seq ROWS UNBOUNDED PRECEDING)) AS read " +
        `WHERE number <= $3::bigint AND (number = 1 OR ` +
        `bytes <= ${MAX_ANSWER_BYTES}) ORDER BY number`,
      [taskIds.slice(Math.max(0, first)), after?.seq ?? 0, limit],
    );
    return rows.map(({ id: taskId, seq, text, hash }): HistoryRow => ({
      taskId,
      seq,
      text,
      hash,
    }));
  };

  answers: StoredRows["answers"] = async (
    { tenantId, nowMs, after, limit },
  ) => {
    const rows = await this.#runner.query<AnswerColumns & { key: string }>(
      "SELECT key, expires_ms, body_hash, status, headers, body " +
        `FROM idempotency WHERE ${OF_TENANT} AND key > $2::text AND ` +
        "expires_ms > $3::bigint ORDER BY key LIMIT $4::bigint",
      [tenantId, after ?? "", nowMs, limit],
    );
    return rows.map((row): AnswerRow => ({
      key: row.key,
      entry: readAnswer(row),
    }));
  };

  usage: StoredRows["usage"] = async ({ tenantId, after, limit }) => {
    const rows = await this.#runner.query<UsageRow>(
      "SELECT period, sum(executions)::bigint AS executions FROM (" +
        ["usage", "usage_deltas"].map((table) =>
          `SELECT period, executions FROM ${table} ` +
          `WHERE ${OF_TENANT} AND period > $2::text`
        ).join(" UNION ALL ") +
        ") AS used GROUP BY period HAVING sum(executions) <> 0 " +
        "ORDER BY period LIMIT $3::bigint",
      [tenantId, after ?? "", limit],
    );
    return rows.map(({ period, executions }) => ({ period, executions }));
  };

  starts: StoredRows["starts"] = async ({ tenantId, nowMs, after, limit }) => {
    const rows = await this.#runner.query<
      {
        worker: string;
        task_group: string;
        at_ms: number;
        expires_ms: number;
        count: number;
      }
    >(
      "SELECT worker, task_group, at_ms, max(expires_ms) AS expires_ms, " +
        `sum(count)::bigint AS count FROM starts WHERE ${OF_TENANT} AND ` +
        "(worker, task_group, at_ms) > ($2::text, $3::text, $4::bigint) AND " +
        "expires_ms > $5::bigint GROUP BY worker, task_group, at_ms " +
        "ORDER BY worker, task_group, at_ms LIMIT $6::bigint",
      [
        tenantId,
        after?.workerId ?? "",
        after?.group ?? "",
        after?.atMs ?? Number.MIN_SAFE_INTEGER,
        nowMs,
        limit,
      ],
    );
    return rows.map((row): StartRow => ({
      workerId: row.worker,
      group: row.task_group,
      atMs: row.at_ms,
      expiresAtMs: row.expires_ms,
      count: row.count,
    }));
  };

  audit: StoredRows["audit"] = async ({ tenantId, after, limit }) => {
    const rows = await this.#runner.query<
      { number: number; at_ms: number; action: string; text: string }
    >(
      `SELECT number, at_ms, action, text FROM audit WHERE ${OF_TENANT} AND ` +
        "number > $2::bigint ORDER BY number LIMIT $3::bigint",
      [tenantId, after ?? 0, limit],
    );
    return rows.map(({ number, at_ms: atMs, action, text }): AuditEntry => ({
      number,
      atMs,
      action,
      text,
    }));
  };
}
