/**
 * Reads again until nothing moves, so that a file that is half written is not
 * taken for a fault.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";

/** How reads are repeated. */
export interface SettledReadOptions<T> {
  /** Reads once. */
  readonly read: () => Promise<T>;
  /**
   * What two reads must have in common to count as the same; `undefined` is
   * never the same.
   */
  readonly keyOf: (value: T) => string | undefined;
  /**
   * The key of what is loaded; a first read that finds it needs no second.
   * @default none
   */
  readonly knownKey?: string | undefined;
  /** The time between two reads, in milliseconds. */
  readonly settleMs: number;
  /** The most reads there are. */
  readonly maxReads: number;
  /** The time source. */
  readonly clock: Clock;
  /** Ends the waiting early. */
  readonly signal: AbortSignal;
}

/** The last read, and whether the one before was the same. */
export interface SettledRead<T> {
  /** What was read last. */
  readonly value: T;
  /** Whether it held still; not so after `maxReads` or an early end. */
  readonly settled: boolean;
}

/** Reads until two reads in a row have the same key. */
export async function readSettled<T>(
  options: SettledReadOptions<T>,
): Promise<SettledRead<T>> {
  const { read, keyOf, knownKey, settleMs, maxReads, signal } = options;
  let value = await read();
  let key = keyOf(value);
  if (key !== undefined && key === knownKey) return { value, settled: true };
  for (let reads = 1; reads < maxReads && !signal.aborted; reads++) {
    await pause(settleMs, { clock: options.clock, signal });
    if (signal.aborted) break;
    const before = key;
    value = await read();
    key = keyOf(value);
    if (key !== undefined && key === before) return { value, settled: true };
  }
  return { value, settled: false };
}

interface PauseOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

async function pause(ms: number, options: PauseOptions): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = options.clock.setTimer(resolve, ms);
  const onAbort = () => resolve();
  options.signal.addEventListener("abort", onAbort, { once: true });
  await promise;
  options.signal.removeEventListener("abort", onAbort);
  timer.cancel();
}
