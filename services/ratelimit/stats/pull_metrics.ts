/**
 * Writes statistics as metrics that are pulled (PULLMETRICS). Which statistics
 * make which series is worked out once for each name, so that a scrape only
 * adds and writes.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import {
  labelName,
  type LabelText,
  labelText,
  type MetricKind,
  type MetricLabels,
  MetricsText,
} from "../../shared/metrics_text.ts";
import type { Pausing } from "../../shared/slices.ts";
import type {
  MetricMapping,
  MetricTarget,
  TimerForm,
} from "./metric_mapping.ts";
import type { StatsRegistry } from "./registry.ts";
import {
  type DurationObserver,
  type StatCell,
  timerBucketsMs,
  type TimerCell,
  type TimerIntervalValues,
} from "./stat_cell.ts";

/** What {@linkcode PullMetrics} is made of. */
interface PullMetricsOptions {
  /** All statistics. */
  readonly registry: StatsRegistry;
  /** Maps a statistic to its metric. */
  readonly mapping: MetricMapping;
  /** Labels on all series. */
  readonly tags: readonly (readonly [string, string])[];
  /** Lets decisions run while a long text is written. */
  readonly pausing: Pausing;
  /** Returns the milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Gets warnings about mappings that contradict each other. */
  readonly logger: Logger;
}

/** All series of one metric. */
interface Family {
  readonly name: string;
  readonly kind: MetricKind;
  readonly help: string;
  readonly series: Map<LabelText, Series>;
}

/** One series: the sum of its cells. */
interface Series {
  readonly labels: LabelText;
  readonly parts: { readonly cell: StatCell; readonly scale: number }[];
  /** Gathers a timer's durations; undefined when its own buckets serve. */
  readonly durations: DurationSeries | undefined;
}

/** Durations that are gathered in the form in which they are written. */
interface DurationSeries {
  /** Takes one duration, in the unit of the metric. */
  add(value: number): void;
  /** Takes `count` equal durations and leaves them out of the sum. */
  addAlike(value: number, count: number): void;
  /** Adds to the sum. */
  addSum(sum: number): void;
  write(text: MetricsText, labels: LabelText): void;
}

/**
 * Series that are written and encoded at a time: about a millisecond's work.
 */
const SERIES_PER_CHUNK = 64;

/**
 * A long text in the making, kept as encoded bytes, so that it need not be
 * copied again.
 */
class Chunks {
  readonly #encoder = new TextEncoder();
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  add(text: string): void {
    const chunk = this.#encoder.encode(text);
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  joined(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }
}

/** Makes the text of all metrics. */
export class PullMetrics {
  readonly #options: PullMetricsOptions;
  readonly #families = new Map<string, Family>();
  readonly #refused = new Set<string>();
  #sorted: readonly Family[] | undefined;
  #writing: Promise<Uint8Array> | undefined;

