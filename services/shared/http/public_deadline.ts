/**
 * A deadline that is set and lifted with every request and passes almost never.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { Expiring, TimerWheel } from "../timer_wheel.ts";

/** Options of {@linkcode PublicDeadline}. */
interface PublicDeadlineOptions {
  /** The time source of the wheel. */
  readonly clock: Pick<Clock, "nowMs">;
  /** What it waits on. */
  readonly wheel: TimerWheel;
  /** Called once when it passes. */
  readonly onPassed: () => void;
}

/**
 * One deadline. Its place in the wheel stays when it is lifted, and is looked at
 * when its time has come: what was set meanwhile is mostly later.
 */
export class PublicDeadline implements Expiring {
  /** Kept by the timer wheel. */
  wheelTick: number | undefined = undefined;
  readonly #options: PublicDeadlineOptions;
  #atMs = Infinity;
  /** When the wheel looks at it; Infinity while it is not there. */
  #looksAtMs = Infinity;

  /** No deadline yet. */
  constructor(options: PublicDeadlineOptions) {
    this.#options = options;
  }

  /** Sets it to `delayMs` from now, whatever it was. */
  start(delayMs: number): void {
    this.#atMs = this.#options.clock.nowMs() + delayMs;
    if (this.#atMs < this.#looksAtMs) this.#look(delayMs);
  }

  /** Lifts it; harmless when there is none. */
  stop(): void {
    this.#atMs = Infinity;
  }

  /** Lifts it and leaves the wheel. */
  end(): void {
    this.stop();
    this.#looksAtMs = Infinity;
    this.#options.wheel.remove(this);
  }

  /** Called by the wheel. */
  expire(): void {
    this.#looksAtMs = Infinity;
    if (this.#atMs === Infinity) return;
    const leftMs = this.#atMs - this.#options.clock.nowMs();
    if (leftMs > 0) return this.#look(leftMs);
    this.#atMs = Infinity;
    this.#options.onPassed();
  }

  #look(delayMs: number): void {
    this.#looksAtMs = this.#atMs;
    this.#options.wheel.add(this, delayMs);
  }
}
