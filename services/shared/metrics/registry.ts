/**
 * The metrics of a service: families of counters and histograms, and values
 * that are read for each scrape, in the text format of Prometheus.
 *
 * Names follow the conventions of OpenMetrics: the service's name in front, the
 * unit at the end, `_total` behind that of a counter.
 *
 * @module
 */

import {
  type HistogramReading,
  type MetricKind,
  type MetricLabels,
  MetricsText,
} from "../metrics_text.ts";

/** What a family is and how its series differ. */
interface FamilyDefinition<Label extends string> {
  /** The name, such as `tasks_http_requests_total`. */
  readonly name: string;
  /** What it tells, as a sentence. */
  readonly help: string;
  /**
   * Names of the labels by which its series differ; none when it has one
   * series.
   */
  readonly labels: readonly Label[];
}

/** Values of all labels of a family. */
type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

/** A value as it is now. */
export interface Reading<Label extends string> {
  /** The series. */
  readonly labels: LabelValues<Label>;
  /** Its value. */
  readonly value: number;
}

/** What is known of a family without its values. */
export interface FamilyFacts {
  /** The name. */
  readonly name: string;
  /** What its samples are. */
  readonly kind: MetricKind;
  /** Names of its labels. */
  readonly labels: readonly string[];
}

/** Value of all labels of the series that counts those beyond the limit. */
const OTHER_SERIES = "others";

/**
 * Most series of a family; values of labels are chosen so that there are fewer.
 */
const MAX_SERIES = 2_000;

interface Family extends FamilyFacts {
  /** Writes its series. */
  write(text: MetricsText): void;
  /** Drops the series that have this value of a label. */
  forget(label: string, value: string): void;
}

/** All families of a service, in the order they were added. */
export class MetricRegistry {
  readonly #families = new Map<string, Family>();

  /** Adds a family of counters. */
  counter<Label extends string>(
    definition: FamilyDefinition<Label>,
  ): CounterFamily<Label> {
    return this.#add(new CounterFamily(definition));
  }

  /**
   * Adds a family of histograms. `bounds` are the upper bounds of the buckets,
   * ascending, without the infinite one.
   */
  histogram<Label extends string>(
    definition: FamilyDefinition<Label> & {
      readonly bounds: readonly number[];
    },
  ): HistogramFamily<Label> {
    return this.#add(new HistogramFamily(definition));
  }

  /** Adds a family whose values are read whenever the text is asked for. */
  read<Label extends string>(
    definition: FamilyDefinition<Label> & {
      readonly kind: "counter" | "gauge";
      /** Its series as they are now; it must not throw. */
      readonly read: () => Iterable<Reading<Label>>;
    },
  ): void {
    const { name, help, kind, labels, read } = definition;
    this.#add({
      name,
      kind,
      labels,
      write(text) {
        text.family(name, kind, help);
        for (const reading of read()) {
          text.sample(
            toPairs(labels, orderValues(labels, reading.labels)),
            reading.value,
          );
        }
      },
      forget() {},
    });
  }

  /** Drops the series of all families that have this value of a label. */
  forget(label: string, value: string): void {
    for (const family of this.#families.values()) family.forget(label, value);
  }

  /** Everything as it is now, in the text format of Prometheus. */
  text(): string {
    const text = new MetricsText();
    for (const family of this.#families.values()) family.write(text);
    return text.text();
  }

  /** Which families there are. */
  facts(): readonly FamilyFacts[] {
    return Array.from(
      this.#families.values(),
      ({ name, kind, labels }) => ({ name, kind, labels }),
    );
  }

  #add<Added extends Family>(family: Added): Added {
    const { name } = family;
    if (this.#families.has(name)) {
      throw new Error(`Cannot add the metric "${name}": there is one already`);
    }
    this.#families.set(name, family);
    return family;
  }
}

/** The series of a family by the values of their labels. */
class SeriesMap<Label extends string, Series> {
  readonly labels: readonly Label[];
  readonly #make: () => Series;
  readonly #series = new Map<string, Series>();

  constructor(labels: readonly Label[], make: () => Series) {
    this.labels = labels;
    this.#make = make;
    // A family without labels has its series from the start, so that the first
    // increase from 0 is seen.
    if (labels.length === 0) this.#series.set("", make());
  }

  of(values: LabelValues<Label>): Series {
    const { labels } = this;
    let key = "";
    // Called with each request: no list is made.
    for (let place = 0; place < labels.length; place++) {
      const value = values[labels[place]!];
      key = place === 0 ? value : key + SEPARATOR + value;
    }
    return this.#series.get(key) ?? this.#added(key);
  }

