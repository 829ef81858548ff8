/**
 * Work that is done once for all who ask.
 *
 * @module
 */

/**
 * Runs its work when it is first asked. Who asks meanwhile waits for the same
 * run; who asks later gets the same result. A run that failed is forgotten, and
 * the next one who asks starts another.
 */
export class SharedFlight<T> {
  readonly #work: () => Promise<T>;
  #flight: Promise<T> | undefined;

  /** A flight that does `work`. */
  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** The result of the work. */
  async join(): Promise<T> {
    const flight = this.#flight ??= this.#work();
    try {
      return await flight;
    } catch (error) {
      if (this.#flight === flight) this.#flight = undefined;
      throw error;
    }
  }
}
