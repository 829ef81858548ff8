/**
 * Work with bounds: over by some time, or at most some items at a time.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";

/** Options of {@linkcode boundedWork}. */
export interface BoundedWorkOptions<Result> {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Milliseconds from now.
   *
   * @default no bound
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Ends it early.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The work. Its signal is aborted when the time is over; what it does after
   * that is nobody's result.
   */
  readonly run: (signal: AbortSignal) => Promise<Result>;
}

/** What came of it. */
export type BoundedWorkOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "late" }
  | { readonly kind: "ended" };

/**
 * Runs work within a bound, without waiting for a part that does not listen to
 * its signal.
 *
 * @throws what the work throws before the time is over
 */
export async function boundedWork<Result>(
  options: BoundedWorkOptions<Result>,
): Promise<BoundedWorkOutcome<Result>> {
  const { clock, timeoutMs, signal, run } = options;
  if (signal?.aborted === true) return { kind: "ended" };
  const controller = new AbortController();
  const over = Promise.withResolvers<{ readonly kind: "late" | "ended" }>();
  const finish = (kind: "late" | "ended"): void => {
    over.resolve({ kind });
    controller.abort();
  };
  const end = () => finish("ended");
  signal?.addEventListener("abort", end, { once: true });
  const timer = timeoutMs === undefined
    ? undefined
    : clock.setTimer(() => finish("late"), timeoutMs);
  try {
    return await Promise.race([
      over.promise,
      run(controller.signal).then((result) => ({
        kind: "done" as const,
        result,
      })),
    ]);
  } finally {
    timer?.cancel();
    signal?.removeEventListener("abort", end);
  }
}

/** Options of {@linkcode pooled}. */
export interface PooledOptions<Item, Result> {
  /** Most items that are worked on at the same time. */
  readonly parallel: number;
  /** Nothing is begun any more after this. */
  readonly signal: AbortSignal;
  /** Works on one. */
  readonly work: (item: Item) => Promise<Result>;
}

/**
 * Works on all items; the results stand in the order of the items.
 *
 * @throws what `work` throws first, and the signal's reason when it ends early
 */
export async function pooled<Item, Result>(
  items: readonly Item[],
  options: PooledOptions<Item, Result>,
): Promise<readonly Result[]> {
  const { parallel, signal, work } = options;
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  async function worker(): Promise<void> {
    while (next < items.length && !hasFailed) {
      signal.throwIfAborted();
      const at = next++;
      const [item] = items.slice(at, at + 1);
      if (item === undefined) continue;
      try {
        results[at] = await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  }
  const workers = Math.min(parallel, items.length);
  await Promise.all(Array.from({ length: workers }, worker));
  signal.throwIfAborted();
  return results;
}
