/**
 * What was answered, counted for monitoring, in the text format
 * of Prometheus (version 0.0.4).
 *
 * @module
 */

/** An answer that was given. */
interface CountedAnswer {
  /** The route's method and path, such as `POST /api/recall`. */
  readonly route: string;
  /** The status. */
  readonly status: number;
  /** Milliseconds from the head of the request to the answer. */
  readonly tookMs: number;
}

/** Values that are read with each scrape. */
interface Gauges {
  /** Memories that recall finds. */
  readonly memories: number;
  /** Whether what is written now would be kept. */
  readonly isWriteReady: boolean;
}

interface RouteTimes {
  count: number;
  seconds: number;
  /** Answers that took at most so long, by the place of the bound. */
  readonly within: number[];
}

/** Bounds of the histogram in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts by route and status; both are bounded, as paths that clients send are not in it. */
export class RequestMetrics {
  readonly #answers = new Map<string, number>();
  readonly #times = new Map<string, RouteTimes>();

  /** Counts an answer. */
  count({ route, status, tookMs }: CountedAnswer): void {
    const labels = `route="${route}",status="${status}"`;
    this.#answers.set(labels, (this.#answers.get(labels) ?? 0) + 1);
    const seconds = tookMs / 1_000;
    let times = this.#times.get(route);
    if (times === undefined) {
      times = { count: 0, seconds: 0, within: BOUNDS.map(() => 0) };
      this.#times.set(route, times);
    }
    times.count++;
    times.seconds += seconds;
    for (const [place, bound] of BOUNDS.entries()) {
      if (seconds <= bound) times.within[place]!++;
    }
  }

  /** Everything that was counted, and what is read now. */
  text(gauges: Gauges): string {
    const lines = [
      "# HELP relayer_memories Memories that recall finds.",
      "# TYPE relayer_memories gauge",
      `relayer_memories ${gauges.memories}`,
      "# HELP relayer_write_ready Whether what is written now would be kept.",
      "# TYPE relayer_write_ready gauge",
      `relayer_write_ready ${gauges.isWriteReady ? 1 : 0}`,
      "# HELP relayer_answers_total Answers by route and status.",
      "# TYPE relayer_answers_total counter",
      ...Array.from(
        this.#answers,
        ([labels, count]) => `relayer_answers_total{${labels}} ${count}`,
      ),
      "# HELP relayer_answer_seconds How long answers took, by route.",
      "# TYPE relayer_answer_seconds histogram",
    ];
    for (const [route, { count, seconds, within }] of this.#times) {
      const name = "relayer_answer_seconds";
      const label = `route="${route}"`;
      for (const [place, bound] of BOUNDS.entries()) {
        lines.push(`${name}_bucket{${label},le="${bound}"} ${within[place]}`);
      }
      lines.push(
        `${name}_bucket{${label},le="+Inf"} ${count}`,
        `${name}_sum{${label}} ${seconds}`,
        `${name}_count{${label}} ${count}`,
      );
    }
    return `${lines.join("\n")}\n`;
  }
}
