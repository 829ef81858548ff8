/**
 * Reads tasks by their ids, keys, instants and statuses.
 *
 * @module
 */

import type { Task, TaskStatus } from "../../domain/task.ts";
import { countWaitChars } from "../../domain/wait.ts";
import type { RunningGroup, StatusCounts, TenantQueue } from "../store.ts";
import type {
  CountsQuery,
  DependentsQuery,
  OthersWaking,
  OthersWakingQuery,
  ScanPage,
  ScanQuery,
  TaskKey,
  WakingPosition,
} from "../queries.ts";
import type { RunningCounts } from "../../domain/records.ts";
import { taskNumber } from "../task_id.ts";
import {
  BLOCKED_CODE,
  decodeStatus,
  RUNNING_CODE,
  WAITING_CODE,
} from "../task_body.ts";
import type { InternedIds } from "./interned_ids.ts";
import type { PiecewiseRead } from "./read_turns.ts";
import { type Reader, readNumber, readText, type Row } from "./reader.ts";
import { READ_COLUMNS, type TaskDecoder } from "./task_row.ts";

/**
 * The most characters of payloads in an answer of several tasks, so that a page
 * of large tasks does not fill the memory. The first task is always returned.
 */
export const MAX_ANSWER_CHARS = 8_000_000;

/** What reading tasks needs. */
interface TaskReadParts {
  /** Runs the queries. */
  readonly reader: Reader;
  /** The numbers of tenants and of workers' queues. */
  readonly interned: InternedIds;
  /** Builds tasks from rows. */
  readonly decoder: TaskDecoder;
}

/** What the other readers need. */
export interface ReadParts extends Pick<TaskReadParts, "reader" | "interned"> {
  /** Reads the tasks whose numbers were found. */
  readonly tasks: TaskReads;
  /**
   * Milliseconds of a clock that never goes back; it limits the time of a
   * piece.
   */
  readonly monotonicMs: () => number;
}

const BY_NUMBER = `SELECT ${READ_COLUMNS}, tenant FROM tasks WHERE n = ?`;

/** Finds tasks by ids, keys and instants. */
export class TaskReads {
  readonly #parts: TaskReadParts;

  /** Takes what reading tasks needs. */
  constructor(parts: TaskReadParts) {
    this.#parts = parts;
  }

  /** The task with an id; undefined when the tenant has no such task. */
  task(tenantId: string, id: string): Task | undefined {
    const { reader, interned, decoder } = this.#parts;
    const n = taskNumber(id);
    const tenant = interned.tenant(tenantId);
    if (n === undefined || tenant === undefined) return undefined;
    return reader.snapshot(() => {
      const row = reader.row(BY_NUMBER, n);
      return row?.["id"] === id && row["tenant"] === tenant
        ? decoder.decode(row, tenantId)
        : undefined;
    });
  }

  /**
   * The tasks with some ids, in their order; undefined for each missing one.
   */
  tasks(
    tenantId: string,
    ids: readonly string[],
  ): readonly (Task | undefined)[] {
    const { reader, interned, decoder } = this.#parts;
    const tenant = interned.tenant(tenantId);
    const numbers = ids.map((id) => taskNumber(id));
    return reader.snapshot(() => {
      const rows = this.#rows(numbers.filter((n) => n !== undefined));
      return ids.map((id, index) => {
        const row = rows.get(numbers[index] ?? -1);
        return row?.["id"] === id && row["tenant"] === tenant
          ? decoder.decode(row, tenantId)
          : undefined;
      });
    });
  }

  /**
   * The tasks with some numbers, which were just found, up to a limit on
   * payloads.
   */
  numbered(
    numbers: readonly number[],
    maxChars: number = MAX_ANSWER_CHARS,
  ): readonly Task[] {
    const rows = this.#rows(numbers);
    const found = numbers.map((n) => rows.get(n))
      .filter((row) => row !== undefined);
    return this.#decodeAll(found, maxChars);
  }

  /** The live task of a worker with a key. */
  byKey({ tenantId, workerId, key }: TaskKey): Task | undefined {
    const { reader, interned, decoder } = this.#parts;
    const queueId = interned.queueId(tenantId, workerId);
    if (queueId === undefined) return undefined;
    return reader.snapshot(() => {
      const row = reader.row(
        `SELECT ${READ_COLUMNS} FROM tasks INDEXED BY live_keys ` +
          "WHERE lane = ? AND key = ? AND key IS NOT NULL AND status < 7",
        queueId,
        key,
      );
      return row && decoder.decode(row, tenantId);
    });
  }

