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

/**
 * Labels as text, from {@linkcode labelText}: for callers that write the same
 * labels again and again.
 */
export type LabelText = string;

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
  #parts: string[] = [];
  #name = "";

  /** Begins a family; an empty `help` is left out. */
  family(name: string, kind: MetricKind, help: string): void {
    this.#name = name;
    if (help !== "") this.#parts.push(`# HELP ${name} ${escapeHelp(help)}\n`);
    this.#parts.push(`# TYPE ${name} ${kind}\n`);
  }

  /** Writes the value of a counter or a gauge. */
  sample(labels: MetricLabels | LabelText, value: number): void {
    this.#line(this.#name, toText(labels), value);
  }

  /** Writes the buckets of a histogram, its sum and its count. */
  histogram(
    labels: MetricLabels | LabelText,
    reading: HistogramReading,
  ): void {
    const { bounds, counts, sum } = reading;
    const text = toText(labels);
    let below = 0;
    for (const [index, count] of counts.entries()) {
      below += count;
      const bound = bounds[index] ?? Infinity;
      const le = withLabel(text, ["le", numberText(bound)]);
      this.#line(`${this.#name}_bucket`, le, below);
    }
    this.#line(`${this.#name}_sum`, text, sum);
    this.#line(`${this.#name}_count`, text, below);
  }

  /** Writes the quantiles of a summary, its sum and its count. */
  summary(
    labels: MetricLabels | LabelText,
    reading: {
      readonly quantiles: readonly (readonly [number, number])[];
      readonly sum: number;
      readonly count: number;
    },
  ): void {
    const text = toText(labels);
    for (const [quantile, value] of reading.quantiles) {
      const all = withLabel(text, ["quantile", numberText(quantile)]);
      this.#line(this.#name, all, value);
    }
    this.#line(`${this.#name}_sum`, text, reading.sum);
    this.#line(`${this.#name}_count`, text, reading.count);
  }

  /** Everything that was written. */
  text(): string {
    return this.#parts.join("");
  }

  /** Returns what was written since the last call, and forgets it. */
  take(): string {
    const text = this.text();
    this.#parts = [];
    return text;
  }

  #line(name: string, labels: LabelText, value: number): void {
    const series = labels === "" ? name : `${name}{${labels}}`;
    this.#parts.push(`${series} ${numberText(value)}\n`);
  }
}

/** Writes labels as they stand between the braces of a sample. */
export function labelText(labels: MetricLabels): LabelText {
  return labels.map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    .join(",");
}

function toText(labels: MetricLabels | LabelText): LabelText {
  return typeof labels === "string" ? labels : labelText(labels);
}

function withLabel(
  labels: LabelText,
  one: readonly [name: string, value: string],
): LabelText {
  return labels === "" ? labelText([one]) : `${labels},${labelText([one])}`;
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
