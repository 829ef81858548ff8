/**
 * Work that has to be over by some time, or when nobody waits any more.
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