  /** The ids of tasks that wait for any of the given ones, or failed by one. */
  dependents(
    { tenantId, ids, limit, afterId }: DependentsQuery,
  ): readonly string[] {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    const after = afterId === undefined ? -1 : taskNumber(afterId) ?? -1;
    return reader.snapshot(() => {
      // Each dependency has its own query, since only then its dependents are
      // in order.
      const numbers = ids.flatMap((id) =>
        reader.rows(
          "SELECT n FROM dependents " +
            "WHERE tenant = ? AND dependency = ? AND n > ? ORDER BY n LIMIT ?",
          tenant,
          id,
          after,
          limit,
        ).map((row) => readNumber(row, "n"))
      );
      const first = [...new Set(numbers)]
        .sort((left, right) => left - right).slice(0, limit);
      return reader.rows(
        "SELECT id FROM tasks WHERE n IN (SELECT value FROM json_each(?)) " +
          "ORDER BY n",
        JSON.stringify(first),
      ).map((row) => readText(row, "id"));
    });
  }

  /** The tasks whose time to wake has come, after a position. */
  waking(
    nowMs: number,
    limit: number,
    after?: WakingPosition,
  ): readonly Task[] {
    const { reader } = this.#parts;
    const afterNumber = after && taskNumber(after.id);
    return reader.snapshot(() =>
      this.#decodeAll(
        reader.rows(
          `SELECT ${READ_COLUMNS}, tenant FROM tasks ` +
            "INDEXED BY tasks_to_wake WHERE wake_ms IS NOT NULL AND " +
            "wake_ms <= ? AND (wake_ms, n) > (?, ?) ORDER BY wake_ms, n LIMIT ?",
          nowMs,
          after?.wakeAtMs ?? Number.MIN_SAFE_INTEGER,
          afterNumber ?? -1,
          limit,
        ),
        MAX_ANSWER_CHARS,
      )
    );
  }

  /** The tasks whose time to wake has come, of all tenants but some. */
  wakingOfOthers(
    { nowMs, except, after, maxLooked }: OthersWakingQuery,
  ): OthersWaking {
    const { reader, interned } = this.#parts;
    const passed = new Set([...except].map((id) => interned.tenant(id)));
    return reader.snapshot(() => {
      const looked = reader.rows(
        "SELECT wake_ms, n, tenant, id FROM tasks " +
          "INDEXED BY tasks_to_wake WHERE wake_ms IS NOT NULL AND " +
          "wake_ms <= ? AND (wake_ms, n) > (?, ?) ORDER BY wake_ms, n LIMIT ?",
        nowMs,
        after.wakeAtMs,
        taskNumber(after.id) ?? -1,
        maxLooked,
      );
      const others = looked.filter((row) =>
        !passed.has(readNumber(row, "tenant"))
      );
      const tasks = this.numbered(others.map((row) => readNumber(row, "n")));
      // Large payloads make the answer short.
      const last = tasks.length < others.length
        ? others[tasks.length - 1]
        : looked.at(-1);
      return {
        tasks,
        next: last &&
          { wakeAtMs: readNumber(last, "wake_ms"), id: readText(last, "id") },
      };
    });
  }

  /** The earliest time at which a task has to be woken, after another. */
  nextWakeMs(afterMs = Number.MIN_SAFE_INTEGER): number | undefined {
    return this.#parts.reader.number(
      "SELECT wake_ms FROM tasks INDEXED BY tasks_to_wake " +
        "WHERE wake_ms IS NOT NULL AND wake_ms > ? ORDER BY wake_ms LIMIT 1",
      afterMs,
    );
  }

  /** How many running tasks a worker has. */
  running(tenantId: string, workerId: string): RunningCounts {
    const { reader, interned } = this.#parts;
    const queueId = interned.queueId(tenantId, workerId);
    const groups = new Map<string, number>();
    if (queueId === undefined) return { all: 0, groups };
    let all = 0;
    const rows = reader.rows(
      "SELECT grp, count(*) AS count FROM tasks INDEXED BY tasks_running " +
        `WHERE lane = ? AND status = ${RUNNING_CODE} GROUP BY grp`,
      queueId,
    );
    for (const row of rows) {
      const count = readNumber(row, "count");
      const group = readText(row, "grp");
      all += count;
      if (group !== "") groups.set(group, count);
    }
    return { all, groups };
  }

  /** How many tasks of a tenant are running, by worker and group. */
  runningGroups(tenantId: string): readonly RunningGroup[] {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    return reader.snapshot(() =>
      reader.rows("SELECT worker FROM lanes WHERE tenant = ?", tenant)
        .flatMap((row) => {
          const workerId = readText(row, "worker");
          const { groups } = this.running(tenantId, workerId);
          return [...groups].map(([group, count]) => ({
            ...{ workerId, group, count },
          }));
        })
    );
  }

  /** Rows by their numbers, read in a single query, which is much faster. */
  #rows(numbers: readonly number[]): ReadonlyMap<number, Row> {
    const { reader } = this.#parts;
    const rows = numbers.length === 0 ? [] : reader.rows(
      `SELECT ${READ_COLUMNS}, tenant FROM tasks ` +
        "WHERE n IN (SELECT value FROM json_each(?))",
      JSON.stringify(numbers),
    );
    return new Map(rows.map((row) => [readNumber(row, "n"), row]));
  }

  #decodeAll(rows: readonly Row[], maxChars: number): readonly Task[] {
    const { interned, decoder } = this.#parts;
    const tasks: Task[] = [];
    let chars = 0;
    for (const row of rows) {
      const tenantId = interned.tenantId(readNumber(row, "tenant"));
      const task = decoder.decode(row, tenantId);
      chars += payloadChars(task);
      if (chars > maxChars && tasks.length > 0) break;
      tasks.push(task);
    }
    return tasks;
  }
}

