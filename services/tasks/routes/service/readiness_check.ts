/**
 * Asks whether the service is ready, not more often than needed: the question is
 * public, and answering it asks others.
 *
 * @module
 */

import { type Clock, systemClock } from "../../../shared/clock.ts";
import { describeError, settle, waitAtMost } from "../../../shared/settled.ts";
import type { Readiness } from "../api_parts.ts";

/** The state of everything the service needs, by name. */
export type ReadinessReport = Readonly<Record<string, Readiness>>;

/** Options of {@linkcode ReadinessCheck}. */
export interface ReadinessCheckOptions {
  /** Asks everything; may throw. */
  readonly ask: () => Promise<ReadinessReport>;
  /**
   * Measures the time.
   * @default the clock of the machine
   */
  readonly clock?: Clock;
  /**
   * How long an answer holds, in milliseconds.
   * @default {1000}
   */
  readonly maxAgeMs?: number;
  /**
   * How long the answer may take, in milliseconds.
   * @default {8000}
   */
  readonly timeoutMs?: number;
}

/** Asks once for all who ask at the same time. */
export class ReadinessCheck {
  readonly #options: Required<ReadinessCheckOptions>;
  #underWay: Promise<ReadinessReport> | undefined;
  #last:
    | { readonly report: ReadinessReport; readonly atMs: number }
    | undefined;

  /** A check that has not asked. */
  constructor(options: ReadinessCheckOptions) {
    this.#options = {
      clock: systemClock,
      maxAgeMs: 1_000,
      timeoutMs: 8_000,
      ...options,
    };
  }

  /** The state of now, or of a moment ago; never rejects. */
  async report(): Promise<ReadinessReport> {
    const { clock, maxAgeMs } = this.#options;
    const ageMs = clock.nowMs() - (this.#last?.atMs ?? -Infinity);
    if (this.#last !== undefined && ageMs >= 0 && ageMs < maxAgeMs) {
      return this.#last.report;
    }
    this.#underWay ??= this.#ask().finally(() => this.#underWay = undefined);
    return await this.#underWay;
  }

  async #ask(): Promise<ReadinessReport> {
    const { ask, clock, timeoutMs } = this.#options;
    const outcome = await waitAtMost(settle(ask), { clock, timeoutMs });
    const report = outcome === "late"
      ? failing("it did not answer in time")
      : outcome.kind === "ok"
      ? outcome.value
      : failing(describeError(outcome.error));
    this.#last = { report, atMs: clock.nowMs() };
    return report;
  }
}

function failing(detail: string): ReadinessReport {
  return { readiness: { isReady: false, detail } };
}
