/**
 * A wait for tests that compare times which the real relayer has set.
 *
 * @module
 */

/**
 * Waits for the next millisecond, since the real relayer uses the system's
 * clock.
 */
export function awaitNextMs(): void {
  const startMs = Date.now();
  while (Date.now() === startMs);
}
