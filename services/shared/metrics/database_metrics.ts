/**
 * Metrics of the database that instances of a service share: how it is, and how
 * the calls of
 * this instance go. How it is has no series where the store is a
 * file, and none while it cannot be asked.
 *
 * @module
 */

import type { DatabaseHealth } from "../postgres/database_health.ts";
import type { DatabaseCall } from "../postgres/pool.ts";
import type { MetricRegistry, Reading } from "./registry.ts";

/** Histogram bounds of calls and of waits for a connection, in seconds. */
const BOUNDS = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
];

/** Exports what was last seen of the database, and the calls to it. */
export class DatabaseMetrics<Health extends DatabaseHealth = DatabaseHealth> {
  /** Counts a call. */
  readonly noteCall: (call: DatabaseCall) => void;
  readonly #registry: MetricRegistry;
  readonly #service: string;
  #health: Health | undefined;

  /**
   * Adds the families.
   *
   * @param service the beginning of their names
   */
  constructor(registry: MetricRegistry, service: string) {
    this.#registry = registry;
    this.#service = service;
    this.gauge(
      "database_oldest_transaction_seconds",
      "Age of the oldest open transaction of the database, 0 without one; " +
        "dead rows stay as long as it is open.",
      (health) => health.oldestTransactionSeconds,
    );
    this.gauge(
      "database_horizon_transactions",
      "Transactions since the oldest state that a client, a standby or a " +
        "replication slot may still look at.",
      (health) => health.horizonTransactions,
    );
    this.gauge(
      "database_standby_lag_bytes",
      "Bytes of the log that the slowest standby has not written.",
      (health) => health.standbyLagBytes,
    );
    this.gauges({
      name: "database_standbys",
      help: "Standbys that follow, by whether commits wait for them.",
      labels: ["mode"],
    }, ({ standbys }) =>
      Object.entries(standbys).map(([mode, value]) => ({
        labels: { mode },
        value,
      })));
    this.gauges({
      name: "database_rows",
      help: "Rows of the tables as the server estimates; the dead ones were " +
        "changed or removed and still take space.",
      labels: ["table", "state"],
    }, ({ tables }) =>
      tables.flatMap(({ table, liveRows, deadRows }) => [
        { labels: { table, state: "live" }, value: liveRows },
        { labels: { table, state: "dead" }, value: deadRows },
      ]));
    this.gauges({
      name: "database_table_bytes",
      help: "Bytes of the tables, by rows and indexes.",
      labels: ["table", "part"],
    }, ({ tables }) =>
      tables.flatMap(({ table, rowBytes, indexBytes }) => [
        { labels: { table, part: "rows" }, value: rowBytes },
        { labels: { table, part: "indexes" }, value: indexBytes },
      ]));
    this.noteCall = this.#addCalls();
  }

  /** Notes how the database is; undefined when that is unknown. */
  note(health: Health | undefined): void {
    this.#health = health;
  }

  /** Adds a gauge of one value. */
  gauge(name: string, help: string, read: (health: Health) => number): void {
    this.gauges(
      { name, help, labels: [] },
      (health) => [{ labels: {}, value: read(health) }],
    );
  }

  /** Adds a gauge of values with labels. */
  gauges<Label extends string>(
    { name, help, labels }: {
      readonly name: string;
      readonly help: string;
      readonly labels: readonly Label[];
    },
    read: (health: Health) => readonly Reading<Label>[],
  ): void {
    this.#registry.read({
      kind: "gauge",
      ...{ name: `${this.#service}_${name}`, help, labels },
      read: () => this.#health === undefined ? [] : read(this.#health),
    });
  }

  #addCalls(): (call: DatabaseCall) => void {
    const calls = this.#registry.counter({
      name: `${this.#service}_database_calls_total`,
      help: "Statements and transactions that the database was given, by " +
        "outcome: refused by what it holds, or failed with its connection or " +
        "server.",
      labels: ["outcome"],
    });
    const durations = this.#registry.histogram({
      name: `${this.#service}_database_call_duration_seconds`,
      help: "How long they took on their connections.",
      labels: [],
      bounds: BOUNDS,
    }).of({});
    const waits = this.#registry.histogram({
      name: `${this.#service}_database_wait_seconds`,
      help: "How long they waited for a connection before.",
      labels: [],
      bounds: BOUNDS,
    }).of({});
    return ({ outcome, tookMs, waitedMs }) => {
      calls.of({ outcome }).add();
      durations.note(tookMs / 1_000);
      waits.note(waitedMs / 1_000);
    };
  }
}
