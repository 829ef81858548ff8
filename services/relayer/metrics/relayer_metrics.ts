/**
 * What the relayer counts for its operator.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { HttpMetrics } from "../../shared/metrics/http_metrics.ts";
import { addProcessMetrics } from "../../shared/metrics/process_metrics.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import type { Part } from "../../shared/stopper.ts";
import { JobMetrics } from "./job_metrics.ts";
import { PartnerMetrics } from "./partner_metrics.ts";

/** Values that are read with each scrape. */
interface RelayerGauges {
  /** Memories that recall finds. */
  readonly memories: () => number;
  /** Whether what is written now would be kept. */
  readonly isWriteReady: () => boolean;
}

/** All families of the relayer. */
export class RelayerMetrics {
  /** Answers of the public port. */
  readonly http: HttpMetrics;
  /** Jobs and commits. */
  readonly jobs: JobMetrics;
  /** Calls of models and of the blob store. */
  readonly partners: PartnerMetrics;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;
  /** The families. */
  readonly registry: MetricRegistry = new MetricRegistry();

  /** Families that have counted nothing. */
  constructor(clock: Clock, gauges: RelayerGauges) {
    const { registry } = this;
    registry.read({
      kind: "gauge",
      name: "relayer_memories",
      help: "Memories that recall finds.",
      labels: [],
      read: () => [{ labels: {}, value: gauges.memories() }],
    });
    registry.read({
      kind: "gauge",
      name: "relayer_write_ready",
      help: "Whether what is written now would be kept.",
      labels: [],
      read: () => [{ labels: {}, value: gauges.isWriteReady() ? 1 : 0 }],
    });
    this.http = new HttpMetrics(registry, "relayer");
    this.jobs = new JobMetrics(registry, clock);
    this.partners = new PartnerMetrics(registry, clock);
    this.watch = addProcessMetrics(registry, clock);
  }
}
