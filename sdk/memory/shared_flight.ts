/**
 * Asynchronous work that runs once for all of its callers.
 *
 * @module
 */

/**
 * Runs its work at the first call. Calls during the run wait for the same run,
 * and later calls get the same result. A failed run is forgotten, so that the
 * next call starts another.
 */
export class SharedFlight<T> {
  readonly #work: () => Promise<T>;
  #flight: Promise<T> | undefined;

  /** Creates a flight that runs `work`. */
  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Returns the result of the work. */
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