/** The characters of a task's payloads. */
export function payloadChars({ dataJson, resultJson, wait }: Task): number {
  return dataJson.length + (resultJson?.length ?? 0) + countWaitChars(wait);
}

/** The most characters of payloads in a page of a scan. */
const MAX_SCANNED_CHARS = 1_000_000;

/** The number of a task that was found, and its position as a cursor. */
interface Found {
  readonly n: number;
  readonly position: string;
}

/**
 * How many counts are read in one piece, which takes less than a millisecond.
 */
const COUNTS_OF_A_PIECE = 200;

/** The part of a tenant's queues that was read so far. */
interface OpenQueue {
  readonly counts: Partial<Record<TaskStatus, number>>;
  dueSinceMs: number | undefined;
}

function least(
  one: number | undefined,
  other: number | undefined,
): number | undefined {
  return one === undefined || other === undefined
    ? one ?? other
    : Math.min(one, other);
}

/** Counts and scans tasks by status. */
export class StatusReads {
  readonly #parts: ReadParts;

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** How many tasks a tenant, or one of its workers, has in each status. */
  counts({ tenantId, workerId }: CountsQuery): StatusCounts {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return {};
    const select = "SELECT status, sum(count) AS count FROM task_counts " +
      "WHERE tenant = ?";
    const rows = workerId === undefined
      ? reader.rows(`${select} GROUP BY status`, tenant)
      : reader.rows(
        `${select} AND lane = ? GROUP BY status`,
        tenant,
        interned.queueId(tenantId, workerId) ?? -1,
      );
    return Object.fromEntries(
      rows.map((row) => [
        decodeStatus(readNumber(row, "status")),
        readNumber(row, "count"),
      ]).filter(([, count]) => count !== 0),
    );
  }

