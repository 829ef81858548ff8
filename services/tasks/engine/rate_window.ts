/**
 * At most so many starts in any period of a length.
 *
 * @module
 */

/** A bound on starts. */
export interface RateBound {
  /** Most starts of a period. */
  readonly count: number;
  /** Length of the period. */
  readonly periodMs: number;
}

/** The starts of the last period. */
export class RateWindow {
  /** Times of the last starts, oldest first. */
  #starts: number[] = [];

  /** How many may start now. */
  room(bound: RateBound, nowMs: number): number {
    this.#forget(bound, nowMs);
    return Math.max(0, bound.count - this.#starts.length);
  }

  /** When the next one may start; `nowMs` when one may now. */
  nextAtMs(bound: RateBound, nowMs: number): number {
    this.#forget(bound, nowMs);
    const { length } = this.#starts;
    if (length < bound.count) return nowMs;
    return (this.#starts[length - bound.count] ?? nowMs) + bound.periodMs;
  }

  /** Counts starts. */
  add(starts: number, nowMs: number): void {
    for (let index = 0; index < starts; index++) this.#starts.push(nowMs);
  }

  /** Whether nothing would change if this were thrown away. */
  isIdle(bound: RateBound, nowMs: number): boolean {
    this.#forget(bound, nowMs);
    return this.#starts.length === 0;
  }

  #forget({ periodMs }: RateBound, nowMs: number): void {
    const [first = Infinity] = this.#starts;
    const last = this.#starts.at(-1) ?? -Infinity;
    if (first > nowMs - periodMs && last <= nowMs) return;
    // A start in the future is from before the clock stepped back: it counts as
    // one of now, or the bound would be exceeded.
    this.#starts = this.#starts.filter((start) => start > nowMs - periodMs)
      .map((start) => Math.min(start, nowMs));
  }
}
