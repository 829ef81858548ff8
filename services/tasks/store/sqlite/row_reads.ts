/**
 * Reads all rows of the database as they stand at one moment.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type {
  AnswerRow,
  HistoryRow,
  RowCounts,
  RowSource,
  StartRow,
  StoredRows,
  UsageRow,
} from "../rows.ts";
import type { AuditEntry, StoredRecord } from "../store.ts";
import { taskNumber } from "../task_id.ts";
import {
  databasePath,
  findVersionFault,
  openReading,
  openStored,
} from "./database_file.ts";
import { InternedIds } from "./interned_ids.ts";
import { Reader, readNumber, readText } from "./reader.ts";
import { readAnswer, readAuditEntry, readRecord } from "./record_reads.ts";
import { MAX_ANSWER_CHARS, TaskReads } from "./task_reads.ts";
import { PayloadCache, TaskDecoder } from "./task_row.ts";

/**
 * Calls `read` with all rows of a database as they stand at this moment. The log
 * of a service that writes meanwhile grows until `read` is done.
 *
 * @throws what `read` throws, and {@linkcode Error} when the file cannot be
 * opened
 */
export async function withRows<Answer>(
  path: string,
  read: (rows: StoredRows) => Promise<Answer>,
): Promise<Answer> {
  const reader = new Reader(openReading(path));
  try {
    const state = reader.hold();
    try {
      return await read(new RowReads(reader));
    } finally {
      state.release();
    }
  } finally {
    reader.close();
  }
}

/**
 * All rows of a data folder, which a service may be using.
 *
 * @throws {Error} when there is no database, or it is of another version
 */
export function folderRows(dataFolder: string): RowSource {
  const stored = openStored(dataFolder);
  try {
    const fault = findVersionFault(stored);
    if (fault !== undefined) {
      throw new Error(`Cannot read "${dataFolder}": ${fault}`);
    }
  } finally {
    stored.close();
  }
  return { snapshot: (read) => withRows(databasePath(dataFolder), read) };
}

type PageOf<
  Kind extends Exclude<keyof StoredRows, "tenantIds" | "count" | "waiting">,
> = Parameters<StoredRows[Kind]>[0];

/** Reads all rows through one connection. */
export class RowReads implements StoredRows {
  readonly #reader: Reader;
  readonly #interned: InternedIds;
  readonly #tasks: TaskReads;

  /** Takes the reader, which holds one state of the database. */
  constructor(reader: Reader) {
    this.#reader = reader;
    this.#interned = new InternedIds(reader);
    // No payload is read twice.
    const decoder = new TaskDecoder(reader, new PayloadCache(0));
    const interned = this.#interned;
    this.#tasks = new TaskReads({ reader, interned, decoder });
  }

