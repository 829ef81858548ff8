/**
 * Metrics of the database of the store. They have no series where the store is
 * a file, and while the database cannot be asked.
 *
 * @module
 */

import type { MetricRegistry, Reading } from "../../shared/metrics/registry.ts";
import type { DatabaseHealth } from "../store/postgres/database_health.ts";

/** Exports what was last seen of the database. */
export class DatabaseMetrics {
  #misses: number | undefined;
  #health: DatabaseHealth | undefined;

  /** Adds the families. */
  constructor(registry: MetricRegistry) {
    const gauge = (
      name: string,
      help: string,
      read: (health: DatabaseHealth) => number,
    ): void =>
      this.#gauge(registry, { name, help, labels: [] }, (health) => [
        { labels: {}, value: read(health) },
      ]);
    gauge(
      "tasks_database_oldest_transaction_seconds",
      "Age of the oldest open transaction of the database, 0 without one; " +
        "dead rows stay as long as it is open.",
      (health) => health.oldestTransactionSeconds,
    );
    gauge(
      "tasks_database_horizon_transactions",
      "Transactions since the oldest state that a client, a standby or a " +
        "replication slot may still look at.",
      (health) => health.horizonTransactions,
    );
    gauge(
      "tasks_database_unfolded_rows",
      "Changes of counts that were not folded yet, up to 100,000.",
      (health) => health.unfoldedRows,
    );
    gauge(
      "tasks_database_standby_lag_bytes",
      "Bytes of the log that the slowest standby has not written.",
      (health) => health.standbyLagBytes,
    );
    gauge(
      "tasks_store_floor_gap_seconds",
      "By how much, in ranks, the oldest task that may be taken was below " +
        "where this instance looked for it; the largest of 15 seconds.",
      (health) => health.floorMisses.gapMs / 1_000,
    );
    this.#gauge(registry, {
      name: "tasks_database_standbys",
      help: "Standbys that follow, by whether commits wait for them.",
      labels: ["mode"],
    }, ({ standbys }) =>
      Object.entries(standbys).map(([mode, value]) => ({
        labels: { mode },
        value,
      })));
    this.#gauge(registry, {
      name: "tasks_database_rows",
      help: "Rows of the tables as the server estimates; the dead ones were " +
        "changed or removed and still take space.",
      labels: ["table", "state"],
    }, ({ tables }) =>
      tables.flatMap(({ table, liveRows, deadRows }) => [
        { labels: { table, state: "live" }, value: liveRows },
        { labels: { table, state: "dead" }, value: deadRows },
      ]));
    this.#gauge(registry, {
      name: "tasks_database_table_bytes",
      help: "Bytes of the tables, by rows and indexes.",
      labels: ["table", "part"],
    }, ({ tables }) =>
      tables.flatMap(({ table, rowBytes, indexBytes }) => [
        { labels: { table, part: "rows" }, value: rowBytes },
        { labels: { table, part: "indexes" }, value: indexBytes },
      ]));
    registry.read({
      kind: "counter",
      name: "tasks_store_floor_misses_total",
      help: "Looks for tasks from the beginning that found some which those " +
        "before had passed over, as notices were lost.",
      labels: [],
      read: () =>
        this.#misses === undefined ? [] : [{ labels: {}, value: this.#misses }],
    });
  }

  /** Notes how the database is; undefined when that is unknown. */
  note(health: DatabaseHealth | undefined): void {
    this.#health = health;
    if (health === undefined) return;
    this.#misses = (this.#misses ?? 0) + health.floorMisses.count;
  }

  #gauge<Label extends string>(
    registry: MetricRegistry,
    family: {
      readonly name: string;
      readonly help: string;
      readonly labels: readonly Label[];
    },
    read: (health: DatabaseHealth) => readonly Reading<Label>[],
  ): void {
    registry.read({
      kind: "gauge",
      ...family,
      read: () => this.#health === undefined ? [] : read(this.#health),
    });
  }
}
