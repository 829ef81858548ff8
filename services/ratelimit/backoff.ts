/**
 * Backoff: how long to wait before a failed action is retried.
 *
 * @module
 */

/** How the waits of a {@linkcode Backoff} grow. */
export interface BackoffOptions {
  /**
   * Milliseconds of the first wait in a row of failures, unless
   * {@linkcode BackoffOptions.initialMs} is less.
   */
  readonly firstMs: number;
  /** Milliseconds of the second wait. */
  readonly initialMs: number;
  /** The longest wait in milliseconds. */
  readonly maxMs: number;
  /**
   * Part by which each wait is longer than the one before: 0.5 for half as long
   * again.
   */
  readonly growth: number;
  /**
   * True to leave out a random part, up to half, of each wait, so that many
   * clients do not all retry at the same moment.
   */
  readonly jitter: boolean;
  /**
   * Returns a number from 0 up to, not including, 1.
   *
   * @default Math.random
   */
  readonly random?: (() => number) | undefined;
}

/** Counts failures in a row and returns how long to wait after each. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  /** Starts without a failure. */
  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure; returns the milliseconds to wait before the retry. */
  next(): number {
    const { firstMs, initialMs, maxMs, growth, jitter } = this.#options;
    const { random = Math.random } = this.#options;
    const wanted = this.#failures === 0
      ? Math.min(firstMs, initialMs)
      // After very many failures this is Infinity, which the longest wait
      // bounds.
      : initialMs * (1 + growth) ** (this.#failures - 1);
    this.#failures += 1;
    const waitMs = Math.min(wanted, maxMs);
    return jitter ? waitMs / 2 + random() * waitMs / 2 : waitMs;
  }

  /** Ends the row of failures, so that the next wait is a first one again. */
  reset(): void {
    this.#failures = 0;
  }
}
