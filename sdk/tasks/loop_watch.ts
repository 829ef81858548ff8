/**
 * Notices when the event loop is blocked: its own timer then fires late.
 *
 * @module
 */

import {
  type ClientClock,
  type ClientTimer,
  steadyMs,
} from "../memory/client_clock.ts";

/** Milliseconds from one look to the next. */
const EVERY_MS = 250;

/** Looks regularly how late the event loop is. */
export class LoopWatch {
  readonly #clock: ClientClock;
  readonly #onLook: (blockedMs: number) => boolean;
  #timer: ClientTimer | undefined;
  #lookedAtMs = 0;

  /** Looks for the first time when it is asked to. */
  constructor({ clock, onLook }: {
    /** Tells the time and sets the timer. */
    readonly clock: ClientClock;
    /**
     * Called with the milliseconds for which the event loop was blocked since
     * the look before. Returns whether to look again.
     */
    readonly onLook: (blockedMs: number) => boolean;
  }) {
    this.#clock = clock;
    this.#onLook = onLook;
  }

  /** Looks now, and again and again until `onLook` says to stop. */
  look(): void {
    const nowMs = steadyMs(this.#clock);
    const blockedMs = this.#timer === undefined
      ? 0
      : Math.max(0, nowMs - this.#lookedAtMs - EVERY_MS);
    this.stop();
    this.#lookedAtMs = nowMs;
    if (!this.#onLook(blockedMs)) return;
    this.#timer = this.#clock.setTimer(() => this.look(), EVERY_MS);
  }

  /** Looks no more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
