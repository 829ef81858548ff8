/**
 * The clock of a simulated machine: its time of day differs from that of others
 * and can be set, and the machine can stand still for a while.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/**
 * A clock that differs from the real time. While it is stalled, as by a SIGSTOP
 * or a long garbage collection, no timer fires; afterwards all do that are due.
 */
export class MachineClock implements Clock {
  readonly #time: SteppingClock;
  #skewMs: number;
  #backlog: (() => void)[] = [];
  #stall: PromiseWithResolvers<void> | undefined;
  #wokeAtMs = -Infinity;

  /** Takes the real time, and by how much this clock is ahead of it. */
  constructor(time: SteppingClock, skewMs = 0) {
    this.#time = time;
    this.#skewMs = skewMs;
  }

  /** The time of day, as this machine sees it. */
  nowMs(): number {
    return this.#time.nowMs() + this.#skewMs;
  }

  /** The time that has passed; it goes on while the machine is stalled. */
  monotonicMs(): number {
    return this.#time.monotonicMs();
  }

  /** Sets a timer, which waits for the end of a stall. */
  setTimer(callback: () => void, delayMs: number): Timer {
    let run: (() => void) | undefined = callback;
    const fire = (): void => {
      if (this.#stall !== undefined) this.#backlog.push(fire);
      else run?.();
    };
    const timer = this.#time.setTimer(fire, delayMs);
    return {
      cancel() {
        run = undefined;
        timer.cancel();
      },
    };
  }

  /** Sets the time of day forward, or back when `ms` is negative. */
  step(ms: number): void {
    this.#skewMs += ms;
  }

  /** Whether the machine stands still. */
  get isStalled(): boolean {
    return this.#stall !== undefined;
  }

  /** When the last stall has ended, in milliseconds of real passed time. */
  get wokeAtMs(): number {
    return this.#stall === undefined ? this.#wokeAtMs : Infinity;
  }

  /** Lets the machine stand still, unless it does already. */
  stall(ms: number): void {
    if (this.#stall !== undefined) return;
    const stall = Promise.withResolvers<void>();
    this.#stall = stall;
    this.#time.setTimer(() => {
      this.#stall = undefined;
      this.#wokeAtMs = this.#time.elapsedMs;
      const due = this.#backlog;
      this.#backlog = [];
      for (const fire of due) this.#time.setTimer(fire, 0);
      stall.resolve();
    }, ms);
  }

  /** Waits until the machine does not stand still. */
  async awake(): Promise<void> {
    while (this.#stall !== undefined) await this.#stall.promise;
  }
}

/** A clock whose timers are counted, so that they can end with their process. */
export function countedTimers(clock: Clock, timers: Set<Timer>): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs?.() ?? clock.nowMs(),
    setTimer(callback, delayMs) {
      const timer = clock.setTimer(() => {
        timers.delete(handle);
        callback();
      }, delayMs);
      const handle: Timer = {
        cancel() {
          timers.delete(handle);
          timer.cancel();
        },
      };
      timers.add(handle);
      return handle;
    },
  };
}
