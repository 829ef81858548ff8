/**
 * Reads the service's own metrics back from their text, so that the operator's
 * page shows the numbers that are scraped and no others.
 *
 * @module
 */

/** A sample of a family. */
export interface MetricSample {
  /** The labels with their values. */
  readonly labels: Readonly<Record<string, string>>;
  /** The value. */
  readonly value: number;
}

/** Samples by their names, such as `relayer_job_lag_seconds`. */
export type MetricSamples = ReadonlyMap<string, readonly MetricSample[]>;

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** Reads a text in the format of Prometheus, as this service writes it. */
export function readSamples(text: string): MetricSamples {
  const samples = new Map<string, MetricSample[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const sample = {
      labels: Object.fromEntries(
        [...labels.matchAll(LABEL)].map(([, label, said = ""]) => [
          label,
          said.replaceAll(/\\(.)/g, (_, kept) => kept === "n" ? "\n" : kept),
        ]),
      ),
      value: Number(value?.replace("+Inf", "Infinity")),
    };
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [sample]);
    else known.push(sample);
  }
  return samples;
}

/** Adds up the samples whose labels fit; 0 when there are none. */
export function sumOf(
  samples: MetricSamples,
  name: string,
  fits: (labels: MetricSample["labels"]) => boolean = () => true,
): number {
  return (samples.get(name) ?? [])
    .reduce((sum, { labels, value }) => fits(labels) ? sum + value : sum, 0);
}

/**
 * The bound under which a share of what a histogram counted lies, in the
 * histogram's unit; undefined when it counted nothing, `Infinity` beyond its
 * last bound.
 */
export function quantileOf(
  samples: MetricSamples,
  name: string,
  { share, fits = () => true }: {
    /** From 0 to 1. */
    readonly share: number;
    readonly fits?: (labels: MetricSample["labels"]) => boolean;
  },
): number | undefined {
  const counts = new Map<number, number>();
  for (const { labels, value } of samples.get(`${name}_bucket`) ?? []) {
    if (!fits(labels)) continue;
    const bound = Number(labels["le"]?.replace("+Inf", "Infinity"));
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  const bounds = [...counts].sort(([a], [b]) => a - b);
  const total = bounds.at(-1)?.[1] ?? 0;
  return total === 0
    ? undefined
    : bounds.find(([, count]) => count >= share * total)?.[0];
}
