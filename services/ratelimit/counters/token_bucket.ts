/**
 * The token bucket: a burst that may be spent at once and is refilled at the
 * rate of the rule.
 *
 * @module
 */

import {
  type CounterOperation,
  type CounterVerdict,
  getCapacity,
} from "./counter_store.ts";
import { MICROS_PER_SECOND, pacedVerdict } from "./paced_verdict.ts";

/** The parts of an operation that a bucket uses. */
type BucketOperation = Pick<
  CounterOperation,
  "hits" | "limit" | "burst" | "windowSeconds"
>;

/**
 * Admits no more than burst + rate × t hits in any time t, where the rate is
 * the limit by the window. Hits that don't all fit are refused together and not
 * charged.
 *
 * Its state is what was spent and is not yet refilled, in shares of a hit so
 * small that one microsecond refills `limit` of them: sums are of whole numbers
 * and exact, up to 2⁵³ shares.
 */
export class TokenBucket {
  #spent = 0;
  #atMicros = 0;
  #limit = 0;
  #windowMicros = 1;

  /** Writes the state as numbers; returns how many numbers that is. */
  writeTo(numbers: Float64Array): number {
    numbers[0] = this.#spent;
    numbers[1] = this.#atMicros;
    numbers[2] = this.#limit;
    numbers[3] = this.#windowMicros;
    return 4;
  }

  /** Restores the state that was written as these numbers. */
  readFrom(numbers: Float64Array): void {
    this.#spent = numbers[0]!;
    this.#atMicros = numbers[1]!;
    this.#limit = numbers[2]!;
    this.#windowMicros = numbers[3]!;
  }

  /** Resets the state to that of a new counter. */
  reset(): void {
    this.#spent = 0;
    this.#atMicros = 0;
    this.#limit = 0;
    this.#windowMicros = 1;
  }

  /** Microseconds from which on the counter is as good as new. */
  get wholeAtMicros(): number {
    return this.#spent === 0
      ? -Infinity
      : this.#atMicros + Math.ceil(this.#spent / this.#limit);
  }

  /**
   * Returns the hits that are spent and not yet refilled, not always a whole
   * number.
   */
  usedAt(nowMicros: number): number {
    return this.#spentAt(nowMicros, this.#limit) / this.#windowMicros;
  }

  /**
   * Applies an operation.
   *
   * @param nowMicros Whole microseconds by a clock that never goes back.
   */
  apply(operation: BucketOperation, nowMicros: number): CounterVerdict {
    const { hits, limit, windowSeconds } = operation;
    this.#spent = this.#spentAt(nowMicros, limit);
    this.#atMicros = nowMicros;
    this.#limit = limit;
    const window = windowSeconds * MICROS_PER_SECOND;
    this.#windowMicros = window;
    const capacity = getCapacity(operation) * window;
    const isRefused = hits > 0 && this.#spent + hits * window > capacity;
    if (!isRefused) this.#spent = Math.max(0, this.#spent + hits * window);
    const remaining = Math.max(
      0,
      Math.floor((capacity - this.#spent) / window),
    );
    const missing = this.#spent + (isRefused ? hits : 1) * window - capacity;
    return pacedVerdict({
      isOver: isRefused || (hits <= 0 && remaining === 0),
      remaining,
      waitMicros: this.#untilBack(missing),
      wholeMicros: this.#untilBack(this.#spent),
    }, operation);
  }

  #spentAt(nowMicros: number, limit: number): number {
    const back = (nowMicros - this.#atMicros) * limit;
    return Math.max(0, this.#spent - back);
  }

  /** Returns the microseconds until so many shares are refilled. */
  #untilBack(shares: number): number {
    return shares <= 0 || this.#limit === 0
      ? 0
      : Math.ceil(shares / this.#limit);
  }
}
