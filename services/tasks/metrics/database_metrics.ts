/**
 * Metrics of the database of tasks: those of every service, and those of counts
 * and of looks for tasks.
 *
 * @module
 */

import { DatabaseMetrics } from "../../shared/metrics/database_metrics.ts";
import type { MetricRegistry } from "../../shared/metrics/registry.ts";
import type { TasksDatabaseHealth } from "../store/postgres/database_health.ts";

/** Exports what was last seen of the database of tasks. */
export class TasksDatabaseMetrics extends DatabaseMetrics<TasksDatabaseHealth> {
  #misses: number | undefined;

  /** Adds the families. */
  constructor(registry: MetricRegistry) {
    super(registry, "tasks");
    this.gauge(
      "database_unfolded_rows",
      "Changes of counts that were not folded yet, up to 100,000.",
      (health) => health.unfoldedRows,
    );
    this.gauge(
      "store_floor_gap_seconds",
      "By how much, in ranks, the oldest task that may be taken was below " +
        "where this instance looked for it; the largest of 15 seconds.",
      (health) => health.floorMisses.gapMs / 1_000,
    );
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
  override note(health: TasksDatabaseHealth | undefined): void {
    super.note(health);
    if (health === undefined) return;
    this.#misses = (this.#misses ?? 0) + health.floorMisses.count;
  }
}
