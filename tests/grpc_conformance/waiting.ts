/**
 * Waits with a timeout, so that a test always ends.
 *
 * @module
 */

/**
 * Returns the value of `promise`, or throws an error that says what did not
 * happen in time.
 */
export async function within<T>(
  promise: Promise<T>,
  what: string,
  timeoutMs = 10_000,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`Gave up waiting for ${what}`)),
    timeoutMs,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves once `signal` is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Counts events, and lets a case wait for a number of them. */
export class Tally {
  #count = 0;
  #wanted: { readonly count: number; readonly reached: () => void }[] = [];

  /** The number of events so far. */
  get count(): number {
    return this.#count;
  }

  /** Counts one more event. */
  add(): void {
    this.#count++;
    for (const { count, reached } of this.#wanted) {
      if (this.#count >= count) reached();
    }
  }

  /** Resolves when `count` events have happened. */
  reaches(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#count >= count) resolve();
    else this.#wanted.push({ count, reached: resolve });
    return within(promise, `${count} of something counted`);
  }
}
