/**
 * Metrics of what agents do over the Model Context Protocol.
 *
 * @module
 */

import type { EndedToolCall } from "./server.ts";
import type { CounterFamily, MetricRegistry } from "../metrics/registry.ts";

/** Whose calls are counted. */
interface AgentMetricsOptions {
  /** The service, with which the names begin. */
  readonly service: string;
  /** The path of the endpoint. */
  readonly path: string;
  /** How many sessions are open; undefined before the first one. */
  readonly sessions: () => number | undefined;
}

/** Counts calls of tools, and reads how many sessions there are. */
export class AgentMetrics {
  readonly #calls: CounterFamily<"tool" | "outcome">;

  /** Adds the families of an endpoint. */
  constructor(
    registry: MetricRegistry,
    { service, path, sessions }: AgentMetricsOptions,
  ) {
    registry.read({
      kind: "gauge",
      name: `${service}_mcp_sessions`,
      help: `Sessions that agents have open at ${path}; calls of the version ` +
        "2026-07-28 have none.",
      labels: [],
      read: () => [{ labels: {}, value: sessions() ?? 0 }],
    });
    this.#calls = registry.counter({
      name: `${service}_mcp_calls_total`,
      help: `Calls of tools at ${path}, by tool and outcome: ok, error (the ` +
        "tool could not do it), failed (something broke here), cancelled.",
      labels: ["tool", "outcome"],
    });
  }

  /** Counts a call. */
  count({ tool, outcome }: EndedToolCall): void {
    this.#calls.of({ tool, outcome }).add();
  }
}