  /** The number of tasks in each tenant's queues, from the stored counts. */
  *queues(): PiecewiseRead<readonly TenantQueue[]> {
    const { reader, interned } = this.#parts;
    const tenants = new Map<number, OpenQueue>();
    let after: readonly number[] = [-1, -1, -1];
    while (true) {
      const rows = reader.rows(
        "SELECT tenant, lane, status, count FROM task_counts " +
          "WHERE (tenant, lane, status) > (?, ?, ?) " +
          "ORDER BY tenant, lane, status LIMIT ?",
        ...after,
        COUNTS_OF_A_PIECE,
      );
      for (const row of rows) {
        const place = ["tenant", "lane", "status"].map((name) =>
          readNumber(row, name)
        );
        after = place;
        this.#addCount(tenants, place, readNumber(row, "count"));
      }
      if (rows.length < COUNTS_OF_A_PIECE) break;
      yield;
    }
    return Array.from(tenants, ([tenant, { counts, dueSinceMs }]) => ({
      tenantId: interned.tenantId(tenant),
      counts,
      dueSinceMs: least(dueSinceMs, this.#dueAgainSince(tenant, counts)),
    }));
  }

  #addCount(
    tenants: Map<number, OpenQueue>,
    [tenant = -1, queueId = -1, code = -1]: readonly number[],
    count: number,
  ): void {
    if (count === 0) return;
    let queue = tenants.get(tenant);
    if (queue === undefined) {
      queue = { counts: {}, dueSinceMs: undefined };
      tenants.set(tenant, queue);
    }
    const status = decodeStatus(code);
    queue.counts[status] = (queue.counts[status] ?? 0) + count;
    if (code !== WAITING_CODE) return;
    queue.dueSinceMs = least(
      queue.dueSinceMs,
      // Waiting tasks are all due, so the first date counts.
      this.#parts.reader.number(
        "SELECT date_ms FROM tasks INDEXED BY tasks_by_date " +
          "WHERE tenant = ? AND lane = ? AND status = ? " +
          "ORDER BY date_ms LIMIT 1",
        tenant,
        queueId,
        code,
      ),
    );
  }

  /**
   * The earliest date of the tenant's tasks in `retry` and `done` that may be
   * taken.
   */
  #dueAgainSince(tenant: number, counts: StatusCounts): number | undefined {
    if (counts.retry === undefined && counts.done === undefined) {
      return undefined;
    }
    return this.#parts.reader.number(
      "SELECT date_ms FROM tasks INDEXED BY tasks_due_again " +
        `WHERE tenant = ? AND rank IS NOT NULL AND status <> ${WAITING_CODE} ` +
        "ORDER BY date_ms LIMIT 1",
      tenant,
    );
  }

  /** A page of all tasks of a status, across all tenants. */
  scan({ status, limit, after }: ScanQuery): ScanPage {
    return this.#parts.reader.snapshot(() => {
      const found = status === "running"
        ? this.#running(limit + 1, after)
        : this.#blocked(limit + 1, after);
      const tasks = this.#parts.tasks.numbered(
        found.slice(0, limit).map(({ n }) => n),
        MAX_SCANNED_CHARS,
      );
      const last = found[tasks.length - 1];
      return tasks.length < found.length && last !== undefined
        ? { tasks, next: last.position }
        : { tasks };
    });
  }

  #blocked(limit: number, after: string = "-1"): readonly Found[] {
    return this.#parts.reader.rows(
      "SELECT n FROM tasks INDEXED BY tasks_blocked " +
        `WHERE status = ${BLOCKED_CODE} AND n > ? ORDER BY n LIMIT ?`,
      Number(after),
      limit,
    ).map((row) => {
      const n = readNumber(row, "n");
      return { n, position: String(n) };
    });
  }

  /**
   * Finds running tasks in the order of their index: by worker, group and
   * number.
   */
  #running(limit: number, after: string = '[-1,"",-1]'): readonly Found[] {
    const [queueId, group, number]: [number, string, number] = JSON.parse(
      after,
    );
    const bounds = [
      ["lane = ? AND grp = ? AND n > ?", queueId, group, number],
      ["lane = ? AND grp > ?", queueId, group],
      ["lane > ?", queueId],
    ] as const;
    const rows: Row[] = [];
    for (const [condition, ...values] of bounds) {
      if (rows.length === limit) break;
      rows.push(...this.#parts.reader.rows(
        "SELECT lane, grp, n FROM tasks INDEXED BY tasks_running " +
          `WHERE status = ${RUNNING_CODE} AND ${condition} ` +
          "ORDER BY lane, grp, n LIMIT ?",
        ...values,
        limit - rows.length,
      ));
    }
    return rows.map((row) => {
      const n = readNumber(row, "n");
      const place = [readNumber(row, "lane"), readText(row, "grp"), n];
      return { n, position: JSON.stringify(place) };
    });
  }
}
