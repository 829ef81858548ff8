/**
 * What a ledger that runs as a process of its own counts for its operator.
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
  /** Entries of the log. */
  readonly entries: () => number;
  /** Accounts. */
  readonly accounts: () => number;
  /** Whether what is written now would be kept. */
  readonly isWriteReady: () => boolean;
}

/** What became of a call: an error is the caller's, a fault the ledger's. */
export type RpcCallEnd = "ok" | "error" | "fault";

/** All families of the ledger. */
export class LedgerMetrics {
  /** The families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  /** Calls of JSON-RPC; methods that there are not count as `unknown`. */
  readonly calls: CounterFamily<"method" | "outcome">;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;

  /** Families that have counted nothing. */
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
