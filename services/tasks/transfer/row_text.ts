/**
 * The lines of an export: each row as one line of JSON. The same rows give the
 * same lines, whichever engine they come from.
 *
 * @module
 */

import { Fields, LineError } from "../../shared/transfer/line_fields.ts";
import { type Task, TASK_STATUSES } from "../domain/task.ts";
import type { HistoryRow } from "../store/rows.ts";
import type { StoredRecord } from "../store/stored.ts";
import { completeBody, encodeBody } from "../store/task_body.ts";
import type { TransferRow } from "./transfer_rows.ts";

/** The line of a row. */
export function encodeRow(row: TransferRow): string {
  switch (row.kind) {
    case "tenant":
      return JSON.stringify({ kind: "tenant", id: row.tenantId });
    case "record": {
      const { kind, id, version, alias, parentId, text } = row.record;
      return JSON.stringify({
        kind: "record",
        of: kind,
        id,
        version,
        alias,
        parentId,
        text,
      });
    }
    case "task": {
      const { id, version, dataJson: data, resultJson: result } = row.task;
      const columns = JSON.stringify({ id, version, data, result });
      return `{"kind":"task",${columns.slice(1, -1)},` +
        `"body":${encodeBody(row.task)}}`;
    }
    case "history":
      return JSON.stringify({
        kind: "history",
        task: row.taskId,
        records: row.records.map(({ seq, text, hash }) => [seq, text, hash]),
      });
    case "answer": {
      const { key, entry } = row.answer;
      const { bodyHash, status, headers, body, expiresAtMs } = entry;
      return JSON.stringify({
        kind: "answer",
        key,
        bodyHash,
        status,
        headers,
        body,
        expiresAtMs,
      });
    }
    case "usage": {
      const { period, executions } = row.usage;
      return JSON.stringify({ kind: "usage", period, executions });
    }
    case "starts": {
      const { workerId, group, atMs, expiresAtMs, count } = row.starts;
      return JSON.stringify({
        kind: "starts",
        workerId,
        group,
        atMs,
        expiresAtMs,
        count,
      });
    }
    case "audit": {
      const { number, atMs, action, text } = row.entry;
      return JSON.stringify({ kind: "audit", number, atMs, action, text });
    }
  }
}

/**
 * Reads the line of a row.
 *
 * @param tenantId the tenant that the last line of a tenant has named
 * @throws {LineError} when the line is not that of a row
 */
export function parseRow(line: string, tenantId: string): TransferRow {
  const fields = new Fields(line);
  const kind = fields.text("kind");
  switch (kind) {
    case "tenant":
      return { kind, tenantId: fields.text("id") };
    case "record":
      return {
        kind,
        tenantId,
        record: {
          // A later version may have others; the store keeps them as they are.
          kind: fields.text("of") as StoredRecord["kind"],
          tenantId,
          id: fields.text("id"),
          version: fields.integer("version"),
          alias: fields.textIfAny("alias"),
          parentId: fields.textIfAny("parentId"),
          text: fields.text("text"),
        },
      };
    case "task":
      return { kind, tenantId, task: parseTask(fields, tenantId) };
    case "history": {
      const taskId = fields.text("task");
      const records = fields.list("records").map((record) =>
        parseRecord(record, taskId)
      );
      return { kind, tenantId, taskId, records };
    }
    case "answer":
      return {
        kind,
        tenantId,
        answer: {
          key: fields.text("key"),
          entry: {
            bodyHash: fields.text("bodyHash"),
            status: fields.integer("status"),
            headers: fields.texts("headers"),
            body: fields.text("body"),
            expiresAtMs: fields.integer("expiresAtMs"),
          },
        },
      };
    case "usage":
      return {
        kind,
        tenantId,
        usage: {
          period: fields.text("period"),
          executions: fields.integer("executions"),
        },
      };
    case "starts":
      return {
        kind,
        tenantId,
        starts: {
          workerId: fields.text("workerId"),
          group: fields.text("group"),
          atMs: fields.integer("atMs"),
          expiresAtMs: fields.integer("expiresAtMs"),
          count: fields.integer("count"),
        },
      };
    case "audit":
      return {
        kind,
        tenantId,
        entry: {
          number: fields.integer("number"),
          atMs: fields.integer("atMs"),
          action: fields.text("action"),
          text: fields.text("text"),
        },
      };
    default:
      throw new LineError(`there are no lines of the kind "${kind}"`);
  }
}

function parseTask(fields: Fields, tenantId: string): Task {
  const body = fields.object("body");
  const task = completeBody(body, {
    tenantId,
    id: fields.text("id"),
    version: fields.integer("version"),
    dataJson: fields.text("data"),
    resultJson: fields.textIfAny("result"),
  });
  const inner = new Fields(body);
  inner.text("workerId");
  inner.integer("createdAtMs");
  inner.integer("dateMs");
  inner.integer("historyCount");
  inner.text("historyHash");
  const status = inner.text("status");
  if (!TASK_STATUSES.some((one) => one === status)) {
    throw new LineError(`"${status}" is not the status of a task`);
  }
  return task;
}

function parseRecord(record: unknown, taskId: string): HistoryRow {
  if (Array.isArray(record) && record.length === 3) {
    const [seq, text, hash]: readonly unknown[] = record;
    if (
      Number.isSafeInteger(seq) && typeof text === "string" &&
      typeof hash === "string"
    ) {
      return { taskId, seq: Number(seq), text, hash };
    }
  }
  throw new LineError("a record of a history is not [number, text, hash]");
}
