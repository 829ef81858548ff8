/**
 * Lets a bounded number of things happen at a time.
 *
 * @module
 */

/** Lets in; the others wait in the order they came. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** A gate that lets in `places` at a time. */
  constructor(places: number) {
    this.#free = places;
  }

  /** Does it when there is a place. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
