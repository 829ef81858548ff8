/**
 * Shows statistics to people: as a page of text, or as JSON. No number has more
 * than three decimals.
 *
 * @module
 */

import {
  estimateQuantileMs,
  type StatCell,
  type TimerSummary,
} from "./stat_cell.ts";
import { decimalText } from "./statsd_line.ts";

/** The figures of a timer; percentiles are estimates from its buckets. */
interface TimerFigures {
  /** Number of durations since the start. */
  readonly count: number;
  /** Median in milliseconds: half of the durations were not longer. */
  readonly p50Ms: number;
  /** 99th percentile in milliseconds. */
  readonly p99Ms: number;
  /** The longest duration in milliseconds. */
  readonly maxMs: number;
}

/** One statistic in the JSON form. */
interface StatsJsonEntry {
  /** Full dotted name. */
  readonly name: string;
  /** Kind of the statistic. */
  readonly kind: StatReading["kind"];
  /** The number, or the figures of a timer. */
  readonly value: number | TimerFigures;
}

/**
 * Writes one line for each statistic, `name: value`, in the order of the
 * snapshot; a timer reads `name: count=3 p50_ms=4 p99_ms=9 max_ms=9`.
 *
 * @param filter keeps only statistics whose name contains this text
 */
export function statsText(
  snapshot: readonly StatReading[],
  filter = "",
): string {
  let text = "";
  for (const reading of kept(snapshot, filter)) {
    const value = reading.kind === "timer"
      ? figuresText(timerFigures(reading))
      : decimalText(rounded(reading.value));
    text += `${reading.name}: ${value}\n`;
  }
  return text;
}

/** Returns the same as {@linkcode statsText}, ready for `JSON.stringify`. */
export function statsJson(
  snapshot: readonly StatReading[],
  filter = "",
): { readonly stats: readonly StatsJsonEntry[] } {
  const stats = kept(snapshot, filter).map((reading) => ({
    name: reading.name,
    kind: reading.kind,
    value: reading.kind === "timer"
      ? timerFigures(reading)
      : rounded(reading.value),
  }));
  return { stats };
}

function kept(
  snapshot: readonly StatReading[],
  filter: string,
): readonly StatReading[] {
  return filter === ""
    ? snapshot
    : snapshot.filter(({ name }) => name.includes(filter));
}

function timerFigures({ summary }: TimerReading): TimerFigures {
  return {
    count: summary.count,
    p50Ms: rounded(estimateQuantileMs(summary, 0.5)),
    p99Ms: rounded(estimateQuantileMs(summary, 0.99)),
    maxMs: rounded(summary.maxMs),
  };
}

function figuresText(figures: TimerFigures): string {
  return `count=${figures.count} p50_ms=${decimalText(figures.p50Ms)}` +
    ` p99_ms=${decimalText(figures.p99Ms)} max_ms=${
      decimalText(figures.maxMs)
    }`;
}

function rounded(value: number): number {
  // A great count would lose its last digits.
  return Number.isInteger(value) ? value : Math.round(value * 1_000) / 1_000;
}

/** One statistic at the moment it was read. */
export type StatReading = NumberReading | TimerReading;

/** A counter or a gauge at the moment it was read. */
interface NumberReading {
  /** Tells the kinds apart. */
  readonly kind: "counter" | "gauge";
  /** Full dotted name. */
  readonly name: string;
  /** A counter's total since the start, or the value that a gauge was set to last. */
  readonly value: number;
}

/** A timer at the moment it was read. */
interface TimerReading {
  /** Tells the kinds apart. */
  readonly kind: "timer";
  /** Full dotted name. */
  readonly name: string;
  /** Durations since the start. */
  readonly summary: TimerSummary;
}

/** Copies the state of a cell into a reading. */
export function readStat(cell: StatCell): StatReading {
  const { kind, name } = cell;
  if (kind === "timer") return { kind, name, summary: cell.summary() };
  return { kind, name, value: kind === "gauge" ? cell.value : cell.total };
}
