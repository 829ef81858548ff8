/**
 * Metrics of answered HTTP requests, by route and status.
 *
 * @module
 */

import type {
  CounterFamily,
  HistogramFamily,
  MetricRegistry,
} from "./registry.ts";

/** An answer that was given. */
export interface CountedAnswer {
  /**
   * The route's method and path as they are declared, such as
   * `POST /api/recall`; never a path that a client sent, of which there may be
   * any number.
   */
  readonly route: string;
  /** The status. */
  readonly status: number;
  /** Milliseconds from the head of the request to the answer. */
  readonly tookMs: number;
}

/** Bounds of the histogram in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts answers. */
export class HttpMetrics {
  readonly #answers: CounterFamily<"route" | "status">;
  readonly #times: HistogramFamily<"route">;

  /** Adds the families, whose names begin with that of the service. */
  constructor(
    registry: MetricRegistry,
    service: "tasks" | "relayer" | "keyserver",
  ) {
    this.#answers = registry.counter({
      name: `${service}_http_requests_total`,
      help: "Requests that were answered, by route and status.",
      labels: ["route", "status"],
    });
    this.#times = registry.histogram({
      name: `${service}_http_request_duration_seconds`,
      help: "Time from the head of a request to its answer, by route.",
      labels: ["route"],
      bounds: BOUNDS,
    });
  }

  /** Counts an answer. */
  count({ route, status, tookMs }: CountedAnswer): void {
    this.#answers.of({ route, status: String(status) }).add();
    this.#times.of({ route }).note(tookMs / 1_000);
  }
}
