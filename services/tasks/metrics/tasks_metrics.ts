/**
 * All that the service counts for its operator.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { HttpMetrics } from "../../shared/metrics/http_metrics.ts";
import { addProcessMetrics } from "../../shared/metrics/process_metrics.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import type { Part } from "../../shared/stopper.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Store } from "../store/store.ts";
import { QueueMetrics } from "./queue_metrics.ts";
import { StoreMetrics } from "./store_metrics.ts";
import { TaskMetrics } from "./task_metrics.ts";
import { TenantLabels } from "./tenant_labels.ts";
import { WaitMetrics } from "./wait_metrics.ts";

/** Options of {@linkcode TasksMetrics}. */
interface TasksMetricsOptions {
  /** Is asked what is in the queues when metrics are asked for. */
  readonly store: Pick<Store, "tenantQueues">;
  /** The time. */
  readonly clock: Clock;
  /** Hears when the store fails. */
  readonly logger: Logger;
}

/** All families of the service. */
export class TasksMetrics {
  /** The families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  /** Answers of the public port. */
  readonly http: HttpMetrics;
  /** Waits inside the service. */
  readonly waits: WaitMetrics;
  /** Tasks and their attempts. */
  readonly tasks: TaskMetrics;
  /** What is in the queues. */
  readonly queues: QueueMetrics;
  /** Commits of the store. */
  readonly store: StoreMetrics;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;

  /** Families that have counted nothing. */
  constructor({ store, clock, logger }: TasksMetricsOptions) {
    const { registry } = this;
    const tenants = new TenantLabels({
      clock,
      onFreed: (label) => registry.forget("tenant", label),
    });
    this.queues = new QueueMetrics(registry, {
      ...{ store, tenants, clock, logger },
    });
    this.tasks = new TaskMetrics(registry, tenants);
    this.waits = new WaitMetrics(registry, tenants);
    this.store = new StoreMetrics(registry);
    this.http = new HttpMetrics(registry, "tasks");
    this.watch = addProcessMetrics(registry, clock);
  }

  /** Everything as it is now. */
  async text(): Promise<string> {
    await this.queues.refresh();
    return this.registry.text();
  }
}
