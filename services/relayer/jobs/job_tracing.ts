/**
 * Traces of jobs: a span for each batch, with links to the requests that
 * brought the texts, as long as those requests are remembered.
 *
 * @module
 */

import type { SpanContext } from "@opentelemetry/api";
import { BoundedMap } from "../../shared/bounded_map.ts";
import { markFailed, type Tracing } from "../../shared/telemetry/tracing.ts";
import type { JobRow } from "../store/rows.ts";
import type { JobSteps } from "./job_steps.ts";

/** Most jobs whose requests are remembered. */
const MAX_CAUSES = 2_000;
/** Most links of one span. */
const MAX_LINKS = 16;

/** Runs jobs within spans. */
export class JobTracing {
  readonly #tracing: Tracing;
  readonly #causes = new BoundedMap<string, SpanContext>({
    maxEntries: MAX_CAUSES,
  });

  /** Makes a tracing that remembers no requests yet. */
  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /** Remembers the current request as the one that brought these jobs. */
  accepted(ids: readonly string[]): void {
    const span = this.#tracing.current();
    if (span?.isRecording() !== true) return;
    for (const id of ids) this.#causes.set(id, span.spanContext());
  }

  /** The same steps, in a span for each batch. */
  traced(steps: Pick<JobSteps, "run">): Pick<JobSteps, "run"> {
    return { run: (jobs, signal) => this.#run(jobs, { steps, signal }) };
  }

  async #run(
    jobs: readonly JobRow[],
    { steps, signal }: {
      readonly steps: Pick<JobSteps, "run">;
      readonly signal: AbortSignal;
    },
  ): Promise<Awaited<ReturnType<JobSteps["run"]>>> {
    const causes = new Map<string, SpanContext>();
    for (const { id } of jobs) {
      const cause = this.#causes.get(id);
      this.#causes.delete(id);
      if (cause !== undefined) causes.set(cause.spanId, cause);
    }
    const span = this.#tracing.begin("run memory jobs", {
      parent: "root",
      attributes: { "jobs": jobs.length },
      causes: [...causes.values()].slice(0, MAX_LINKS),
    });
    try {
      const outcomes = await this.#tracing.within(
        span,
        () => steps.run(jobs, signal),
      );
      const failed = outcomes.filter(({ kind }) => kind === "failed").length;
      span.setAttribute("jobs.failed", failed);
      if (failed > 0) markFailed(span, "jobs failed");
      return outcomes;
    } finally {
      span.end();
    }
  }
}
