/**
 * All rows of the store in memory, as they stand at one moment.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type {
  AnswerRow,
  HistoryRow,
  RowPage,
  RowsOf,
  StartRow,
  StoredRows,
  UsageRow,
} from "../rows.ts";
import type { AuditEntry, StoredRecord } from "../store.ts";
import { type MemoryTables, twoPartKey } from "./memory_writes.ts";

/** Takes the rows; what is written to the tables later is not in them. */
export function memoryRows(of: MemoryTables): StoredRows {
  const [tasks, records] = [[...of.tasks.values()], [...of.records.values()]];
  const histories = new Map(of.histories);
  const [answers, usage] = [[...of.answers], [...of.usage]];
  const [starts, audit] = [[...of.starts.values()], new Map(of.audit)];

  function tasksOf(tenantId: string): readonly Task[] {
    return tasks.filter((task) => task.tenantId === tenantId).sort(
      (left, right) =>
        left.createdAtMs - right.createdAtMs || compare(left.id, right.id),
    );
  }

  function recordsOf(tenantId: string): readonly StoredRecord[] {
    return records.filter((record) => record.tenantId === tenantId).sort(
      (left, right) =>
        compare(left.kind, right.kind) || compare(left.id, right.id),
    );
  }

  function answersOf({ tenantId, nowMs }: RowsOf): readonly AnswerRow[] {
    return ofTenant(answers, tenantId)
      .filter(([, { expiresAtMs }]) => expiresAtMs > nowMs)
      .map(([key, entry]) => ({ key, entry }));
  }

  function usageOf(tenantId: string): readonly UsageRow[] {
    return ofTenant(usage, tenantId)
      .filter(([, executions]) => executions !== 0)
      .map(([period, executions]) => ({ period, executions }));
  }

  function startsOf({ tenantId, nowMs }: RowsOf): readonly StartRow[] {
    const rated = Map.groupBy(
      starts.filter((start) =>
        start.tenantId === tenantId && start.expiresAtMs > nowMs
      ),
      ({ workerId, group, atMs }) => JSON.stringify([workerId, group, atMs]),
    );
    return [...rated.values()].map((of): StartRow => {
      const { workerId, group, atMs } = of[0]!;
      return {
        workerId,
        group,
        atMs,
        expiresAtMs: Math.max(...of.map(({ expiresAtMs }) => expiresAtMs)),
        count: of.reduce((sum, { count = 1 }) => sum + count, 0),
      };
    }).sort(compareStarts);
  }

  function auditOf(tenantId: string): readonly AuditEntry[] {
    return audit.get(tenantId) ?? [];
  }

  return {
    tenantIds: (page) => {
      const ids = new Set([
        ...tasks.map(({ tenantId }) => tenantId),
        ...records.map(({ tenantId }) => tenantId),
        ...[...answers, ...usage].map(([key]) => tenantOf(key)),
        ...starts.map(({ tenantId }) => tenantId),
        ...audit.keys(),
      ]);
      return cut([...ids].sort(compare), page, (id, after) => id > after);
    },
    count: (which) => {
      const { tenantId } = which;
      return Promise.resolve({
        records: recordsOf(tenantId).length,
        tasks: tasksOf(tenantId).length,
        answers: answersOf(which).length,
        usage: usageOf(tenantId).length,
        starts: startsOf(which).length,
        audit: auditOf(tenantId).length,
      });
    },
    records: (page) =>
      cut(
        recordsOf(page.tenantId),
        page,
        ({ kind, id }, after) =>
          (compare(kind, after.kind) || compare(id, after.id)) > 0,
      ),
    tasks: (page) =>
      cut(
        tasksOf(page.tenantId),
        page,
        ({ createdAtMs, id }, after) =>
          (createdAtMs - after.sortMs || compare(id, after.id)) > 0,
      ),
    histories: (page) => {
      const { taskIds } = page;
      const all = taskIds.flatMap((taskId) =>
        (histories.get(taskId) ?? []).map((
          { seq, text, hash },
        ): HistoryRow => ({
          taskId,
          seq,
          text,
          hash,
        }))
      );
      return cut(
        all,
        page,
        ({ taskId, seq }, after) =>
          (taskIds.indexOf(taskId) - taskIds.indexOf(after.taskId) ||
            seq - after.seq) > 0,
      );
    },
    answers: (page) =>
      cut(answersOf(page), page, ({ key }, after) => key > after),
    usage: (page) =>
      cut(usageOf(page.tenantId), page, ({ period }, after) => period > after),
    starts: (page) =>
      cut(
        startsOf(page),
        page,
        (start, after) => compareStarts(start, after) > 0,
      ),
    audit: (page) =>
      cut(auditOf(page.tenantId), page, ({ number }, after) => number > after),
  };
}

function cut<Row, Position>(
  rows: readonly Row[],
  { limit, after }: RowPage<Position>,
  isBehind: (row: Row, after: Position) => boolean,
): Promise<readonly Row[]> {
  return Promise.resolve(
    rows.filter((row) => after === undefined || isBehind(row, after))
      .slice(0, limit),
  );
}

/** The entries of a table whose keys begin with a tenant, without it. */
function ofTenant<Value>(
  entries: readonly (readonly [string, Value])[],
  tenantId: string,
): readonly (readonly [string, Value])[] {
  const start = twoPartKey(tenantId, "");
  return entries.filter(([key]) => key.startsWith(start))
    .map(([key, value]) => [key.slice(start.length), value] as const)
    .sort(([left], [right]) => compare(left, right));
}

type StartPlace = Pick<StartRow, "workerId" | "group" | "atMs">;

function compareStarts(left: StartPlace, right: StartPlace): number {
  return compare(left.workerId, right.workerId) ||
    compare(left.group, right.group) || left.atMs - right.atMs;
}

function tenantOf(key: string): string {
  return JSON.parse(key.slice(0, key.indexOf("\n")));
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
