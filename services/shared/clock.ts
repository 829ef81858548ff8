/**
 * The clock of the services, which tests replace: time of day, monotonic time
 * and timers.
 *
 * @module
 */

/** A timer that has been set. */
export interface Timer {
  /** Stops the timer; harmless when it has fired already. */
  cancel(): void;
}

/** Tells the time and sets timers. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  nowMs(): number;
  /**
   * Milliseconds since an arbitrary instant. It only increases, whatever the
   * time of day is set to; whether it does while the machine sleeps depends on
   * the system. Absent when the time of day is never set.
   */
  monotonicMs?(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

/**
 * The longest delay that the runtime's timers take; longer ones fire at once.
 */
const MAX_DELAY_MS = 2_147_483_647;

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(callback, delayMs) {
    let id: ReturnType<typeof setTimeout>;
    const wait = (leftMs: number): void => {
      id = leftMs <= MAX_DELAY_MS
        ? setTimeout(callback, leftMs)
        : setTimeout(() => wait(leftMs - MAX_DELAY_MS), MAX_DELAY_MS);
    };
    wait(delayMs);
    return { cancel: () => clearTimeout(id) };
  },
};

/**
 * Milliseconds that are only comparable with other readings of the same clock:
 * its monotonic time, or its time of day where it has no other.
 */
export function steadyMs(clock: Pick<Clock, "nowMs" | "monotonicMs">): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}

/**
 * A clock for durations: the same timers, and a time that only increases, so
 * that a deadline is kept even when the time of day is set back meanwhile. Its
 * `nowMs` counts from an arbitrary instant.
 */
export function steadyClock(clock: Clock): Clock {
  if (clock.monotonicMs === undefined) return clock;
  return {
    nowMs: () => steadyMs(clock),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
  };
}
