/**
 * Tasks by their statuses: counts, and scans across tenants.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { TaskStatus } from "../../domain/task_status.ts";
import type { ScanPosition } from "../store.ts";
import { pairsOf } from "./list_sources.ts";
import type { Names } from "./names.ts";
import { numberOf, type Reader } from "./reader.ts";
import { RUNNING_CODE, statusCode, statusOf } from "./status_code.ts";
import type { TaskReads } from "./task_reads.ts";

/** Most pairs of worker and status that one call of a scan walks over. */
const MAX_STEPS = 5_000;

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
  /** The statuses. */
  readonly statuses: readonly TaskStatus[];
  /** Most tasks. */
  readonly limit: number;
  /** Where to go on. */
  readonly after?: ScanPosition;
}

/** A piece of a scan. */
export interface ScanPage {
  /** The tasks. */
  readonly tasks: readonly Task[];
  /** Where to go on; absent at the end. */
  readonly next?: ScanPosition;
}

/** Tenant, worker, status, date and number: the order of the index. */
type Place = readonly [number, number, number, number, number];

const BEGINNING: Place = [-1, -1, -1, 0, -1];

/** Reads by status. */
export class StatusReads {
  readonly #parts: StatusParts;

  /** Reads from `parts`. */
  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  /** How many tasks are in each status. */
  counts(
    options: {
      readonly tenantId: string;
      readonly workerId?: string;
      readonly cap: number;
    },
  ): Readonly<Partial<Record<TaskStatus, number>>> {
    const { reader, names } = this.#parts;
    const { tenantId, workerId, cap } = options;
    const counts: Partial<Record<TaskStatus, number>> = {};
    const tenant = names.tenant(tenantId);
    const lane = workerId === undefined
      ? undefined
      : names.lane(tenantId, workerId) ?? -1;
    if (tenant === undefined) return counts;
    const lanes = lane === undefined ? undefined : [lane];
    return reader.snapshot(() => {
      for (const pair of pairsOf(reader, { tenant, lanes })) {
        const status = statusOf(pair.status);
        const before = counts[status] ?? 0;
        if (before >= cap) continue;
        const count = reader.number(
          "SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_by_date " +
            "WHERE tenant = ? AND lane = ? AND status = ? LIMIT ?)",
          tenant,
          pair.lane,
          pair.status,
          cap - before,
        ) ?? 0;
        if (count > 0) counts[status] = before + count;
      }
      return counts;
    });
  }

  /** Tasks of some statuses across all tenants. */
  scan(options: ScanOptions): ScanPage {
    return this.#parts.reader.snapshot(() => {
      const codes = options.statuses.map(statusCode);
      return codes.length === 1 && codes[0] === RUNNING_CODE
        ? this.#scanRunning(options)
        : this.#scanStatuses(options, new Set(codes));
    });
  }

  /** What runs has an index of its own, so recovery need not walk over workers. */
  #scanRunning({ limit, after }: ScanOptions): ScanPage {
    const numbers = this.#parts.reader.rows(
      "SELECT n FROM tasks INDEXED BY tasks_running " +
        `WHERE status = ${RUNNING_CODE} AND n > ? ORDER BY n LIMIT ?`,
      Number(after?.position ?? -1),
      limit + 1,
    ).map((row) => numberOf(row, "n"));
    const tasks = this.#parts.tasks.numbered(numbers.slice(0, limit));
    const last = numbers[tasks.length - 1];
    return tasks.length < numbers.length && last !== undefined
      ? { tasks, next: { position: String(last) } }
      : { tasks };
  }

  #scanStatuses(
    { limit, after }: ScanOptions,
    codes: ReadonlySet<number>,
  ): ScanPage {
    const found: Place[] = [];
    let place = after === undefined ? BEGINNING : placeOf(after);
    let isAtEnd = codes.size === 0;
    for (let step = 0; !isAtEnd && found.length <= limit; step++) {
      if (step === MAX_STEPS) break;
      if (codes.has(place[2])) {
        const rows = this.#behind(place, limit + 1 - found.length);
        found.push(...rows);
        place = rows.at(-1) ?? place;
        if (found.length > limit) break;
      }
      const next = this.#nextPair(place);
      isAtEnd = next === undefined;
      place = next ?? place;
    }
    const numbers = found.slice(0, limit).map(([, , , , n]) => n);
    const tasks = this.#parts.tasks.numbered(numbers);
    if (tasks.length < numbers.length || found.length > limit) {
      place = found[tasks.length - 1] ?? place;
    } else if (isAtEnd) return { tasks };
    return { tasks, next: { position: place.join() } };
  }

  #behind(place: Place, limit: number): readonly Place[] {
    const [tenant, lane, status, date, n] = place;
    const { reader } = this.#parts;
    const select = (
      condition: string,
      values: readonly number[],
      most: number,
    ) =>
      reader.rows(
        "SELECT date_ms, n FROM tasks INDEXED BY tasks_by_date " +
          `WHERE tenant = ? AND lane = ? AND status = ? AND ${condition} ` +
          "ORDER BY date_ms, n LIMIT ?",
        tenant,
        lane,
        status,
        ...values,
        most,
      ).map((row): Place => [
        tenant,
        lane,
        status,
        numberOf(row, "date_ms"),
        numberOf(row, "n"),
      ]);
    const tied = select("date_ms = ? AND n > ?", [date, n], limit);
    if (tied.length === limit) return tied;
    return tied.concat(select("date_ms > ?", [date], limit - tied.length));
  }

  /** The place before the first task of the next worker or status. */
  #nextPair([tenant, lane, status]: Place): Place | undefined {
    const row = this.#parts.reader.row(
      "SELECT tenant, lane, status FROM tasks INDEXED BY tasks_by_date " +
        "WHERE (tenant, lane, status) > (?, ?, ?) " +
        "ORDER BY tenant, lane, status LIMIT 1",
      tenant,
      lane,
      status,
    );
    return row && [
      numberOf(row, "tenant"),
      numberOf(row, "lane"),
      numberOf(row, "status"),
      -Number.MAX_SAFE_INTEGER,
      -1,
    ];
  }
}

function placeOf({ position }: ScanPosition): Place {
  const [tenant = -1, lane = -1, status = -1, date = 0, n = -1] = position
    .split(",").map(Number);
  return [tenant, lane, status, date, n];
}
