/**
 * The rows that a service wrote to a data folder while it was copied, as they
 * stand at one moment.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { TASK_STATUSES } from "../domain/task.ts";
import type { Change } from "../store/sqlite/noted_writes.ts";
import type { HeldFolder } from "../store/sqlite/moving_folder.ts";
import type { Store } from "../store/store.ts";
import { nameRow } from "./compare_rows.ts";
import { type CopiedRow, countStarts } from "./row_copier.ts";
import { encodeRow } from "./row_text.ts";
import { readHistories } from "./transfer_rows.ts";

/** How many tasks are read together. */
const PAGE = 200;

/**
 * Yields the rows that were written, tenant by tenant, and for each that was
 * removed that it is not there.
 */
export async function* changedRows(
  held: HeldFolder,
  nowMs: number,
): AsyncGenerator<CopiedRow> {
  const byTenant = Map.groupBy(held.changes, ({ tenantId }) => tenantId);
  for (const [tenantId, changes] of byTenant) {
    yield { kind: "tenant", tenantId };
    for (const change of changes) {
      if (change.kind === "task") continue;
      yield* otherRow(held, change, nowMs);
    }
    const ids = changes.flatMap((change) =>
      change.kind === "task" ? change.id : []
    );
    for (let from = 0; from < ids.length; from += PAGE) {
      yield* taskRows(held, { tenantId, ids: ids.slice(from, from + PAGE) });
    }
  }
}

async function* taskRows(
  { tasks, rows }: HeldFolder,
  { tenantId, ids }: {
    readonly tenantId: string;
    readonly ids: readonly string[];
  },
): AsyncGenerator<CopiedRow> {
  const found = tasks.tasks(tenantId, ids);
  const of = { tenantId, nowMs: 0 };
  for (const [index, id] of ids.entries()) {
    const task = found[index];
    if (task === undefined) {
      yield { kind: "no_task", tenantId, id };
      continue;
    }
    yield { kind: "task", tenantId, task };
    for await (const history of readHistories(rows, of, [task])) {
      yield { kind: "history", tenantId, ...history };
    }
  }
}

async function* otherRow(
  { records, rows }: HeldFolder,
  change: Exclude<Change, { kind: "task" }>,
  nowMs: number,
): AsyncGenerator<CopiedRow> {
  const { tenantId } = change;
  switch (change.kind) {
    case "record": {
      const { recordKind: kind, id } = change;
      const record = records.record(kind, tenantId, id);
      yield record === undefined
        ? { kind: "no_record", tenantId, record: { kind, id } }
        : { kind: "record", tenantId, record };
      return;
    }
    case "answer": {
      const { key } = change;
      const entry = records.idempotency(tenantId, key, nowMs);
      if (entry !== undefined) {
        yield { kind: "answer", tenantId, answer: { key, entry } };
      }
      return;
    }
    case "usage": {
      const { period } = change;
      const usage = { period, ...records.usage(tenantId, period) };
      yield { kind: "usage", tenantId, usage };
      return;
    }
    case "starts": {
      const { workerId, group, atMs } = change;
      const [starts] = await rows.starts({
        tenantId,
        nowMs,
        after: { workerId, group, atMs: atMs - 1 },
        limit: 1,
      });
      const isFound = starts?.workerId === workerId &&
        starts.group === group && starts.atMs === atMs;
      // They may have expired meanwhile.
      if (isFound) yield { kind: "starts", tenantId, starts };
      return;
    }
    case "audit": {
      const [entry] = await rows.audit({
        tenantId,
        nowMs,
        after: change.number - 1,
        limit: 1,
      });
      // It may have been removed meanwhile, as old ones are.
      if (entry?.number === change.number) {
        yield { kind: "audit", tenantId, entry };
      }
    }
  }
}

/**
 * Compares the rows that were written with a copy: each of them, the end of each
 * history, and the counts of tasks of each tenant that has any.
 *
 * @returns what differs, a sentence each
 */
export async function compareChanges(
  held: HeldFolder,
  copy: Store,
  nowMs: number,
): Promise<readonly string[]> {
  const differences: string[] = [];
  let rows: CopiedRow[] = [];
  const compare = async (): Promise<void> => {
    const isSame = await Promise.all(
      rows.map((row) => isSameThere(row, copy, nowMs)),
    );
    for (const [index, row] of rows.entries()) {
      if (!isSame[index]) differences.push(`${tell(row)} differs`);
    }
    rows = [];
  };
  for await (const row of changedRows(held, nowMs)) {
    rows.push(row);
    if (rows.length === PAGE) await compare();
  }
  await compare();
  const tenantIds = new Set(held.changes.map(({ tenantId }) => tenantId));
  for (const tenantId of tenantIds) {
    const counts = held.statuses.counts({ tenantId });
    const there = await copy.counts({ tenantId });
    const differs = TASK_STATUSES.some((status) =>
      (counts[status] ?? 0) !== (there[status] ?? 0)
    );
    if (!differs) continue;
    differences.push(
      `tenant ${quote(tenantId)} has ${JSON.stringify(there)} tasks and not ` +
        JSON.stringify(counts),
    );
  }
  return differences;
}

async function isSameThere(
  row: CopiedRow,
  copy: Store,
  nowMs: number,
): Promise<boolean> {
  const { tenantId } = row;
  switch (row.kind) {
    case "task": {
      const { id: taskId, historyHash } = row.task;
      const [task, { records: [last] }] = await Promise.all([
        copy.task(tenantId, taskId),
        copy.history({ tenantId, taskId, order: "desc", limit: 1 }),
      ]);
      return task !== undefined && (last?.hash ?? "") === historyHash &&
        encodeRow(row) === encodeRow({ ...row, task });
    }
    case "record": {
      const { kind, id } = row.record;
      const record = await copy.record(kind, tenantId, id);
      return record !== undefined &&
        encodeRow(row) === encodeRow({ ...row, record });
    }
    case "answer": {
      const { key } = row.answer;
      const entry = await copy.idempotency(tenantId, key, nowMs);
      return entry !== undefined &&
        encodeRow(row) === encodeRow({ ...row, answer: { key, entry } });
    }
    case "usage": {
      const { executions } = await copy.usage(tenantId, row.usage.period);
      return executions === row.usage.executions;
    }
    case "starts": {
      const { workerId, group, atMs, count } = row.starts;
      const rate = { tenantId, workerId, group };
      return (await countStarts(copy, rate)).get(atMs) === count;
    }
    case "audit": {
      const before = row.entry.number + 1;
      const [entry] = await copy.audit({ tenantId, before, limit: 1 });
      return entry !== undefined &&
        encodeRow(row) === encodeRow({ ...row, entry });
    }
    case "no_task":
      return await copy.task(tenantId, row.id) === undefined;
    case "no_record": {
      const { kind, id } = row.record;
      return await copy.record(kind, tenantId, id) === undefined;
    }
    case "tenant":
    case "history":
      return true;
  }
}

function tell(row: CopiedRow): string {
  switch (row.kind) {
    case "no_task":
      return `task ${quote(row.id)}, which was removed,`;
    case "no_record":
      return `the ${row.record.kind} ${quote(row.record.id)}, which was ` +
        "removed,";
    default:
      return nameRow(row);
  }
}
