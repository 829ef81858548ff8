/**
 * Metrics of the queues: how many tasks there are by status, and how long due
 * tasks have waited.
 *
 * The store is read when metrics are scraped, but so seldom that reading takes
 * at most a fiftieth of the time, and in pieces between which requests are
 * served.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { MetricRegistry, Reading } from "../../shared/metrics/registry.ts";
import { describeError } from "../../shared/settled.ts";
import { LIVE_STATUSES, liveCount } from "../domain/task.ts";
import type { Store, TenantQueue } from "../store/store.ts";
import { OTHER_TENANTS, type TenantLabels } from "./tenant_metrics.ts";

/** The least time between two reads of the store, in milliseconds. */
const FRESH_MS = 1_000;
/**
 * The pause after a read is at least so many times as long as the read took.
 */
const PAUSE_FACTOR = 50;

/** The queues of all tenants that share a label. */
interface LabelQueues {
  /** Tasks by status. */
  readonly counts: Map<string, number>;
  /**
   * The earliest due time of a task that may be claimed, in milliseconds since
   * the epoch; undefined without one.
   */
  dueSinceMs: number | undefined;
}

/** Options of {@linkcode QueueMetrics}. */
interface QueueMetricsOptions {
  /** Has the tasks. */
  readonly store: Pick<Store, "tenantQueues">;
  /** Gives tenants their labels. */
  readonly tenants: TenantLabels;
  /** The time. */
  readonly clock: Clock;
  /** Logs failures of the store. */
  readonly logger: Logger;
}

/** Exports the metrics of the queues. */
export class QueueMetrics {
  readonly #options: QueueMetricsOptions;
  readonly #steady: Clock;
  #queues: ReadonlyMap<string, LabelQueues> = new Map();
  #asking: Promise<void> | undefined;
  #nextMs = -Infinity;

  /** Adds the metric families, which are empty until the store is read. */
  constructor(registry: MetricRegistry, options: QueueMetricsOptions) {
    this.#options = options;
    this.#steady = steadyClock(options.clock);
    registry.read({
      kind: "gauge",
      name: "tasks_queue_tasks",
      help: "Tasks that have not ended, by tenant and status.",
      labels: ["tenant", "status"],
      read: () => this.#depths(),
    });
    registry.read({
      kind: "gauge",
      name: "tasks_queue_lag_seconds",
      help: "For how long the task that is due for the longest has been due, " +
        "by tenant.",
      labels: ["tenant"],
      read: () => this.#lags(),
    });
  }

  /** Reads the store, unless it was read a moment ago; never rejects. */
  async refresh(): Promise<void> {
    if (this.#asking === undefined && this.#steady.nowMs() >= this.#nextMs) {
      this.#asking = this.#ask().finally(() => this.#asking = undefined);
    }
    await this.#asking;
  }

  async #ask(): Promise<void> {
    const { store, logger } = this.#options;
    const begunAtMs = this.#steady.nowMs();
    try {
      this.#note(await store.tenantQueues());
    } catch (error) {
      logger.warn("Cannot read how many tasks wait: the store failed", {
        error: describeError(error),
      });
    }
    const endMs = this.#steady.nowMs();
    const pauseMs = PAUSE_FACTOR * (endMs - begunAtMs);
    this.#nextMs = endMs + Math.max(FRESH_MS, pauseMs);
  }

  #note(queues: readonly TenantQueue[]): void {
    const labels = new Map<string, LabelQueues>();
    const longestFirst = queues.map(({ tenantId, counts }) => ({
      tenantId,
      tasks: liveCount(counts),
    })).toSorted((a, b) => b.tasks - a.tasks);
    const own = this.#options.tenants.chosen(
      longestFirst.map(({ tenantId }) => tenantId),
    );
    for (const { tenantId, counts, dueSinceMs } of queues) {
      const label = own.has(tenantId) ? tenantId : OTHER_TENANTS;
      let of = labels.get(label);
      if (of === undefined) {
        of = { counts: new Map(), dueSinceMs: undefined };
        labels.set(label, of);
      }
      for (const status of LIVE_STATUSES) {
        const count = counts[status];
        if (count === undefined) continue;
        of.counts.set(status, (of.counts.get(status) ?? 0) + count);
      }
      if (dueSinceMs !== undefined) {
        of.dueSinceMs = Math.min(of.dueSinceMs ?? Infinity, dueSinceMs);
      }
    }
    this.#queues = labels;
  }

  *#depths(): Iterable<Reading<"tenant" | "status">> {
    for (const [tenant, { counts }] of this.#queues) {
      for (const [status, value] of counts) {
        yield { labels: { tenant, status }, value };
      }
    }
  }

  *#lags(): Iterable<Reading<"tenant">> {
    for (const [tenant, { dueSinceMs }] of this.#queues) {
      const value = dueSinceMs === undefined
        ? 0
        : Math.max(0, this.#options.clock.nowMs() - dueSinceMs) / 1_000;
      yield { labels: { tenant }, value };
    }
  }
}
