/**
 * Statistics as values: what a page or a pull endpoint shows.
 *
 * @module
 */

import type { StatCell } from "./stat_cell.ts";
import type { TimerSummary } from "./timer_histogram.ts";

/** One statistic at the moment it was read. */
export type StatReading = CounterReading | GaugeReading | TimerReading;

/** A counter at the moment it was read. */
export interface CounterReading {
  /** Tells the kinds apart. */
  readonly kind: "counter";
  /** Full dotted name. */
  readonly name: string;
  /** Total since the start. */
  readonly value: number;
}

/** A gauge at the moment it was read. */
export interface GaugeReading {
  /** Tells the kinds apart. */
  readonly kind: "gauge";
  /** Full dotted name. */
  readonly name: string;
  /** The value set last. */
  readonly value: number;
}

/** A timer at the moment it was read. */
export interface TimerReading {
  /** Tells the kinds apart. */
  readonly kind: "timer";
  /** Full dotted name. */
  readonly name: string;
  /** What it took since the start. */
  readonly summary: TimerSummary;
}

/** Copies the state of a cell. */
export function readStat(cell: StatCell): StatReading {
  const { kind, name } = cell;
  if (kind === "timer") return { kind, name, summary: cell.summary() };
  if (kind === "gauge") return { kind, name, value: cell.value };
  return { kind, name, value: cell.total };
}