  tenantIds: StoredRows["tenantIds"] = ({ limit, after }) =>
    Promise.resolve(
      this.#reader.rows(
        "SELECT id FROM tenants WHERE id > ?1 OR ?1 IS NULL " +
          "ORDER BY id LIMIT ?2",
        after ?? null,
        limit,
      ).map((row) => readText(row, "id")),
    );

  count: StoredRows["count"] = ({ tenantId, nowMs }) => {
    const tenant = this.#tenant(tenantId);
    const count = (table: string, condition = "") =>
      this.#reader.number(
        `SELECT count(*) FROM ${table} WHERE tenant = ?${condition}`,
        tenant,
      ) ?? 0;
    const counts: RowCounts = {
      records: count("records"),
      tasks: count("tasks"),
      answers: count("idempotency", ` AND expires_ms > ${Math.floor(nowMs)}`),
      usage: count("usage", " AND executions <> 0"),
      starts: this.#reader.number(
        "SELECT count(*) FROM (SELECT 1 FROM starts WHERE tenant = ? AND " +
          "expires_ms > ? GROUP BY worker, task_group, at_ms)",
        tenant,
        nowMs,
      ) ?? 0,
      audit: count("audit"),
    };
    return Promise.resolve(counts);
  };

  records: StoredRows["records"] = ({ tenantId, after, limit }) => {
    const rows = this.#reader.rows(
      "SELECT kind, id, version, alias, parent, text FROM records " +
        "WHERE tenant = ? AND (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?",
      this.#tenant(tenantId),
      after?.kind ?? "",
      after?.id ?? "",
      limit,
    );
    return Promise.resolve(rows.map((row): StoredRecord => {
      // Only the service writes records, each with one of the kinds.
      const kind = readText(row, "kind") as StoredRecord["kind"];
      return readRecord(row, { kind, tenantId });
    }));
  };

  tasks: StoredRows["tasks"] = (page) => Promise.resolve(this.#taskPage(page));

  histories: StoredRows["histories"] = (page) =>
    Promise.resolve(this.#historyPage(page));

  answers: StoredRows["answers"] = ({ tenantId, nowMs, after, limit }) => {
    const rows = this.#reader.rows(
      "SELECT key, expires_ms, body_hash, status, headers, body " +
        "FROM idempotency WHERE tenant = ? AND key > ? AND expires_ms > ? " +
        "ORDER BY key LIMIT ?",
      this.#tenant(tenantId),
      after ?? "",
      nowMs,
      limit,
    );
    return Promise.resolve(rows.map((row): AnswerRow => ({
      key: readText(row, "key"),
      entry: readAnswer(row),
    })));
  };

  usage: StoredRows["usage"] = ({ tenantId, after, limit }) => {
    const rows = this.#reader.rows(
      "SELECT period, executions FROM usage " +
        "WHERE tenant = ? AND period > ? AND executions <> 0 " +
        "ORDER BY period LIMIT ?",
      this.#tenant(tenantId),
      after ?? "",
      limit,
    );
    return Promise.resolve(rows.map((row): UsageRow => ({
      period: readText(row, "period"),
      executions: readNumber(row, "executions"),
    })));
  };

  starts: StoredRows["starts"] = ({ tenantId, nowMs, after, limit }) => {
    const rows = this.#reader.rows(
      "SELECT worker, task_group, at_ms, max(expires_ms) AS expires_ms, " +
        "sum(count) AS count FROM starts WHERE tenant = ? AND " +
        "(worker, task_group, at_ms) > (?, ?, ?) AND expires_ms > ? " +
        "GROUP BY worker, task_group, at_ms " +
        "ORDER BY worker, task_group, at_ms LIMIT ?",
      this.#tenant(tenantId),
      after?.workerId ?? "",
      after?.group ?? "",
      after?.atMs ?? Number.MIN_SAFE_INTEGER,
      nowMs,
      limit,
    );
    return Promise.resolve(rows.map((row): StartRow => ({
      workerId: readText(row, "worker"),
      group: readText(row, "task_group"),
      atMs: readNumber(row, "at_ms"),
      expiresAtMs: readNumber(row, "expires_ms"),
      count: readNumber(row, "count"),
    })));
  };

  audit: StoredRows["audit"] = ({ tenantId, after, limit }) => {
    const rows = this.#reader.rows(
      "SELECT number, at_ms, action, text FROM audit " +
        "WHERE tenant = ? AND number > ? ORDER BY number LIMIT ?",
      this.#tenant(tenantId),
      after ?? 0,
      limit,
    );
    return Promise.resolve(
      rows.map((row): AuditEntry => readAuditEntry(row)),
    );
  };

  #taskPage({ tenantId, after, limit }: PageOf<"tasks">): readonly Task[] {
    const numbers = this.#reader.rows(
      "SELECT n FROM tasks INDEXED BY tasks_by_creation " +
        "WHERE tenant = ? AND (created_ms, n) > (?, ?) " +
        "ORDER BY created_ms, n LIMIT ?",
      this.#tenant(tenantId),
      after?.sortMs ?? Number.MIN_SAFE_INTEGER,
      after === undefined ? 0 : taskNumber(after.id) ?? 0,
      limit,
    ).map((row) => readNumber(row, "n"));
    return this.#tasks.numbered(numbers);
  }

  #historyPage(page: PageOf<"histories">): readonly HistoryRow[] {
    const { taskIds, after, limit } = page;
    const found: HistoryRow[] = [];
    let chars = 0;
    let from = after?.seq ?? 0;
    const first = after === undefined ? 0 : taskIds.indexOf(after.taskId);
    for (const taskId of taskIds.slice(Math.max(0, first))) {
      const rows = this.#reader.rows(
        "SELECT seq, text, hash FROM history " +
          "WHERE n = ? AND seq > ? ORDER BY seq LIMIT ?",
        taskNumber(taskId) ?? -1,
        from,
        limit - found.length,
      );
      for (const row of rows) {
        const text = readText(row, "text");
        const seq = readNumber(row, "seq");
        found.push({ taskId, seq, text, hash: readText(row, "hash") });
        chars += text.length;
        if (chars > MAX_ANSWER_CHARS) return found;
      }
      if (found.length >= limit) return found;
      from = 0;
    }
    return found;
  }

  /** The number of a tenant; one that no tenant has when it has none. */
  #tenant(tenantId: string): number {
    return this.#interned.tenant(tenantId) ?? -1;
  }
}
