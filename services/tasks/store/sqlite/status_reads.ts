/**
 * Tasks by their statuses: how many there are, and those that have to be watched.
 *
 * @module
 */

import type { TaskStatus } from "../../domain/task.ts";
import type { ScanPage, ScanPosition, WatchedStatus } from "../store.ts";
import type { Names } from "./names.ts";
import { numberOf, type Reader, type Row, textOf } from "./reader.ts";
import { BLOCKED_CODE, RUNNING_CODE, statusOf } from "./status_code.ts";
import type { TaskReads } from "./task_reads.ts";

/** Most characters of payloads that a piece of a scan holds. */
const MAX_SCANNED_CHARS = 1_000_000;

/** What reading by status needs. */
export interface StatusParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
  /** Reads the tasks that are found. */
  readonly tasks: TaskReads;
}

/** What a scan asks for. */
export interface ScanOptions {
  /** The status. */
  readonly status: WatchedStatus;
  /** Most tasks. */
  readonly limit: number;
  /** Where to go on. */
  readonly after?: ScanPosition;
}

/** A task that was found, and where. */
interface Found {
  readonly n: number;
  readonly position: string;
}

/** Reads by status. */
export class StatusReads {
  readonly #parts: StatusParts;

  /** Reads from `parts`. */
  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  /** How many tasks a tenant, or one of its workers, has in each status. */
  counts(
    { tenantId, workerId }: {
      readonly tenantId: string;
      readonly workerId?: string;
    },
  ): Readonly<Partial<Record<TaskStatus, number>>> {
    const { reader, names } = this.#parts;
    const tenant = names.tenant(tenantId);
    if (tenant === undefined) return {};
    const select = "SELECT status, sum(count) AS count FROM task_counts " +
      "WHERE tenant = ?";
    const rows = workerId === undefined
      ? reader.rows(`${select} GROUP BY status`, tenant)
      : reader.rows(
        `${select} AND lane = ? GROUP BY status`,
        tenant,
        names.lane(tenantId, workerId) ?? -1,
      );
    return Object.fromEntries(
      rows.map((row) => [
        statusOf(numberOf(row, "status")),
        numberOf(row, "count"),
      ]).filter(([, count]) => count !== 0),
    );
  }

  /** Tasks of a status across all tenants. */
  scan({ status, limit, after }: ScanOptions): ScanPage {
    return this.#parts.reader.snapshot(() => {
      const found = status === "running"
        ? this.#running(limit + 1, after?.position)
        : this.#blocked(limit + 1, after?.position);
      const tasks = this.#parts.tasks.numbered(
        found.slice(0, limit).map(({ n }) => n),
        MAX_SCANNED_CHARS,
      );
      const last = found[tasks.length - 1];
      return tasks.length < found.length && last !== undefined
        ? { tasks, next: { position: last.position } }
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
      const n = numberOf(row, "n");
      return { n, position: String(n) };
    });
  }

  /** In the order of their index: by worker, group and number. */
  #running(limit: number, after: string = '[-1,"",-1]'): readonly Found[] {
    const [lane, group, number]: [number, string, number] = JSON.parse(after);
    const bounds = [
      ["lane = ? AND grp = ? AND n > ?", lane, group, number],
      ["lane = ? AND grp > ?", lane, group],
      ["lane > ?", lane],
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
      const n = numberOf(row, "n");
      const place = [numberOf(row, "lane"), textOf(row, "grp"), n];
      return { n, position: JSON.stringify(place) };
    });
  }
}
