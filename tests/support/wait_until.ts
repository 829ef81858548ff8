/**
 * Waits for conditions, in tests that talk to real processes and sockets.
 *
 * @module
 */

/** Options of {@linkcode waitUntil}. */
export interface WaitUntilOptions {
  /** A description of the condition, for the error message. */
  readonly what: string;
  /**
   * Time limit in milliseconds. It is not a limit that a test should verify: it
   * is long enough for a busy machine, and shorter than a test may take.
   *
   * @default {60000}
   */
  readonly timeoutMs?: number;
  /**
   * Milliseconds between two checks.
   *
   * @default a tenth of the time that has passed, from 10 to 50
   */
  readonly intervalMs?: number;
}

/** The bounds of the time between two checks, in milliseconds. */
const INTERVAL_MS = { least: 10, most: 50 };

/**
 * Checks a condition repeatedly until it holds. A condition that throws counts
 * as not holding yet; its last error becomes the cause of the error.
 *
 * @throws {Error} When the condition does not hold, or does not answer, in
 * time.
 */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  options: WaitUntilOptions,
): Promise<void> {
  const { what, timeoutMs = 60_000, intervalMs } = options;
  const startMs = performance.now();
  const deadlineMs = startMs + timeoutMs;
  let cause: unknown;
  do {
    try {
      const leftMs = Math.max(0, deadlineMs - performance.now());
      if (await withTimeout(condition, leftMs)) return;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const { least, most } = INTERVAL_MS;
    const tenthMs = (performance.now() - startMs) / 10;
    const pauseMs = intervalMs ?? Math.min(most, Math.max(least, tenthMs));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  } while (performance.now() < deadlineMs);
  const message = `Cannot wait for ${what}: not so after ${timeoutMs} ms`;
  throw cause === undefined
    ? new Error(message)
    : new Error(message, { cause });
}

async function withTimeout(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  try {
    return await Promise.race([condition(), promise]);
  } finally {
    clearTimeout(timer);
  }
}
