/**
 * A burst that may be spent at once and comes back at the rate of the rule.
 *
 * @module
 */

import {
  capacityOf,
  type CounterOperation,
  type CounterVerdict,
} from "./counter_store.ts";
import { MICROS_PER_SECOND, pacedVerdict } from "./paced_verdict.ts";

/** What the operations on a bucket bring with them. */
type BucketOperation = Pick<
  CounterOperation,
  "hits" | "limit" | "burst" | "windowSeconds"
>;

/**
 * Admits no more than burst + rate × t hits in any time t, where the rate is
 * the limit by the window. Hits that don't all fit are refused together and
 * not charged.
 *
 * It keeps what has been spent and not come back, in shares of a hit so small
 * that one microsecond brings `limit` of them back: sums are of whole numbers
 * and exact, up to 2⁵³ shares.
 */
export class TokenBucket {
  #spent = 0;
  #atMicros = 0;
  #limit = 0;
  #windowMicros = 1;

  /** Writes all that it knows and returns how many numbers that is. */
  writeTo(numbers: Float64Array): number {
    numbers[0] = this.#spent;
    numbers[1] = this.#atMicros;
    numbers[2] = this.#limit;
    numbers[3] = this.#windowMicros;
    return 4;
  }

  /** Becomes the counter that has written these numbers. */
  readFrom(numbers: Float64Array): void {
    this.#spent = numbers[0]!;
    this.#atMicros = numbers[1]!;
    this.#limit = numbers[2]!;
    this.#windowMicros = numbers[3]!;
  }

  /** Becomes a new one. */
  reset(): void {
    this.#spent = 0;
    this.#atMicros = 0;
    this.#limit = 0;
    this.#windowMicros = 1;
  }

  /** From when on the counter is as good as new. */
  get wholeAtMicros(): number {
    return this.#spent === 0
      ? -Infinity
      : this.#atMicros + Math.ceil(this.#spent / this.#limit);
  }

  /** The hits that are missing at a time, not always a whole number. */
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
    const capacity = capacityOf(operation) * window;
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

  /** Until so many shares are back. */
  #untilBack(shares: number): number {
    return shares <= 0 || this.#limit === 0
      ? 0
      : Math.ceil(shares / this.#limit);
  }
}
