/**
 * A clock that tests replace, and functions that wait by it: pauses, and work
 * with a deadline and abort signals, whether or not the work itself reacts to
 * them.
 *
 * @module
 */

import { type EndSignal, throwIfEnded } from "./life.ts";

/** A timer that has been set. */
export interface ClientTimer {
  /** Stops the timer; harmless when it has fired already. */
  cancel(): void;
}

/** Tells the time and sets timers for a client. */
export interface ClientClock {
  /** Milliseconds since the Unix epoch, UTC. */
  nowMs(): number;
  /**
   * Milliseconds that only go forward, also when the machine's clock is set.
   * Waits are measured with them.
   *
   * @default {nowMs}
   */
  monotonicMs?(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now. */
  setTimer(callback: () => void, delayMs: number): ClientTimer;
}

/** The longest delay of the runtimes' timers; a longer one fires at once. */
const MAX_DELAY_MS = 2_147_483_647;

/** The time as the machine tells it. */
export const machineClock: ClientClock = {
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

/** Milliseconds by which the length of a wait is measured. */
export function steadyMs(clock: ClientClock): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}

/**
 * Waits for some time.
 *
 * @param delayMs milliseconds
 * @param options `clock` sets the timer; `signal` ends the wait early
 * @throws {unknown} The signal's reason, when it ends the wait.
 */
export function pause(
  delayMs: number,
  { clock, signal }: {
    readonly clock: ClientClock;
    readonly signal: EndSignal;
  },
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.setTimer(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** The deadline of some work. */
interface Deadline {
  /** Tells the time and sets the timer. */
  readonly clock: ClientClock;
  /** Milliseconds the work may take; Infinity for any time. */
  readonly timeoutMs: number;
  /** Creates the error for work that missed the deadline. */
  readonly error: () => Error;
}

/** What ends work before it settles by itself. */
interface WorkLimits {
  /**
   * The deadline by which the work must be done.
   *
   * @default none
   */
  readonly deadline?: Deadline;
  /** The first of these signals to abort ends the work with its reason. */
  readonly signals: readonly EndSignal[];
}

/**
 * Runs `work` and settles as it does, or rejects as soon as the deadline passes
 * or a signal aborts. The signal that `work` gets aborts then; what `work` does
 * afterwards is not waited for.
 */
export async function runWithin<T>(
  work: (signal: AbortSignal) => Promise<T>,
  limits: WorkLimits,
): Promise<T> {
  for (const signal of limits.signals) throwIfEnded(signal);
  const controller = new AbortController();
  let disarm = (): void => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      disarm = armLimits(limits, (reason) => {
        reject(reason);
        controller.abort(reason);
      });
      work(controller.signal).then(resolve, reject);
    });
  } finally {
    disarm();
  }
}

/**
 * Calls `end` with the reason when the deadline passes or a signal aborts.
 * Returns what stops that.
 */
export function armLimits(
  { deadline, signals }: WorkLimits,
  end: (reason: unknown) => void,
): () => void {
  const undo: (() => void)[] = [];
  for (const signal of signals) {
    const listener = (): void => end(signal.reason);
    if (signal.aborted) listener();
    signal.addEventListener("abort", listener, { once: true });
    undo.push(() => signal.removeEventListener("abort", listener));
  }
  if (deadline !== undefined && deadline.timeoutMs !== Infinity) {
    const { clock, timeoutMs, error } = deadline;
    const timer = clock.setTimer(() => end(error()), timeoutMs);
    undo.push(() => timer.cancel());
  }
  return () => {
    for (const step of undo) step();
  };
}
