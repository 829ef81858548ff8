/**
 * Runs many deadlines on one timer. Setting and removing a deadline is cheap,
 * which matters where nearly all are removed again, such as those of calls.
 *
 * @module
 */

import type { Clock, Timer } from "./clock.ts";

/** Something with a deadline; an object has one deadline at most. */
export interface Expiring {
  /** The tick of its deadline; set by the wheel, undefined without one. */
  wheelTick: number | undefined;
  /** Called once when the deadline passes; may set another one. */
  expire(): void;
}

/** The longest delay that timers take. */
const MAX_DELAY_MS = 0x7fff_ffff;

/** Deadlines, gathered by the tick in which they pass. */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #tickMs: number;
  readonly #ticks = new Map<number, Set<Expiring>>();
  #timer: Timer | undefined;
  #timerTick = Infinity;

  /**
   * A wheel without deadlines; a timer runs only while there are some. Entries
   * expire up to `tickMs` late, never early.
   */
  constructor(clock: Clock, tickMs = 10) {
    this.#clock = clock;
    this.#tickMs = tickMs;
  }

  /** Sets the deadline of `item` to `delayMs` from now, in place of another. */
  add(item: Expiring, delayMs: number): void {
    this.remove(item);
    const atMs = this.#clock.nowMs() + Math.max(0, delayMs);
    const tick = Math.ceil(atMs / this.#tickMs);
    let items = this.#ticks.get(tick);
    if (items === undefined) {
      items = new Set();
      this.#ticks.set(tick, items);
      if (tick < this.#timerTick) this.#arm(tick);
    }
    items.add(item);
    item.wheelTick = tick;
  }

  /** Removes the deadline of `item`; harmless when it has none. */
  remove(item: Expiring): void {
    const tick = item.wheelTick;
    if (tick === undefined) return;
    item.wheelTick = undefined;
    const items = this.#ticks.get(tick);
    items?.delete(item);
    if (items?.size === 0) {
      this.#ticks.delete(tick);
      // With the last deadline the timer must go, or it would hold a process
      // back; while others remain it may fire in vain.
      if (this.#ticks.size === 0) this.#disarm();
    }
  }

  #arm(tick: number): void {
    this.#timer?.cancel();
    this.#timerTick = tick;
    const delayMs = tick * this.#tickMs - this.#clock.nowMs();
    this.#timer = this.#clock.setTimer(
      () => this.#fire(),
      Math.min(Math.max(0, delayMs), MAX_DELAY_MS),
    );
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerTick = Infinity;
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerTick = Infinity;
    const nowTick = Math.floor(this.#clock.nowMs() / this.#tickMs);
    const due = [...this.#ticks.keys()].filter((tick) => tick <= nowTick);
    for (const tick of due.sort((a, b) => a - b)) this.#expire(tick);
    let next = Infinity;
    for (const tick of this.#ticks.keys()) if (tick < next) next = tick;
    if (next < this.#timerTick) this.#arm(next);
  }

  #expire(tick: number): void {
    const items = this.#ticks.get(tick);
    if (items === undefined) return;
    // An item may remove others, or set its next deadline in the same tick.
    for (const item of [...items]) {
      if (item.wheelTick !== tick) continue;
      this.remove(item);
      item.expire();
    }
  }
}
