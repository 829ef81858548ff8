/**
 * How many tasks of each worker are in each status, kept in the transactions that
 * change it.
 *
 * Triggers would see every change, too, but they make SQLite keep a journal for
 * each statement: a batch of new tasks took 1.8 times as long with them. So what
 * a group changes is summed up here and written once at its end.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { OperationValue } from "./operation.ts";
import { numberOf } from "./reader.ts";

/** A worker and a status, with the tasks that came and went. */
interface Change {
  readonly tenant: number;
  readonly lane: number;
  readonly status: number;
  delta: number;
}

/** Where a task is counted: its worker's and its status's number. */
export interface CountedPlace {
  /** The worker's number. */
  readonly lane: OperationValue;
  /** The status's number. */
  readonly status: OperationValue;
}

/** More than there are statuses, so that a number stands for a pair. */
const STATUS_SPAN = 64;

/** Keeps the table `task_counts`. */
export class TaskCounts {
  readonly #before: StatementSync;
  readonly #add: StatementSync;
  /** What the group changes, by worker and status. */
  readonly #group = new Map<number, Change>();
  /** What the transaction that is under way changes. */
  readonly #transaction: Change[] = [];

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#before = db.prepare("SELECT lane, status FROM tasks WHERE n = ?");
    this.#add = db.prepare(
      "INSERT INTO task_counts VALUES(?, ?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET count = count + excluded.count",
    );
  }

  /** A group begins; what one that was rolled back had changed is forgotten. */
  beginGroup(): void {
    this.#group.clear();
    this.#transaction.length = 0;
  }

  /** Where a task is counted now, before it is changed; undefined without one. */
  placeOf(n: OperationValue): CountedPlace | undefined {
    const row = this.#before.get(n);
    return row && {
      lane: numberOf(row, "lane"),
      status: numberOf(row, "status"),
    };
  }

  /** A task of a tenant has moved; without a place it was not there, or is gone. */
  move(
    tenant: OperationValue,
    { from, to }: {
      readonly from?: CountedPlace | undefined;
      readonly to?: CountedPlace | undefined;
    },
  ): void {
    if (from?.lane === to?.lane && from?.status === to?.status) return;
    if (from !== undefined) this.#transaction.push(changeOf(tenant, from, -1));
    if (to !== undefined) this.#transaction.push(changeOf(tenant, to, 1));
  }

  /** A transaction ends; what it changed counts only when it was applied. */
  endTransaction(isApplied: boolean): void {
    if (isApplied) {
      for (const change of this.#transaction) {
        const key = change.lane * STATUS_SPAN + change.status;
        const known = this.#group.get(key);
        if (known === undefined) this.#group.set(key, change);
        else known.delta += change.delta;
      }
    }
    this.#transaction.length = 0;
  }

  /**
   * The group is about to be committed.
   *
   * @returns by how much the number of tasks of each tenant changes
   */
  endGroup(): ReadonlyMap<number, number> {
    const tenants = new Map<number, number>();
    for (const { tenant, lane, status, delta } of this.#group.values()) {
      if (delta === 0) continue;
      this.#add.run(tenant, lane, status, delta);
      tenants.set(tenant, (tenants.get(tenant) ?? 0) + delta);
    }
    return tenants;
  }
}

function changeOf(
  tenant: OperationValue,
  { lane, status }: CountedPlace,
  delta: number,
): Change {
  return {
    tenant: Number(tenant),
    lane: Number(lane),
    status: Number(status),
    delta,
  };
}
