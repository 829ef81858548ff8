/**
 * Quantiles of the durations of the last minutes, in bounded memory.
 *
 * @module
 */

import type { LabelText, MetricsText } from "../../shared/metrics_text.ts";
import type { TimerForm } from "./metric_mapping.ts";

/** The time is cut into so many parts; the oldest is dropped as a whole. */
const AGES = 5;
/** Most durations of a part; of more, an evenly chosen share stands for all. */
const MAX_SAMPLES = 500;

interface Age {
  count: number;
  readonly samples: number[];
}

/** A summary in the sense of Prometheus: quantiles of late, sum and count of all. */
export class RecentDurations {
  readonly #quantiles: readonly number[];
  readonly #ageMs: number;
  readonly #monotonicMs: () => number;
  readonly #random: () => number;
  readonly #ages: Age[] = [{ count: 0, samples: [] }];
  #nextMs: number;
  #sum = 0;
  #count = 0;

  /** Nothing yet; `random` gives numbers from 0 up to 1. */
  constructor(
    { quantiles, maxAgeSeconds }: TimerForm & { readonly kind: "summary" },
    monotonicMs: () => number,
    random: () => number = Math.random,
  ) {
    this.#quantiles = quantiles;
    this.#ageMs = maxAgeSeconds * 1_000 / AGES;
    this.#monotonicMs = monotonicMs;
    this.#random = random;
    this.#nextMs = monotonicMs() + this.#ageMs;
  }

  /** Takes a duration, in the unit of the metric. */
  add(value: number): void {
    this.#turn();
    this.#sum += value;
    this.#count++;
    const age = this.#ages[0]!;
    age.count++;
    if (age.samples.length < MAX_SAMPLES) {
      age.samples.push(value);
      return;
    }
    // Reservoir sampling: each value of this age stays with the same chance.
    const index = Math.floor(this.#random() * age.count);
    if (index < MAX_SAMPLES) age.samples[index] = value;
  }

  /** Writes it; without late durations quantiles are NaN, as is usual. */
  write(text: MetricsText, labels: LabelText): void {
    this.#turn();
    const samples = this.#ages.flatMap((age) => {
      // A sample of a busy part stands for more durations than one of a calm one.
      const weight = age.count / Math.max(1, age.samples.length);
      return age.samples.map((value) => ({ value, weight }));
    }).sort((a, b) => a.value - b.value);
    const total = samples.reduce((sum, { weight }) => sum + weight, 0);
    const quantiles = this.#quantiles.map((quantile) =>
      [quantile, valueAt(samples, quantile * total)] as const
    );
    text.summary(labels, { quantiles, sum: this.#sum, count: this.#count });
  }

  #turn(): void {
    const nowMs = this.#monotonicMs();
    for (let turns = 0; nowMs >= this.#nextMs; turns++) {
      if (turns === AGES) {
        // Nothing of what there was is late.
        this.#nextMs = nowMs + this.#ageMs;
        return;
      }
      this.#nextMs += this.#ageMs;
      this.#ages.unshift({ count: 0, samples: [] });
      if (this.#ages.length > AGES) this.#ages.pop();
    }
  }
}

function valueAt(
  samples: readonly { readonly value: number; readonly weight: number }[],
  rank: number,
): number {
  let below = 0;
  for (const { value, weight } of samples) {
    below += weight;
    if (below >= rank) return value;
  }
  return samples.at(-1)?.value ?? NaN;
}
