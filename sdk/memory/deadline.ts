/**
 * Work that ends by a deadline or by an abort, whether it listens or not.
 *
 * @module
 */

import type { ClientClock } from "./client_clock.ts";

/** By when work must be done. */
export interface Deadline {
  /** Tells when that is. */
  readonly clock: ClientClock;
  /** Milliseconds the work may take; Infinity for any time. */
  readonly timeoutMs: number;
  /** Makes the error of a deadline that passed. */
  readonly error: () => Error;
}

/** What ends work early. */
export interface WorkLimits {
  /**
   * By when it must be done.
   *
   * @default none
   */
  readonly deadline?: Deadline;
  /** Whichever of them aborts ends the work with its reason. */
  readonly signals: readonly AbortSignal[];
}

/**
 * Runs `work` and settles as it does, or rejects as soon as a limit is met. The
 * work's own signal aborts then; what it does later is not waited for.
 */
export async function runWithin<T>(
  work: (signal: AbortSignal) => Promise<T>,
  limits: WorkLimits,
): Promise<T> {
  const { deadline, signals } = limits;
  for (const signal of signals) signal.throwIfAborted();
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  try {
    return await new Promise<T>((resolve, reject) => {
      const end = (reason: unknown): void => {
        reject(reason);
        controller.abort(reason);
      };
      for (const signal of signals) {
        const listener = (): void => end(signal.reason);
        signal.addEventListener("abort", listener, { once: true });
        undo.push(() => signal.removeEventListener("abort", listener));
      }
      if (deadline !== undefined && deadline.timeoutMs !== Infinity) {
        const { clock, timeoutMs, error } = deadline;
        const timer = clock.setTimer(() => end(error()), timeoutMs);
        undo.push(() => timer.cancel());
      }
      work(controller.signal).then(resolve, reject);
    });
  } finally {
    for (const step of undo) step();
  }
}
