/**
 * Reads a service's metrics with a parser that is not the project's.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import parse from "npm:parse-prometheus-text-format@^1.1.1";
import { metricsFaults } from "./metrics_lint.ts";

/** A metric family, as the parser returns it. */
export interface ParsedFamily {
  /** The name of the family. */
  readonly name: string;
  /** The help text of the family. */
  readonly help: string;
  /** The type of the family, such as `COUNTER`. */
  readonly type: string;
  /** The samples of the family. */
  readonly metrics: readonly ParsedSeries[];
}

/** A sample, as the parser returns it. */
export interface ParsedSeries {
  /** The value of the sample. */
  readonly value?: string;
  /** The labels of the sample. */
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Returns the URL of the metrics, which a service logs when it opens their
 * port.
 */
export async function metricsUrl(
  service: { waitForLine(text: string): Promise<string> },
): Promise<string> {
  const line = await service.waitForLine("Metrics on ");
  const url = /http:[^\s"]+/.exec(line)?.[0];
  if (url === undefined) throw new Error(`Cannot find an address in ${line}`);
  return url;
}

/**
 * Reads a service's metrics: families, and the samples of histograms, by their
 * names.
 *
 * @throws {Error} when the response is not 200, has a family that the parser
 * cannot read, or one that promtool would warn of
 */
export async function readMetrics(
  url: string,
): Promise<ReadonlyMap<string, ParsedFamily>> {
  const answer = await fetch(url);
  const text = await answer.text();
  assertEquals(answer.status, 200, text);
  assertEquals(metricsFaults(text), []);
  const families: readonly ParsedFamily[] = parse(text);
  // The parser silently skips lines that it cannot read, so its families are
  // compared with the TYPE lines.
  const names = text.matchAll(/^# TYPE (\S+)/gm);
  assertEquals(
    families.map(({ name }) => name),
    Array.from(names, ([, name]) => name ?? ""),
  );
  // The parser drops the labels of histograms, except when their samples look
  // like plain ones, so the TYPE lines of histograms are removed and the text
  // is parsed again.
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

/**
 * Returns the value of the sample with these labels; `undefined` when it does
 * not exist.
 */
export function findSeries(
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
