/**
 * Commits of the store: how many rows go to the disk together, how long that
 * takes, and how much waits.
 *
 * @module
 */

import type {
  Counter,
  CounterFamily,
  Histogram,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";

/** A group of writes that was committed, or was not. */
interface CommittedGroup {
  /** How many rows it had. */
  readonly rows: number;
  /** Milliseconds from its sending to its end. */
  readonly tookMs: number;
  /** Rows that were not written yet when it had ended. */
  readonly queuedRows: number;
  /** Whether it is on disk. */
  readonly isWritten: boolean;
}

/** Bounds of the times in seconds. */
const TIME_BOUNDS = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
];
/** Bounds of the rows of a group. */
const ROW_BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

/** Counts commits. */
export class StoreMetrics {
  readonly #commits: CounterFamily<"outcome">;
  readonly #times: Histogram;
  readonly #rows: Histogram;
  readonly #busy: Counter;
  #queuedRows = 0;

  /** Adds the families. */
  constructor(registry: MetricRegistry) {
    this.#commits = registry.counter({
      name: "tasks_store_commits_total",
      help: "Groups of writes that the store was given, by outcome.",
      labels: ["outcome"],
    });
    this.#times = registry.histogram({
      name: "tasks_store_commit_duration_seconds",
      help: "Time from sending a group of writes until it was on disk.",
      labels: [],
      bounds: TIME_BOUNDS,
    }).of({});
    this.#rows = registry.histogram({
      name: "tasks_store_commit_rows",
      help: "How many rows were written together.",
      labels: [],
      bounds: ROW_BOUNDS,
    }).of({});
    this.#busy = registry.counter({
      name: "tasks_store_refusals_total",
      help: "Commits that were refused, as too much waited to be written.",
      labels: [],
    }).of({});
    registry.read({
      kind: "gauge",
      name: "tasks_store_queued_rows",
      help: "Rows that waited to be written when the last group was.",
      labels: [],
      read: () => [{ labels: {}, value: this.#queuedRows }],
    });
  }

  /** Counts a group. */
  noteGroup({ rows, tookMs, queuedRows, isWritten }: CommittedGroup): void {
    this.#commits.of({ outcome: isWritten ? "ok" : "failed" }).add();
    this.#times.note(tookMs / 1_000);
    this.#rows.note(rows);
    this.#queuedRows = queuedRows;
  }

  /** Counts a commit for which there was no room. */
  noteBusy(): void {
    this.#busy.add();
  }
}
