/**
 * All statistics of the process by name: bounded, readable at any time, and
 * drained by any number of sinks.
 *
 * @module
 */

import { readStat, type StatReading } from "./page.ts";
import {
  CounterCell,
  GaugeCell,
  type StatCell,
  TimerCell,
} from "./stat_cell.ts";
import {
  type Counter,
  type Gauge,
  statName,
  type StatOrigin,
  type Stats,
  type Timer,
} from "./stats.ts";
import {
  type StatChange,
  StatsReader,
  type StatsReaderOptions,
} from "./stats_reader.ts";

/** The kinds of statistics. */
type StatKind = StatReading["kind"];

/** A name that got no object of its own, and why. */
interface StatOverflow {
  /** `full`: no room for more names; `kind_taken`: the name has another kind. */
  readonly reason: "full" | "kind_taken";
  /** The first name this happened to. */
  readonly name: string;
  /** The kind that was asked for. */
  readonly kind: StatKind;
}

/** Settings of {@linkcode StatsRegistry}. */
interface StatsRegistryOptions {
  /**
   * Most names that are kept; they are never freed. The shared objects for
   * further names are not counted.
   *
   * @default 100_000
   */
  readonly maxNames?: number;
  /**
   * Called the first time a name gets no object of its own, once for each
   * reason.
   *
   * @default nothing is called
   */
  readonly onOverflow?: (overflow: StatOverflow) => void;
}

/** The name of the counter that stands in for counters without room. */
const overflowStatName = "ratelimit.stats.overflow";

type CellClass<T extends StatCell> = new (
  name: string,
  origin?: StatOrigin,
) => T;

/**
 * Statistics that can be read. Names are made valid by {@linkcode statName}.
 * Getting an object never throws: a new name beyond `maxNames`, or one that has
 * another kind already, gets a shared object, called {@linkcode
 * overflowStatName} for counters, with `_gauge` or `_timer` behind it for the
 * other kinds.
 */
export class StatsRegistry implements Stats {
  readonly #byName = new Map<string, StatCell>();
  readonly #cells: StatCell[] = [];
  readonly #readers = new Set<StatsReader>();
  readonly #watchers: ((cell: StatCell) => void)[] = [];
  readonly #told = new Set<StatOverflow["reason"]>();
  readonly #options: Required<StatsRegistryOptions>;
  #ownNames = 0;
  #sorted: readonly StatCell[] | undefined;

  /**
   * Makes an empty registry.
   *
   * @throws {RangeError} when `maxNames` is not a positive whole number.
   */
  constructor(options: StatsRegistryOptions = {}) {
    const { maxNames = 100_000, onOverflow = () => {} } = options;
    if (!Number.isSafeInteger(maxNames) || maxNames < 1) {
      throw new RangeError(
        `Cannot create a statistics registry: maxNames is "${maxNames}", not a positive whole number`,
      );
    }
    this.#options = { maxNames, onOverflow };
  }

  /** Number of statistics. */
  get size(): number {
    return this.#cells.length;
  }

  /** Returns the counter of a name. */
  counter(name: string, origin?: StatOrigin): Counter {
    return this.#own(name, CounterCell, origin) ??
      this.#shared(overflowStatName, CounterCell, { name, kind: "counter" });
  }

  /** Returns the gauge of a name. */
  gauge(name: string): Gauge {
    const shared = `${overflowStatName}_gauge`;
    return this.#own(name, GaugeCell) ??
      this.#shared(shared, GaugeCell, { name, kind: "gauge" });
  }

  /** Returns the timer of a name. */
  timer(name: string): Timer {
    const shared = `${overflowStatName}_timer`;
    return this.#own(name, TimerCell) ??
      this.#shared(shared, TimerCell, { name, kind: "timer" });
  }

  /** Returns all statistics as they are now, sorted by name. */
  snapshot(): readonly StatReading[] {
    this.#sorted ??= this.#cells.toSorted((a, b) => a.name < b.name ? -1 : 1);
    return this.#sorted.map(readStat);
  }

  /**
   * Calls back for each statistic that exists and, from now on, for each new
   * one.
   */
  watch(onCell: (cell: StatCell) => void): void {
    for (const cell of this.#cells) onCell(cell);
    this.#watchers.push(onCell);
  }

  /**
   * Adds the changes in the registry of another thread since the last call;
   * gauges show the sum of all threads.
   */
  absorb(thread: number, changes: readonly StatChange[]): void {
    for (const change of changes) {
      const { name } = change;
      if (change.kind === "counter") {
        this.counter(name, change.origin).add(change.increase);
      } else if (change.kind === "gauge") {
        const gauge = this.gauge(name);
        if (gauge instanceof GaugeCell) {
          gauge.setThreadValue(thread, change.value);
        }
      } else {
        const timer = this.timer(name);
        if (timer instanceof TimerCell) timer.absorb(change.interval);
      }
    }
  }

  /** Sets the gauges of a thread that has ended to 0. */
  forget(thread: number): void {
    for (const cell of this.#cells) {
      if (cell.kind === "gauge") cell.setThreadValue(thread, 0);
    }
  }

  /**
   * Opens a reader of changes, for one sink; at first every statistic is
   * unseen.
   */
  openReader(options: StatsReaderOptions = {}): StatsReader {
    const reader: StatsReader = new StatsReader(this.#cells, {
      ...options,
      onClose: () => this.#readers.delete(reader),
    });
    this.#readers.add(reader);
    return reader;
  }

  #own<T extends StatCell>(
    rawName: string,
    Cell: CellClass<T>,
    origin?: StatOrigin,
  ): T | undefined {
    let cell = this.#byName.get(rawName);
    if (cell === undefined) {
      const name = statName(rawName);
      cell = this.#byName.get(name);
      if (cell === undefined) {
        if (this.#ownNames >= this.#options.maxNames) return undefined;
        this.#ownNames++;
        return this.#list(new Cell(name, origin));
      }
    }
    return cell instanceof Cell ? cell : undefined;
  }

  #shared<T extends StatCell>(
    name: string,
    Cell: CellClass<T>,
    refused: Omit<StatOverflow, "reason">,
  ): T {
    const taken = this.#byName.has(statName(refused.name));
    const reason = taken ? "kind_taken" : "full";
    if (!this.#told.has(reason)) {
      this.#told.add(reason);
      this.#options.onOverflow({ reason, ...refused });
    }
    const cell = this.#byName.get(name);
    return cell instanceof Cell ? cell : this.#list(new Cell(name));
  }

  #list<T extends StatCell>(cell: T): T {
    this.#byName.set(cell.name, cell);
    this.#cells.push(cell);
    this.#sorted = undefined;
    for (const reader of this.#readers) reader.watch(cell);
    for (const onCell of this.#watchers) onCell(cell);
    return cell;
  }
}