  /** Watches all statistics from now on. */
  constructor(options: PullMetricsOptions) {
    this.#options = options;
    options.registry.watch((cell) => this.#add(cell));
  }

  /**
   * Returns the metrics now, in UTF-8. A request while they are written gets
   * the same text.
   */
  text(): Promise<Uint8Array> {
    this.#writing ??= this.#write().finally(() => this.#writing = undefined);
    return this.#writing;
  }

  #add(cell: StatCell): void {
    const { mapping, tags, logger } = this.#options;
    const { name, kind } = cell;
    const segments = kind === "counter" ? cell.origin?.segments : undefined;
    const target = mapping({ name, kind, segments });
    if (target === undefined) return;
    const family = this.#getFamily(target, cell);
    if (family === undefined) {
      // Logged once for each metric, however many statistics it concerns.
      if (this.#refused.has(target.name)) return;
      this.#refused.add(target.name);
      logger.warn(
        "Left a statistic out of the metrics: its metric is of " +
          "another kind",
        { statistic: name, metric: target.name },
      );
      return;
    }
    const labels = labelText(distinct([...target.labels, ...tags]));
    let series = family.series.get(labels);
    if (series === undefined) {
      const durations = kind === "timer"
        ? createDurations(target, this.#options.monotonicMs)
        : undefined;
      series = { labels, parts: [], durations };
      family.series.set(labels, series);
    }
    const scale = kind === "timer" ? target.timerScale : target.scale;
    series.parts.push({ cell, scale });
    if (kind === "timer" && series.durations !== undefined) {
      cell.attach(createObserver(series.durations, scale));
    }
  }

  /**
   * Returns the family of a metric; undefined when its name is taken by a
   * family of another kind.
   */
  #getFamily(target: MetricTarget, { kind }: StatCell): Family | undefined {
    const wanted: MetricKind = kind === "timer" ? target.timer.kind : kind;
    let family = this.#families.get(target.name);
    if (family === undefined) {
      const { name, help } = target;
      family = { name, kind: wanted, help, series: new Map() };
      this.#families.set(name, family);
      this.#sorted = undefined;
    }
    return family.kind === wanted ? family : undefined;
  }

  async #write(): Promise<Uint8Array> {
    const { pausing } = this.#options;
    const text = new MetricsText();
    const chunks = new Chunks();
    let unsent = 0;
    this.#sorted ??= [...this.#families.values()]
      .sort((a, b) => a.name < b.name ? -1 : 1);
    for (const { name, kind, help, series } of this.#sorted) {
      text.family(name, kind, help);
      // A series that is added during a pause is written as well.
      for (const one of series.values()) {
        writeSeries(text, one);
        if (++unsent < SERIES_PER_CHUNK) continue;
        unsent = 0;
        chunks.add(text.take());
        const wait = pausing.pause();
        if (wait !== undefined) await wait;
      }
    }
    chunks.add(text.take());
    return chunks.joined();
  }
}

function writeSeries(text: MetricsText, series: Series): void {
  const { labels, parts, durations } = series;
  if (durations !== undefined) return durations.write(text, labels);
  const [first] = parts;
  if (first?.cell.kind === "timer") {
    text.histogram(labels, ownBuckets(parts));
    return;
  }
  let value = 0;
  for (const { cell, scale } of parts) {
    if (cell.kind === "counter") value += cell.total * scale;
    else if (cell.kind === "gauge") value += cell.value * scale;
  }
  text.sample(labels, value);
}

/** Returns the sum of the timers' own buckets. */
function ownBuckets(parts: Series["parts"]): {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
} {
  const scale = parts[0]?.scale ?? 1;
  const counts: number[] = new Array(timerBucketsMs.length + 1).fill(0);
  let sum = 0;
  for (const { cell } of parts) {
    const { buckets, sumMs } = (cell as TimerCell).summary();
    for (const [index, count] of buckets.entries()) counts[index]! += count;
    sum += sumMs * scale;
  }
  return { bounds: timerBucketsMs.map((ms) => ms * scale), counts, sum };
}

/**
 * Returns what gathers a timer's durations; undefined when the timer's own
 * buckets serve.
 */
function createDurations(
  { timer, timerScale }: MetricTarget,
  monotonicMs: () => number,
): DurationSeries | undefined {
  if (timer.kind === "summary") return new RecentDurations(timer, monotonicMs);
  const isOwn = timer.bounds.length === timerBucketsMs.length &&
    timer.bounds.every((bound, at) =>
      bound === timerBucketsMs[at]! * timerScale
    );
  return isOwn ? undefined : new Histogram(timer.bounds);
}

/** Returns what takes a timer's durations in milliseconds. */
function createObserver(
  durations: DurationSeries,
  scale: number,
): DurationObserver {
  return {
    add: (ms) => durations.add(ms * scale),
    // Another thread sends samples: each stands for its share of all durations.
    absorb({ count, sumMs, samplesMs }: TimerIntervalValues) {
      durations.addSum(sumMs * scale);
      let taken = 0;
      for (const [index, ms] of samplesMs.entries()) {
        const upTo = Math.floor(count * (index + 1) / samplesMs.length);
        durations.addAlike(ms * scale, upTo - taken);
        taken = upTo;
      }
    },
  };
}

/** A histogram with bounds of its own. */
class Histogram implements DurationSeries {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    this.addAlike(value, 1);
    this.#sum += value;
  }

  addAlike(value: number, count: number): void {
    let index = 0;
    while (value > (this.#bounds[index] ?? Infinity)) index++;
    this.#counts[index]! += count;
  }

  addSum(sum: number): void {
    this.#sum += sum;
  }

  write(text: MetricsText, labels: LabelText): void {
    const bounds = this.#bounds;
    text.histogram(labels, { bounds, counts: this.#counts, sum: this.#sum });
  }
}

/** Of labels with one name, keeps the first. */
function distinct(
  labels: readonly (readonly [string, string])[],
): MetricLabels {
  const named = new Map<string, string>();
  for (const [name, value] of labels) {
    const valid = labelName(name);
    if (!named.has(valid)) named.set(valid, value);
  }
  return [...named];
}

/**
 * Number of parts that the time of a summary is divided into; the oldest part
 * is dropped as a whole.
 */
const AGES = 5;
/**
 * Most durations that are kept of a part; of more, an evenly chosen share
 * stands for all.
 */
const MAX_SAMPLES = 500;

interface Age {
  count: number;
  readonly samples: number[];
}

/**
 * A summary as in Prometheus: quantiles of recent durations, sum and count of
 * all durations.
 */
class RecentDurations implements DurationSeries {
  readonly #quantiles: readonly number[];
  readonly #ageMs: number;
  readonly #monotonicMs: () => number;
  readonly #ages: Age[] = [{ count: 0, samples: [] }];
  #nextMs: number;
  #sum = 0;
  #count = 0;

  constructor(
    { quantiles, maxAgeSeconds }: TimerForm & { readonly kind: "summary" },
    monotonicMs: () => number,
  ) {
    this.#quantiles = quantiles;
    this.#ageMs = maxAgeSeconds * 1_000 / AGES;
    this.#monotonicMs = monotonicMs;
    this.#nextMs = monotonicMs() + this.#ageMs;
  }

  add(value: number): void {
    this.#turn();
    this.#sum += value;
    this.#keep(value);
  }

  addAlike(value: number, count: number): void {
    this.#turn();
    for (let taken = 0; taken < count; taken++) this.#keep(value);
  }

  addSum(sum: number): void {
    this.#sum += sum;
  }

  #keep(value: number): void {
    this.#count++;
    const age = this.#ages[0]!;
    age.count++;
    if (age.samples.length < MAX_SAMPLES) {
      age.samples.push(value);
      return;
    }
    // Reservoir sampling: each value of this age stays with the same chance.
    const index = Math.floor(Math.random() * age.count);
    if (index < MAX_SAMPLES) age.samples[index] = value;
  }

  /**
   * Writes the summary; without recent durations its quantiles are NaN, as is
   * usual.
   */
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
        // None of the earlier durations is recent.
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
