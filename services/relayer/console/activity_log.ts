/**
 * What the service did in the last hour, in steps of ten seconds, for the plots
 * of the operator's page.
 *
 * @module
 */

import { readSamples, sumOf } from "./metric_samples.ts";

/** Milliseconds of a step. */
export const STEP_MS = 10_000;
const STEPS = 360;

/** What happened in each step, the oldest first. */
export interface Activity {
  /** Requests that were answered. */
  readonly requests: readonly number[];
  /** Those answered with a status of 500 or above. */
  readonly failures: readonly number[];
  /** Jobs that were accepted. */
  readonly accepted: readonly number[];
  /** Jobs that came to their end. */
  readonly ended: readonly number[];
}

const NAMES = ["requests", "failures", "accepted", "ended"] as const;

type Totals = Readonly<Record<keyof Activity, number>>;

/** Keeps an hour of steps; a restart begins with none. */
export class ActivityLog {
  #before: Totals | undefined;
  readonly #steps: Totals[] = [];

  /** Notes the counters of the metrics at the end of a step. */
  note(metrics: string): void {
    const samples = readSamples(metrics);
    const answered = "relayer_http_requests_total";
    const now: Totals = {
      requests: sumOf(samples, answered),
      failures: sumOf(
        samples,
        answered,
        ({ status = "" }) => status.startsWith("5"),
      ),
      accepted: sumOf(samples, "relayer_jobs_accepted_total"),
      ended: sumOf(samples, "relayer_jobs_ended_total"),
    };
    const before = this.#before;
    this.#before = now;
    if (before === undefined) return;
    this.#steps.push({
      requests: now.requests - before.requests,
      failures: now.failures - before.failures,
      accepted: now.accepted - before.accepted,
      ended: now.ended - before.ended,
    });
    if (this.#steps.length > STEPS) this.#steps.shift();
  }

  /** The steps that are known, before them zeros. */
  get activity(): Activity {
    const empty = new Array<number>(STEPS - this.#steps.length).fill(0);
    const [requests, failures, accepted, ended] = NAMES.map((name) => [
      ...empty,
      ...this.#steps.map((step) => step[name]),
    ]);
    return {
      requests: requests ?? [],
      failures: failures ?? [],
      accepted: accepted ?? [],
      ended: ended ?? [],
    };
  }
}
