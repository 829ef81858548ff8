/**
 * What the parts of the service count with. The registry stands behind it.
 *
 * @module
 */

/** A number that only grows. */
export interface Counter {
  /** Adds `amount`, 1 when it is left out. */
  add(amount?: number): void;
}

/** A number that is set. */
export interface Gauge {
  /** Replaces the value. */
  set(value: number): void;
}

/** Durations. */
export interface Timer {
  /** Takes one duration in milliseconds. */
  record(durationMs: number): void;
}

/** Hands out statistics by their full dotted name; one name, one object. */
export interface Stats {
  /** The counter of that name. */
  counter(name: string): Counter;
  /** The gauge of that name. */
  gauge(name: string): Gauge;
  /** The timer of that name. */
  timer(name: string): Timer;
}
