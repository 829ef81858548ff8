/**
 * The metrics of a ledger that runs as a process of its own.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import {
  type CounterFamily,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import { addProcessMetrics } from "../../shared/metrics/process_metrics.ts";
import type { Part } from "../../shared/stopper.ts";

/** Values that are read with each scrape. */
interface LedgerGauges {
  /** The number of entries in the log. */
  readonly entries: () => number;
  /** The number of accounts. */
  readonly accounts: () => number;
  /** Whether writes are expected to reach the disk now. */
  readonly isWriteReady: () => boolean;
}

/** All metric families of the ledger. */
export class LedgerMetrics {
  /** The registry of the families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  /** Calls of JSON-RPC; unknown methods count as `unknown`. */
  readonly calls: CounterFamily<"method" | "outcome">;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;

  /** Registers the families, all at zero. */
  constructor(clock: Clock, gauges: LedgerGauges) {
    const { registry } = this;
    this.calls = registry.counter({
      name: "relayer_ledger_calls_total",
      help:
        "Calls of the ledger's JSON-RPC, by method and what became of them.",
      labels: ["method", "outcome"],
    });
    const read = (name: string, help: string, value: () => number) =>
      registry.read({
        ...{ kind: "gauge", name, help, labels: [] },
        read: () => [{ labels: {}, value: value() }],
      });
    read(
      "relayer_ledger_entries",
      "Entries of the ledger's log.",
      gauges.entries,
    );
    read("relayer_ledger_accounts", "Accounts.", gauges.accounts);
    read(
      "relayer_ledger_write_ready",
      "Whether what is written now would be kept.",
      () => gauges.isWriteReady() ? 1 : 0,
    );
    this.watch = addProcessMetrics(registry, clock);
  }
}
