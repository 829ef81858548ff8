/**
 * Metrics as text for Prometheus, in its format of version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 * @module
 */

/** The media type of the text. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Labels of a sample by name, in the order they are written in. */
export type MetricLabels = readonly (readonly [name: string, value: string])[];

/** What a family of samples holds. */
export type MetricKind = "counter" | "gauge" | "histogram" | "summary";

/** What a histogram counted. */
export interface HistogramReading {
  /** Upper bounds, ascending, without the last, infinite one. */
  readonly bounds: readonly number[];
  /** How many values fell in each bucket; the last is the infinite one. */
  readonly counts: readonly number[];
  /** The sum of all values. */
  readonly sum: number;
}

/**
 * Writes families one after the other, each whole: `family()` begins one, and
 * the samples after it are its own. Names are to be valid ones; see
 * {@linkcode metricName}.
 */
export class MetricsText {
  readonly #parts: string[] = [];
  #name = "";

  /** Begins a family; no help is written where there is none. */
  family(name: string, kind: MetricKind, help: string): void {
    this.#name = name;
    if (help !== "") this.#parts.push(`# HELP ${name} ${escapeHelp(help)}\n`);
    this.#parts.push(`# TYPE ${name} ${kind}\n`);
  }

  /** Writes the value of a counter or a gauge. */
  sample(labels: MetricLabels, value: number): void {
    this.#line(this.#name, labels, value);
  }

  /** Writes the buckets of a histogram, its sum and its count. */
  histogram(labels: MetricLabels, reading: HistogramReading): void {
    const { bounds, counts, sum } = reading;
    let below = 0;
    for (const [index, count] of counts.entries()) {
      below += count;
      const bound = bounds[index] ?? Infinity;
      const le: MetricLabels = [...labels, ["le", numberText(bound)]];
      this.#line(`${this.#name}_bucket`, le, below);
    }
    this.#line(`${this.#name}_sum`, labels, sum);
    this.#line(`${this.#name}_count`, labels, below);
  }

  /** Writes the quantiles of a summary, its sum and its count. */
  summary(
    labels: MetricLabels,
    reading: {
      readonly quantiles: readonly (readonly [number, number])[];
      readonly sum: number;
      readonly count: number;
    },
  ): void {
    for (const [quantile, value] of reading.quantiles) {
      const all: MetricLabels = [...labels, ["quantile", numberText(quantile)]];
      this.#line(this.#name, all, value);
    }
    this.#line(`${this.#name}_sum`, labels, reading.sum);
    this.#line(`${this.#name}_count`, labels, reading.count);
  }

  /** Everything that was written. */
  text(): string {
    return this.#parts.join("");
  }

  #line(name: string, labels: MetricLabels, value: number): void {
    let line = name;
    for (let at = 0; at < labels.length; at++) {
      const [label, text] = labels[at]!;
      line += `${at === 0 ? "{" : ","}${label}="${escapeLabel(text)}"`;
    }
    if (labels.length > 0) line += "}";
    this.#parts.push(`${line} ${numberText(value)}\n`);
  }
}

/** Makes a text a valid name of a metric: what is not allowed becomes `_`. */
export function metricName(text: string): string {
  const name = text.replace(/[^a-zA-Z0-9_:]/g, "_");
  return /^[a-zA-Z_:]/.test(name) ? name : `_${name}`;
}

/** Makes a text a valid name of a label: what is not allowed becomes `_`. */
export function labelName(text: string): string {
  const name = text.replace(/[^a-zA-Z0-9_]/g, "_");
  return /^[a-zA-Z_]/.test(name) ? name : `_${name}`;
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  return String(value);
}

function escapeLabel(text: string): string {
  return /[\\"\n]/.test(text)
    ? text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")
    : text;
}

function escapeHelp(text: string): string {
  return text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
}
