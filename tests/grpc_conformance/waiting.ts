/**
 * Waits that end.
 *
 * @module
 */

/** What `promise` gives, or an error that says what never came. */
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

/** Counts what happens, and lets a case wait for a number of it. */
export class Tally {
  #count = 0;
  #wanted: { readonly count: number; readonly reached: () => void }[] = [];

  /** How often it has happened. */
  get count(): number {
    return this.#count;
  }

  /** It has happened once more. */
  add(): void {
    this.#count++;
    for (const { count, reached } of this.#wanted) {
      if (this.#count >= count) reached();
    }
  }

  /** Resolves when it has happened `count` times. */
  reaches(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#count >= count) resolve();
    else this.#wanted.push({ count, reached: resolve });
    return within(promise, `${count} of something counted`);
  }
}
