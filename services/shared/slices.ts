/**
 * Makes long work yield: it is done in slices of a few milliseconds, and
 * between two of them the event loop does everything else.
 *
 * All work of one {@linkcode Slices} shares its slices, one for each round of
 * the event loop, so that ten pieces of long work hold the others no longer
 * than one.
 *
 * ```ts
 * const pausing = slices.open();
 * for (const item of items) {
 *   work(item);
 *   await pausing.pause();
 * }
 * ```
 *
 * Code with its own scheduler uses {@linkcode afterLook} to wait until the
 * event loop has polled its sockets.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** Work that can be interrupted. */
export interface Pausing {
  /**
   * Yields when the slice is over. To be called between slices of long work,
   * after about a millisecond of it or less, and before heavy work that follows
   * a wait; a call that does not yield costs next to nothing.
   *
   * @returns `undefined` when the work may continue at once, so
   * `const wait = pausing.pause(); if (wait !== undefined) await wait;` is the
   * cheapest way to call it in a loop.
   */
  pause(): Promise<void> | undefined;
}

/** Options of {@linkcode Slices}. */
interface SlicesOptions {
  /**
   * How long a slice is, in milliseconds.
   * @default {4}
   */
  readonly sliceMs?: number;
  /**
   * Milliseconds of a clock that only goes forward.
   * @default performance.now()
   */
  readonly monotonicMs?: () => number;
  /**
   * Calls back in a later round of the event loop, when it has polled its
   * sockets and timers.
   * @default setTimeout() without a delay; setImmediate() would starve the
   * sockets
   */
  readonly later?: (callback: () => void) => void;
}

/**
 * Work that never yields: it is short, or nothing else runs beside it.
 */
export const NEVER_PAUSING: Pausing = { pause: () => undefined };

/** Schedules slices. */
export class Slices {
  readonly #sliceMs: number;
  readonly #monotonicMs: () => number;
  readonly #later: (callback: () => void) => void;
  #waiting: (() => void)[] = [];

  /** No work has begun. */
  constructor(options: SlicesOptions = {}) {
    this.#sliceMs = options.sliceMs ?? 4;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#later = options.later ?? ((callback) => void setTimeout(callback, 0));
  }

  /** Begins a piece of work; its first slice begins now. */
  open(): Pausing {
    let sinceMs = this.#monotonicMs();
    return {
      pause: () => {
        if (this.#monotonicMs() - sinceMs < this.#sliceMs) return undefined;
        return this.#wait().then(() => {
          sinceMs = this.#monotonicMs();
        });
      },
    };
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) this.#later(() => this.#resume());
    });
  }

  #resume(): void {
    // Few pieces of work wait at a time, so shifting the array is cheap.
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#later(() => this.#resume());
  }
}

/** More than the 61 rounds after which the runtime polls its sockets. */
const ROUNDS_FOR_LOOK = 64;

/**
 * Calls back when the event loop has polled its sockets. While it has something
 * to do in every round it polls them only after 61 rounds, however long these
 * take; so these here are empty, which takes less than a tenth of a
 * millisecond.
 */
export function afterLook(callback: () => void): void {
  let left = ROUNDS_FOR_LOOK;
  const next = (): void => {
    if (left-- === 0) callback();
    else setImmediate(next);
  };
  next();
}
