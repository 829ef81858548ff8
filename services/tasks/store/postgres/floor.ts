/**
 * Remembers where the rows begin that a look at an ordered index can find, so
 * that the next look need not walk over the dead rows before them. They stay for
 * as long as any client of the server has a transaction open: a claim that walked
 * over those of 24,000 tasks took 26 ms, with a floor 1 ms.
 *
 * What this instance writes lowers a floor, and so does what others tell. So it
 * can only delay tasks of another instance whose notice was lost, until a look
 * goes without: after a second, or longer where such a look takes long.
 *
 * @module
 */

/** How long floors are relied on at least, in milliseconds. */
export const FLOOR_AGE_MS = 1_000;
/**
 * After how many milliseconds at least a look that found less than was wanted is
 * repeated without a floor.
 */
export const SHORT_AGE_MS = 100;
/**
 * How many times as long as a look without floors takes, the next one waits, so
 * that they take a twentieth of the time at most, however many rows are dead.
 */
export const REST_PER_LOOK = 20;

/** Where the rows of an index, or of a part of it, begin. */
export class Floor {
  #at: number;
  #id = "";
  /** The lowest place of what was written since the last look began. */
  #written = Infinity;
  #looks = 0;

  /** Begins at a place, below which there is nothing. */
  constructor(at: number) {
    this.#at = at;
  }

  /** Where the next look has to begin. */
  get at(): number {
    return Math.min(this.#at, this.#written);
  }

  /**
   * The id from which on the next look has to begin among those at
   * {@linkcode at}: many tasks may have the same date.
   */
  get id(): string {
    return this.#written <= this.#at ? "" : this.#id;
  }

  /** Notes that something was written. */
  lower(to: number): void {
    if (to < this.#written) this.#written = to;
  }

  /**
   * Begins a look at {@linkcode at} and {@linkcode id}.
   *
   * @returns a function that ends it and takes the first place at which
   * something was found. Only the look that began last counts, since the ones
   * before it may not have seen what was written in between.
   */
  look(): (first: number, id?: string) => void {
    const { at, id } = this;
    this.#at = at;
    this.#id = id;
    this.#written = Infinity;
    const number = ++this.#looks;
    return (first, firstId = "") => {
      if (number !== this.#looks) return;
      this.#at = first;
      this.#id = firstId;
    };
  }
}
