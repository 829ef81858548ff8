/**
 * The part of the overview that plots the last 24 hours.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  formatCount,
  formatLength,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { Bars, Sparkline } from "../../../shared/console/plot.tsx";

/** What tasks did over time, as the API shows it. */
export interface ShownActivity {
  /** When the first span begins. */
  readonly from: string;
  /** When the last span ends. */
  readonly to: string;
  /** Tasks that ended as `complete`, for each span. */
  readonly completed: readonly number[];
  /** Attempts that failed. */
  readonly failed: readonly number[];
  /** Attempts that began. */
  readonly started: readonly number[];
  /** Milliseconds after their dates at which these began, in sum. */
  readonly lag_sum: readonly number[];
}

/** Plots throughput, failures and lag. */
export function Activity(
  { activity }: { readonly activity: ShownActivity },
): VNode {
  const { completed, failed, started, lag_sum: lagSums, from, to } = activity;
  const lags = lagSums.map((sum, index) =>
    sum / Math.max(1, started[index] ?? 0)
  );
  const sumOf = (values: readonly number[]): string =>
    formatCount(values.reduce((sum, value) => sum + value, 0));
  const isIdle = started.every((value) => value === 0);
  return (
    <Section id="activity" title="Last 24 hours">
      <div class="grid thirds">
        <figure>
          <figcaption>{`Completed: ${sumOf(completed)}`}</figcaption>
          <Bars label="Completed tasks in 5 minutes" values={completed} />
        </figure>
        <figure>
          <figcaption>{`Failed attempts: ${sumOf(failed)}`}</figcaption>
          <Bars label="Failed attempts in 5 minutes" values={failed} isBad />
        </figure>
        <figure>
          <figcaption>
            {isIdle
              ? "Lag: nothing was started"
              : `Average lag: at most ${formatLength(Math.max(...lags))}`}
          </figcaption>
          <Sparkline
            label="Average lag in 5 minutes"
            values={lags}
            format={formatLength}
          />
        </figure>
      </div>
      <p class="dim">
        From <Time at={from} /> to <Time at={to} />
      </p>
    </Section>
  );
}
