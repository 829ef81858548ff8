/**
 * One sink's view of the registry: what has changed since that sink looked
 * last. Each reader keeps its own marks, so sinks do not disturb each other.
 *
 * @module
 */

import {
  type StatCell,
  type TimerCell,
  TimerInterval,
  type TimerIntervalValues,
} from "./stat_cell.ts";
import type { StatOrigin } from "./stats.ts";

/** A change that a sink should write. */
export type StatChange = CounterChange | GaugeChange | TimerChange;

/** A counter that grew. */
interface CounterChange {
  /** Tells the kinds apart. */
  readonly kind: "counter";
  /** Full dotted name. */
  readonly name: string;
  /** Where it comes from; undefined unless it is one of a rule. */
  readonly origin?: StatOrigin | undefined;
  /** Growth since this reader saw the counter last; above 0. */
  readonly increase: number;
  /** Total of the counter since the start. */
  readonly total: number;
  /** Index of the counter in the registry. */
  readonly index: number;
}

/** A gauge, changed or not. */
interface GaugeChange {
  /** Tells the kinds apart. */
  readonly kind: "gauge";
  /** Full dotted name. */
  readonly name: string;
  /** Value of the gauge. */
  readonly value: number;
  /** True when this reader has not seen that value yet. */
  readonly changed: boolean;
  /** Index of the gauge in the registry. */
  readonly index: number;
}

/** A timer with new durations. */
interface TimerChange {
  /** Tells the kinds apart. */
  readonly kind: "timer";
  /** Full dotted name. */
  readonly name: string;
  /** Durations since this reader saw the timer last. */
  readonly interval: TimerIntervalValues;
  /** Index of the timer in the registry. */
  readonly index: number;
}

/** Settings of a {@linkcode StatsReader}. */
export interface StatsReaderOptions {
  /**
   * Most values of one timer that are returned at a time; the rest are reported
   * by count, sum and maximum.
   *
   * @default 100
   */
  readonly maxTimerSamples?: number;
  /**
   * Returns a number from 0 up to, not including, 1, to choose samples by.
   *
   * @default Math.random
   */
  readonly random?: (() => number) | undefined;
}

/** Reads the changes of a list of cells that only grows, for one sink. */
export class StatsReader {
  readonly #cells: readonly StatCell[];
  readonly #seen: number[] = [];
  readonly #intervals = new Map<TimerCell, TimerInterval>();
  readonly #maxSamples: number;
  readonly #random: () => number;
  readonly #onClose: () => void;

  /**
   * Makes a reader to which everything is unseen; `onClose` is called when it
   * ends.
   */
  constructor(
    cells: readonly StatCell[],
    options: StatsReaderOptions & { readonly onClose: () => void },
  ) {
    this.#cells = cells;
    this.#maxSamples = options.maxTimerSamples ?? 100;
    this.#random = options.random ?? Math.random;
    this.#onClose = options.onClose;
    for (const cell of cells) this.watch(cell);
  }

  /** Begins to gather for a cell; the registry calls it for each new cell. */
  watch(cell: StatCell): void {
    if (cell.kind !== "timer") return;
    const interval = new TimerInterval({
      maxSamples: this.#maxSamples,
      random: this.#random,
    });
    this.#intervals.set(cell, interval);
    cell.attach(interval);
  }

  /**
   * Yields the counters that grew, all gauges, and the timers with new
   * durations, in the order the names were first used. What was yielded counts
   * as seen; the rest stays for the next time.
   */
  *changes(): IterableIterator<StatChange> {
    // By index: the list may grow meanwhile, and is mostly skipped over.
    for (let index = 0; index < this.#cells.length; index++) {
      const cell = this.#cells[index];
      const change = cell && this.#takeChange(cell, index);
      if (change !== undefined) yield change;
    }
  }

  /**
   * Takes back changes that could not be written, so that the next walk yields
   * them again. Timers are not taken back: their interval is lost.
   */
  giveBack(changes: readonly StatChange[]): void {
    for (const change of changes) {
      if (change.kind === "counter") {
        const seen = this.#seen[change.index] ?? 0;
        this.#seen[change.index] = Math.max(0, seen - change.increase);
      } else if (change.kind === "gauge") {
        this.#seen[change.index] = NaN;
      }
    }
  }

  /** Ends the reader; timers stop gathering for it. */
  close(): void {
    for (const [cell, interval] of this.#intervals) cell.detach(interval);
    this.#intervals.clear();
    this.#onClose();
  }

  #takeChange(cell: StatCell, index: number): StatChange | undefined {
    const { kind, name } = cell;
    if (kind === "timer") {
      const interval = this.#intervals.get(cell)?.take();
      return interval && { kind, name, interval, index };
    }
    const seen = this.#seen[index];
    if (kind === "gauge") {
      const value = cell.value;
      this.#seen[index] = value;
      return { kind, name, value, changed: value !== seen, index };
    }
    const total = cell.total;
    if (total === (seen ?? 0)) return undefined;
    this.#seen[index] = total;
    // The total is below what was seen: it began again.
    const increase = total < (seen ?? 0) ? total : total - (seen ?? 0);
    return { kind, name, origin: cell.origin, increase, total, index };
  }
}
