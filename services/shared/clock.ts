/**
 * Time as a part that can be replaced.
 *
 * @module
 */

/** A timer that has been set. */
export interface Timer {
  /** Stops the timer; harmless when it has fired already. */
  cancel(): void;
}

/** What the services know of time. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  nowMs(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  setTimer(callback, delayMs) {
    const id = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(id) };
  },
};
