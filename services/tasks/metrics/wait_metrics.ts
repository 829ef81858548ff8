/**
 * How long requests waited inside the service, for its operator.
 *
 * @module
 */

import type { FairKey } from "../../shared/fair_queue.ts";
import type {
  HistogramFamily,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import type { TenantLabels } from "./tenant_labels.ts";

/** Bounds of the histogram in seconds. */
const BOUNDS = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075],
  ...[0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5],
  ...[10, 30],
];

/** Counts waits by tenant. */
export class WaitMetrics {
  readonly #waits: HistogramFamily<"tenant" | "for">;
  readonly #tenants: TenantLabels;

  /** Adds the family. */
  constructor(registry: MetricRegistry, tenants: TenantLabels) {
    this.#tenants = tenants;
    this.#waits = registry.histogram({
      name: "tasks_wait_seconds",
      help:
        "How long requests waited for their turns, and commits until they " +
        "were on disk, by tenant.",
      labels: ["tenant", "for"],
      bounds: BOUNDS,
    });
  }

  /** Counts that a request of a tenant waited for its turns. */
  noteTurn(key: FairKey, waitedMs: number): void {
    const tenant = typeof key === "string" ? this.#tenants.of(key) : key.group;
    this.#waits.of({ tenant, for: "turn" }).note(waitedMs / 1_000);
  }

  /** Counts that something of a tenant, or of none, waited until it was on disk. */
  noteCommit(tenantId: string, waitedMs: number): void {
    const tenant = tenantId === "" ? "service" : this.#tenants.of(tenantId);
    this.#waits.of({ tenant, for: "commit" }).note(waitedMs / 1_000);
  }
}
