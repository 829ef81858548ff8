/**
 * Durations between two flushes of one sink: exact count, sum and maximum, and
 * a fair sample of the values, however many there were.
 *
 * @module
 */

/** What one interval held. */
export interface TimerIntervalValues {
  /** How many durations there were. */
  readonly count: number;
  /** Their sum in milliseconds. */
  readonly sumMs: number;
  /** The longest in milliseconds. */
  readonly maxMs: number;
  /** All of them, or an evenly chosen part when there were too many. */
  readonly samplesMs: readonly number[];
}

/** Settings of a {@linkcode TimerInterval}. */
export interface TimerIntervalOptions {
  /** Most samples kept in an interval. */
  readonly maxSamples: number;
  /** Numbers from 0 up to 1, for choosing samples. */
  readonly random: () => number;
}

/** Gathers the durations of one timer for one sink. */
export class TimerInterval {
  readonly #maxSamples: number;
  readonly #random: () => number;
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;
  #samplesMs: number[] = [];

  /** Starts an empty interval. */
  constructor(options: TimerIntervalOptions) {
    this.#maxSamples = options.maxSamples;
    this.#random = options.random;
  }

  /** Takes one duration in milliseconds. */
  add(durationMs: number): void {
    this.#count++;
    this.#sumMs += durationMs;
    if (durationMs > this.#maxMs) this.#maxMs = durationMs;
    if (this.#samplesMs.length < this.#maxSamples) {
      this.#samplesMs.push(durationMs);
      return;
    }
    // Reservoir sampling (Vitter's algorithm R): each of the values seen so
    // far stays with the same chance.
    const index = Math.floor(this.#random() * this.#count);
    if (index < this.#maxSamples) this.#samplesMs[index] = durationMs;
  }

  /** Hands out what was gathered and begins anew; undefined when empty. */
  take(): TimerIntervalValues | undefined {
    if (this.#count === 0) return undefined;
    const values = {
      count: this.#count,
      sumMs: this.#sumMs,
      maxMs: this.#maxMs,
      samplesMs: this.#samplesMs,
    };
    this.#count = 0;
    this.#sumMs = 0;
    this.#maxMs = 0;
    this.#samplesMs = [];
    return values;
  }
}
