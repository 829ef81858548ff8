/**
 * How long to wait before what has failed is tried again.
 *
 * @module
 */

/** How waits grow. */
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
   * How much longer each wait is than the one before: 0.5 for half as long
   * again.
   */
  readonly growth: number;
  /**
   * Leaves out a random part, up to half, of each wait, so that many clients do
   * not all come back in the same moment.
   */
  readonly jitter: boolean;
  /**
   * Gives a number from 0 up to, not including, 1.
   *
   * @default Math.random
   */
  readonly random?: (() => number) | undefined;
}

/** Counts failures in a row and tells how long to wait after each. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  /** No failure yet. */
  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Notes a failure; gives the milliseconds to wait. */
  next(): number {
    const { firstMs, initialMs, maxMs, growth, jitter } = this.#options;
    const { random = Math.random } = this.#options;
    const wanted = this.#failures === 0
      ? Math.min(firstMs, initialMs)
      // Beyond any number there is, it is still bounded by the longest wait.
      : initialMs * (1 + growth) ** (this.#failures - 1);
    this.#failures += 1;
    const waitMs = Math.min(wanted, maxMs);
    return jitter ? waitMs / 2 + random() * waitMs / 2 : waitMs;
  }

  /** Takes the failures as over. */
  reset(): void {
    this.#failures = 0;
  }
}
