/**
 * Metrics of a service as another program's parser reads them.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import parse from "parse-prometheus-text-format";

/** A family as the parser gives it. */
export interface ParsedFamily {
  /** The name. */
  readonly name: string;
  /** What it tells. */
  readonly help: string;
  /** Such as `COUNTER`. */
  readonly type: string;
  /** Its series. */
  readonly metrics: readonly ParsedSeries[];
}

/** A sample as the parser gives it. */
export interface ParsedSeries {
  /** Its value. */
  readonly value?: string;
  /** Its labels. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** The address of the metrics that a service logged when it opened their port. */
export async function metricsUrl(
  service: { waitForLine(text: string): Promise<string> },
): Promise<string> {
  const line = await service.waitForLine("Metrics on ");
  const url = /http:[^\s"]+/.exec(line)?.[0];
  if (url === undefined) throw new Error(`Cannot find an address in ${line}`);
  return url;
}

/**
 * Reads a service's metrics with a parser that is not the project's: families,
 * and the samples of histograms, by their names.
 *
 * @throws {Error} when the answer is no good
 */
export async function readMetrics(
  url: string,
): Promise<ReadonlyMap<string, ParsedFamily>> {
  const answer = await fetch(url);
  const text = await answer.text();
  assertEquals(answer.status, 200, text);
  const families: readonly ParsedFamily[] = parse(text);
  // The parser passes over lines that it cannot read.
  const names = text.matchAll(/^# TYPE (\S+)/gm);
  assertEquals(
    families.map(({ name }) => name),
    Array.from(names, ([, name]) => name ?? ""),
  );
  // Of histograms it keeps no labels unless it takes them for plain samples.
  const samples: readonly ParsedFamily[] = parse(
    text.replace(/^# TYPE \S+ histogram\n/gm, ""),
  );
  const byName = new Map<string, ParsedFamily>();
  for (const family of [...families, ...samples]) {
    const metrics = [
      ...byName.get(family.name)?.metrics ?? [],
      ...family.metrics,
    ];
    byName.set(family.name, { ...family, metrics });
  }
  return byName;
}

/** The value of the sample with these labels. */
export function seriesOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const series = families.get(name)?.metrics.find((one) =>
    Object.entries(labels).every(([label, value]) =>
      one.labels?.[label] === value
    )
  );
  return series?.value === undefined ? undefined : Number(series.value);
}
