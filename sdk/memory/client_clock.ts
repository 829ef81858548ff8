/**
 * Time as a part that tests replace.
 *
 * @module
 */

/** A timer that has been set. */
export interface ClientTimer {
  /** Stops the timer; harmless when it has fired already. */
  cancel(): void;
}

/** What the client knows of time. */
export interface ClientClock {
  /** Milliseconds since the Unix epoch, UTC. */
  nowMs(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now. */
  setTimer(callback: () => void, delayMs: number): ClientTimer;
}

/** The longest delay that the runtimes' timers know; more of it fires at once. */
const MAX_DELAY_MS = 2_147_483_647;

/** The clock of the machine. */
export const machineClock: ClientClock = {
  nowMs: () => Date.now(),
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
