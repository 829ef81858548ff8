/**
 * The metrics of the key server.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import { HttpMetrics } from "../shared/metrics/http_metrics.ts";
import { addProcessMetrics } from "../shared/metrics/process_metrics.ts";
import {
  type Counter,
  type CounterFamily,
  MetricRegistry,
} from "../shared/metrics/registry.ts";
import type { Part } from "../shared/stopper.ts";

/** All metric families of the key server. */
export class KeyServerMetrics {
  /** The registry of the families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  /** HTTP responses, by route and status. */
  readonly http: HttpMetrics;
  /** Requests for keys, by outcome. */
  readonly outcomes: CounterFamily<"outcome">;
  /** The number of keys given. */
  readonly given: Counter;
  /** How often the ledger has contradicted itself. */
  readonly contradictions: Counter;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;

  /** Registers the families, all at zero. */
  constructor(clock: Clock) {
    const { registry } = this;
    this.http = new HttpMetrics(registry, "keyserver");
    this.outcomes = registry.counter({
      name: "keyserver_key_requests_total",
      help: "Requests for keys, by outcome.",
      labels: ["outcome"],
    });
    this.given = registry.counter({
      name: "keyserver_keys_given_total",
      help: "Keys of identities that were given.",
      labels: [],
    }).of({});
    this.contradictions = registry.counter({
      name: "keyserver_ledger_contradictions_total",
      help:
        "Answers of the ledger that do not follow what it said before, or " +
        "what owners have signed.",
      labels: [],
    }).of({});
    this.watch = addProcessMetrics(registry, clock);
  }
}
