/**
 * Waiting in tests that talk to real processes and sockets.
 *
 * @module
 */

/** Options of {@linkcode waitUntil}. */
export interface WaitUntilOptions {
  /** What is waited for; stands in the error. */
  readonly what: string;
  /**
   * Milliseconds after which it gives up: no bound to be met, but long enough for
   * a busy machine, and shorter than a test may take.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number;
  /**
   * Milliseconds between two looks.
   *
   * @default {10}
   */
  readonly intervalMs?: number;
}

/**
 * Looks again and again until `condition` holds. A condition that throws does
 * not hold yet; its last error becomes the cause.
 *
 * @throws {Error} When the condition does not hold, or has not answered, in
 * time.
 */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  options: WaitUntilOptions,
): Promise<void> {
  const { what, timeoutMs = 30_000, intervalMs = 10 } = options;
  const deadlineMs = performance.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const leftMs = Math.max(0, deadlineMs - performance.now());
      if (await withTimeout(condition, leftMs)) return;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
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
