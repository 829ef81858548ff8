/**
 * Sums of several figures over a sliding stretch of time, kept in slots.
 *
 * @module
 */

/**
 * Sums figures over the last so many slots, the current one included. Memory is
 * fixed; a slot holds more than 2²⁴ to seven digits.
 */
export class SlotRing {
  readonly #slotMs: number;
  readonly #slots: number;
  readonly #figures: number;
  readonly #values: Float32Array;
  readonly #sums: Float64Array;
  /** Number of the newest slot since the clock began. */
  #newest = -Infinity;

  /** Makes an empty ring. */
  constructor(
    { slotMs, slots, figures }: {
      /** Length of a slot in milliseconds. */
      readonly slotMs: number;
      /** Number of slots. */
      readonly slots: number;
      /** Number of figures that are summed side by side. */
      readonly figures: number;
    },
  ) {
    this.#slotMs = slotMs;
    this.#slots = slots;
    this.#figures = figures;
    this.#values = new Float32Array(slots * figures);
    this.#sums = new Float64Array(figures);
  }

  /** Adds to a figure, by its index. */
  add(figure: number, amount: number, nowMs: number): void {
    this.#roll(nowMs);
    const at = this.#newest % this.#slots * this.#figures + figure;
    const before = this.#values[at]!;
    this.#values[at] = before + amount;
    // What leaves with the slot later is what it holds, not what was added.
    this.#sums[figure]! += this.#values[at]! - before;
  }

  /** Returns the sum of a figure over all slots. */
  sum(figure: number, nowMs: number): number {
    this.#roll(nowMs);
    return this.#sums[figure]!;
  }

  /** Adds what a figure has in each slot, the oldest first, to `series`. */
  addSeries(figure: number, series: number[], nowMs: number): void {
    this.#roll(nowMs);
    for (let index = 0; index < this.#slots; index++) {
      const slot = (this.#newest + 1 + index) % this.#slots;
      series[index] = (series[index] ?? 0) +
        this.#values[slot * this.#figures + figure]!;
    }
  }

  /** Empties the slots that are too old, up to the one of `nowMs`. */
  #roll(nowMs: number): void {
    const newest = Math.floor(nowMs / this.#slotMs);
    if (newest <= this.#newest) return;
    const oldest = Math.max(this.#newest + 1, newest - this.#slots + 1, 0);
    for (let slot = oldest; slot <= newest; slot++) {
      const start = slot % this.#slots * this.#figures;
      for (let figure = 0; figure < this.#figures; figure++) {
        this.#sums[figure]! -= this.#values[start + figure]!;
        this.#values[start + figure] = 0;
      }
    }
    this.#newest = newest;
  }
}
