/**
 * Lets a bounded number of things happen at a time.
 *
 * @module
 */

/** Options of {@linkcode Gate.run}. */
export interface GateRunOptions {
  /**
   * Ends the wait for a place; what was begun has to listen itself.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
}

/** Lets in; the others wait in the order they came. */
export class Gate {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /**
   * A gate that lets in `places` at a time.
   *
   * @throws {RangeError} when there is no place
   */
  constructor(places: number) {
    if (!(places >= 1)) {
      throw new RangeError(`Cannot make a gate: "${places}" places, not 1`);
    }
    this.#free = places;
  }

  /**
   * Does it when there is a place.
   *
   * @throws what the work throws, and the signal's reason when it ends the wait
   */
  async run<Result>(
    work: () => Promise<Result>,
    options: GateRunOptions = {},
  ): Promise<Result> {
    options.signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(options.signal);
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /** Whoever is let in has the place of the one that leaves. */
  #pass(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#free++;
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(enter);
        reject(signal?.reason);
      };
      this.#waiting.add(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}
