/**
 * Metrics of what agents do over the Model Context Protocol.
 *
 * @module
 */

import type { EndedToolCall } from "../../shared/mcp/server.ts";
import type {
  CounterFamily,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";

/** Counts calls of tools, and reads how many sessions there are. */
export class AgentMetrics {
  readonly #calls: CounterFamily<"tool" | "outcome">;

  /** Adds the families. */
  constructor(registry: MetricRegistry, sessions: () => number | undefined) {
    registry.read({
      kind: "gauge",
      name: "relayer_mcp_sessions",
      help:
        "Sessions that agents have open at /api/mcp; calls of the version " +
        "2026-07-28 have none.",
      labels: [],
      read: () => [{ labels: {}, value: sessions() ?? 0 }],
    });
    this.#calls = registry.counter({
      name: "relayer_mcp_calls_total",
      help: "Calls of tools at /api/mcp, by tool and outcome: ok, error (the " +
        "tool could not do it), failed (something broke here), cancelled.",
      labels: ["tool", "outcome"],
    });
  }

  /** Counts a call. */
  count({ tool, outcome }: EndedToolCall): void {
    this.#calls.of({ tool, outcome }).add();
  }
}
