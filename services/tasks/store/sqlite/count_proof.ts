/**
 * The proof that the kept counts of tasks are those of the tasks.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";
import { openReading } from "./database_file.ts";
import { numberOf, Reader } from "./reader.ts";
import type { PiecewiseRead } from "./read_turns.ts";

/** Tasks that are counted in one piece, which takes about a millisecond. */
const PIECE = 20_000;

/** A count that is not what it should be. */
export interface CountFault {
  /** The tenant's number. */
  readonly tenant: number;
  /** The worker's number. */
  readonly lane: number;
  /** The status's number. */
  readonly status: number;
  /** What has to be added to it. */
  readonly delta: number;
}

/**
 * Counts all tasks of the database at a path. For each worker and status that is
 * done in one state of it, to which the kept count belongs, too; so it takes a
 * connection of its own.
 */
export function* proveCounts(
  path: string,
): PiecewiseRead<readonly CountFault[]> {
  const reader = new Reader(openReading(path));
  try {
    return yield* proveAll(reader);
  } finally {
    reader.close();
  }
}

/** Counts all tasks over a connection that is used for nothing else meanwhile. */
export function* proveAll(
  reader: Reader,
): PiecewiseRead<readonly CountFault[]> {
  const faults: CountFault[] = [];
  let lane = -1;
  while (true) {
    const row = reader.row(
      "SELECT lane, tenant FROM lanes WHERE lane > ? ORDER BY lane LIMIT 1",
      lane,
    );
    if (row === undefined) return faults;
    lane = numberOf(row, "lane");
    const tenant = numberOf(row, "tenant");
    for (const status of statusesOf(reader, { tenant, lane })) {
      const state = reader.hold();
      const kept = reader.number(
        "SELECT count FROM task_counts " +
          "WHERE tenant = ? AND lane = ? AND status = ?",
        tenant,
        lane,
        status,
      ) ?? 0;
      const counted = yield* count(reader, { tenant, lane, status });
      state.release();
      if (counted !== kept) {
        faults.push({ tenant, lane, status, delta: counted - kept });
      }
    }
    yield;
  }
}

/** Those of which there are tasks, or are said to be. */
function statusesOf(
  reader: Reader,
  { tenant, lane }: Pick<CountFault, "tenant" | "lane">,
): ReadonlySet<number> {
  const statuses = new Set(
    reader.rows(
      "SELECT status FROM task_counts " +
        "WHERE tenant = ? AND lane = ? AND count <> 0",
      tenant,
      lane,
    ).map((row) => numberOf(row, "status")),
  );
  let status: number | undefined = -1;
  while (true) {
    status = reader.number(
      "SELECT status FROM tasks INDEXED BY tasks_by_date " +
        "WHERE tenant = ? AND lane = ? AND status > ? ORDER BY status LIMIT 1",
      tenant,
      lane,
      status,
    );
    if (status === undefined) return statuses;
    statuses.add(status);
  }
}

function* count(
  reader: Reader,
  pair: Omit<CountFault, "delta">,
): Generator<void, number> {
  const { tenant, lane, status } = pair;
  const from = "FROM tasks INDEXED BY tasks_by_date " +
    "WHERE tenant = ? AND lane = ? AND status = ? AND ";
  let counted = 0;
  let place: { readonly at: number; readonly n: number } | undefined;
  while (true) {
    // The tasks of the same instant apart, or those before the place would be
    // walked over.
    const bounds: readonly (readonly [string, ...number[]])[] =
      place === undefined
        ? [["date_ms >= ?", Number.MIN_SAFE_INTEGER]]
        : [["date_ms = ? AND n > ?", place.at, place.n], [
          "date_ms > ?",
          place.at,
        ]];
    place = undefined;
    for (const [bound, ...values] of bounds) {
      const row = reader.row(
        `SELECT date_ms AS at, n ${from}${bound} ` +
          "ORDER BY date_ms, n LIMIT 1 OFFSET ?",
        tenant,
        lane,
        status,
        ...values,
        PIECE - 1,
      );
      if (row !== undefined) {
        place = { at: numberOf(row, "at"), n: numberOf(row, "n") };
        counted += PIECE;
        break;
      }
      counted += reader.number(
        `SELECT count(*) ${from}${bound}`,
        tenant,
        lane,
        status,
        ...values,
      ) ?? 0;
    }
    yield;
    if (place === undefined) return counted;
  }
}

/** Puts counts right. */
export class CountRepair {
  readonly #db: DatabaseSync;
  readonly #add: StatementSync;

  /** A repair over a connection that writes. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#add = db.prepare(
      "INSERT INTO task_counts VALUES(?, ?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET count = count + excluded.count",
    );
  }

  /** Adds what counts lack. What was counted since does not matter to it. */
  repair(faults: readonly CountFault[]): void {
    inTransaction(this.#db, () => {
      for (const { tenant, lane, status, delta } of faults) {
        this.#add.run(tenant, lane, status, delta);
      }
    });
  }
}