  forget(label: string, value: string): void {
    const place = this.labels.findIndex((one) => one === label);
    if (place === -1) return;
    for (const key of this.#series.keys()) {
      if (key.split(SEPARATOR)[place] === value) this.#series.delete(key);
    }
  }

  *[Symbol.iterator](): IterableIterator<[MetricLabels, Series]> {
    for (const [key, series] of this.#series) {
      yield [toPairs(this.labels, key.split(SEPARATOR)), series];
    }
  }

  #added(key: string): Series {
    const isFull = this.#series.size >= MAX_SERIES;
    const place = isFull
      ? this.labels.map(() => OTHER_SERIES).join(SEPARATOR)
      : key;
    const known = this.#series.get(place);
    if (known !== undefined) return known;
    const series = this.#make();
    this.#series.set(place, series);
    return series;
  }
}

/** Never part of a label's value: these are names, ids and status codes. */
const SEPARATOR = "\u0000";

/** A count that only grows. */
export class Counter {
  #value = 0;

  /** The count. */
  get value(): number {
    return this.#value;
  }

  /** Adds one, or as much as is given, which is not negative. */
  add(by = 1): void {
    this.#value += by;
  }
}

/** Counters that differ by labels. */
export class CounterFamily<Label extends string> implements Family {
  /** What its samples are. */
  readonly kind = "counter";
  /** The name. */
  readonly name: string;
  /** Names of its labels. */
  readonly labels: readonly Label[];
  readonly #help: string;
  readonly #series: SeriesMap<Label, Counter>;

  /** A family that has counted nothing. */
  constructor({ name, help, labels }: FamilyDefinition<Label>) {
    this.name = name;
    this.labels = labels;
    this.#help = help;
    this.#series = new SeriesMap(labels, () => new Counter());
  }

  /** The counter with these values of the labels. */
  of(labels: LabelValues<Label>): Counter {
    return this.#series.of(labels);
  }

  /** Writes the family. */
  write(text: MetricsText): void {
    text.family(this.name, this.kind, this.#help);
    for (const [labels, counter] of this.#series) {
      text.sample(labels, counter.value);
    }
  }

  /** Drops the series with this value of a label. */
  forget(label: string, value: string): void {
    this.#series.forget(label, value);
  }
}

/** Values counted in buckets. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** A histogram with these upper bounds that has counted nothing. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Counts a value. */
  note(value: number): void {
    const bounds = this.#bounds;
    let place = 0;
    while (place < bounds.length && value > bounds[place]!) place++;
    this.#counts[place]! += 1;
    this.#sum += value;
  }

  /** What it counted, by the buckets. */
  get reading(): HistogramReading {
    return { bounds: this.#bounds, counts: this.#counts, sum: this.#sum };
  }
}

/** Histograms that differ by labels. */
export class HistogramFamily<Label extends string> implements Family {
  /** What its samples are. */
  readonly kind = "histogram";
  /** The name. */
  readonly name: string;
  /** Names of its labels, `le` aside. */
  readonly labels: readonly Label[];
  readonly #help: string;
  readonly #series: SeriesMap<Label, Histogram>;

  /** A family that has counted nothing. */
  constructor(
    { name, help, labels, bounds }: FamilyDefinition<Label> & {
      readonly bounds: readonly number[];
    },
  ) {
    this.name = name;
    this.labels = labels;
    this.#help = help;
    this.#series = new SeriesMap(labels, () => new Histogram(bounds));
  }

  /** The histogram with these values of the labels. */
  of(labels: LabelValues<Label>): Histogram {
    return this.#series.of(labels);
  }

  /** Writes the family. */
  write(text: MetricsText): void {
    text.family(this.name, this.kind, this.#help);
    for (const [labels, histogram] of this.#series) {
      text.histogram(labels, histogram.reading);
    }
  }

  /** Drops the series with this value of a label. */
  forget(label: string, value: string): void {
    this.#series.forget(label, value);
  }
}

function orderValues<Label extends string>(
  labels: readonly Label[],
  values: LabelValues<Label>,
): readonly string[] {
  return labels.map((label) => values[label]);
}

function toPairs(
  labels: readonly string[],
  values: readonly string[],
): MetricLabels {
  return labels.map((label, place) => [label, values[place] ?? ""] as const);
}
