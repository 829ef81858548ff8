/**
 * Lets requests wait until something happens to what they ask for.
 *
 * @module
 */

import type { Clock } from "./clock.ts";

/** Options of {@linkcode Waiters}. */
interface WaitersOptions {
  /** Sets timers. */
  readonly clock: Clock;
  /**
   * Most waits at a time of one owner.
   *
   * @default {10000}
   */
  readonly maxOfOwner?: number | undefined;
  /**
   * Most waits at a time of all owners.
   *
   * @default {10000}
   */
  readonly maxWaiters?: number | undefined;
}

/** One wait. */
export interface Wait {
  /**
   * Resolves when `tell()` or `stop()` is called, the time is over or the client
   * has gone.
   */
  readonly over: Promise<void>;
  /** Ends the wait; to be called in any case. */
  readonly leave: () => void;
}

/** What is waited for, and how long. */
interface WaitRequest {
  /** Whose wait it is; owners have bounds of their own. */
  readonly owner: string;
  /** Names what is waited for. */
  readonly key: string;
  /** The longest time in milliseconds; 0 for no wait. */
  readonly waitMs: number;
  /**
   * Calls the listener once when the client goes away; returns a function that
   * removes the listener.
   */
  readonly onGone: (listener: () => void) => () => void;
}

/** Requests that wait. */
export class Waiters {
  readonly #options: WaitersOptions;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #ofOwners = new Map<string, number>();
  #count = 0;
  #isStopped = false;

  /** Makes a list without any waiting request. */
  constructor(options: WaitersOptions) {
    this.#options = options;
  }

  /** How many requests wait. */
  get count(): number {
    return this.#count;
  }

  /** What is waited for, by its names. */
  get keys(): Iterable<string> {
    return this.#waiting.keys();
  }

  /**
   * Begins a wait; undefined when there must be none: the request is then
   * answered at once. It begins before the state is read, so that a change
   * during the read is not missed.
   */
  enter({ owner, key, waitMs, onGone }: WaitRequest): Wait | undefined {
    const { clock, maxOfOwner = 10_000, maxWaiters = 10_000 } = this.#options;
    const ofOwner = this.#ofOwners.get(owner) ?? 0;
    const isFull = ofOwner >= maxOfOwner || this.#count >= maxWaiters;
    if (waitMs <= 0 || this.#isStopped || isFull) return undefined;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    waiting.add(resolve);
    this.#ofOwners.set(owner, ofOwner + 1);
    this.#count++;
    const timer = clock.setTimer(resolve, waitMs);
    const removeListener = onGone(resolve);
    return {
      over,
      leave: () => {
        timer.cancel();
        removeListener();
        waiting.delete(resolve);
        this.#count--;
        if (waiting.size === 0) this.#waiting.delete(key);
        const left = (this.#ofOwners.get(owner) ?? 1) - 1;
        if (left === 0) this.#ofOwners.delete(owner);
        else this.#ofOwners.set(owner, left);
      },
    };
  }

  /** Ends the waits for what a key names. */
  tell(key: string): void {
    for (const resolve of this.#waiting.get(key) ?? []) resolve();
  }

  /** Ends all waits, and lets none begin. */
  stop(): void {
    this.#isStopped = true;
    for (const waiting of this.#waiting.values()) {
      for (const resolve of waiting) resolve();
    }
  }
}
