/**
 * What a store does while a server is down: calls wait for a first connection,
 * each until its own deadline; the server is dialled again after growing waits;
 * and each reason is logged once.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";

/** How long a server may be silent, in milliseconds. */
export interface Silence {
  /** Until it is out. */
  readonly limitMs: number;
  /** Until a probe is sent, in the first part of the limit. */
  readonly doubtMs: number;
  /** That a probe waits, the rest of the limit. */
  readonly probeMs: number;
}

/** Bounds on calls to a server. */
interface CallBounds {
  /** The time limit of calls in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Milliseconds that commands may wait to be written together; a quarter of
   * the time limit at most counts.
   *
   * @default 0
   */
  readonly pipelineWindowMs?: number | undefined;
}

const MAX_SILENCE_MS = 1_500;

/**
 * Returns how long a server may be silent: as long as calls may take, and
 * however long that is, no longer than a second and a half, and four windows.
 */
export function computeSilence(
  { timeoutMs, pipelineWindowMs = 0 }: CallBounds,
): Silence {
  const windowMs = Math.min(pipelineWindowMs, timeoutMs / 4);
  const limitMs = Math.min(timeoutMs, MAX_SILENCE_MS + 4 * windowMs);
  const doubtMs = windowMs + (limitMs - 2 * windowMs) / 4;
  return { limitMs, doubtMs, probeMs: limitMs - doubtMs };
}

/** A call that waits for a connection. */
export interface WaitingCall {
  /** When the call is given up, in milliseconds by the clock. */
  readonly deadlineMs: number;
  /** Answers the call as unavailable. */
  fail(reason: string): void;
}

/** How {@linkcode WaitingCalls} are made. */
export interface WaitingCallsOptions {
  /** The time limit of calls in milliseconds. */
  readonly timeoutMs: number;
  /** Gives the time. */
  readonly clock: Clock;
}

/** Most calls that may wait at a time. */
const MAX_WAITING_CALLS = 10_000;

/**
 * Keeps calls in order, each until its deadline at most, and all of them
 * together for no longer than a server may be silent.
 */
export class WaitingCalls<Call extends WaitingCall> {
  readonly #options: WaitingCallsOptions;
  #calls: Call[] = [];
  readonly #limitMs: number;
  /** When all calls fail that wait, until they are taken. */
  #endMs = Infinity;
  #timer: Timer | undefined;
  #timerMs = Infinity;

  /** Makes an empty queue. */
  constructor(options: WaitingCallsOptions) {
    this.#options = options;
    this.#limitMs = computeSilence(options).limitMs;
  }

  /**
   * Lets a call wait, or fails it when {@linkcode MAX_WAITING_CALLS} wait
   * already, or when calls have waited for too long.
   */
  add(call: Call): void {
    const nowMs = this.#options.clock.nowMs();
    this.#endMs = Math.min(this.#endMs, nowMs + this.#limitMs);
    if (this.#calls.length >= MAX_WAITING_CALLS) {
      call.fail(`${MAX_WAITING_CALLS} calls wait for a connection already`);
    } else if (nowMs >= this.#endMs) {
      call.fail(`no connection within ${this.#limitMs} ms`);
    } else {
      this.#calls.push(call);
      this.#watch(Math.min(call.deadlineMs, this.#endMs));
    }
  }

  /** Returns all calls in order, and empties the queue. */
  take(): readonly Call[] {
    this.#timer?.cancel();
    this.#timerMs = Infinity;
    this.#endMs = Infinity;
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** Answers all calls as unavailable. */
  failAll(reason: string): void {
    for (const call of this.take()) call.fail(reason);
  }

  /** Sets a timer for `deadlineMs`, unless an earlier one is set already. */
  #watch(deadlineMs: number): void {
    if (deadlineMs >= this.#timerMs) return;
    const { clock } = this.#options;
    this.#timer?.cancel();
    this.#timerMs = deadlineMs;
    this.#timer = clock.setTimer(
      () => this.#failLate(),
      Math.max(0, deadlineMs - clock.nowMs()),
    );
  }

  /**
   * Fails the calls whose time is over. These need not be the first: a call
   * that another server has sent here has less time left.
   */
  #failLate(): void {
    const { clock, timeoutMs } = this.#options;
    this.#timerMs = Infinity;
    const nowMs = clock.nowMs();
    const isLate = ({ deadlineMs }: Call): boolean =>
      Math.min(deadlineMs, this.#endMs) <= nowMs;
    const late = this.#calls.filter(isLate);
    this.#calls = this.#calls.filter((call) => !isLate(call));
    for (const call of late) call.fail(`no connection within ${timeoutMs} ms`);
    for (const { deadlineMs } of this.#calls) {
      this.#watch(Math.min(deadlineMs, this.#endMs));
    }
  }
}

const FIRST_MS = 50;
const MAX_MS = 2_000;

/**
 * Returns the milliseconds to wait after so many failures in a row: twice as
 * long each time up to two seconds, of which a random half is left out, so that
 * many clients do not all dial in the same moment.
 *
 * @param failures Failed attempts in a row, at least 1.
 * @param random Gives a number from 0 up to, not including, 1.
 */
export function redialDelayMs(failures: number, random: () => number): number {
  const ceiling = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 16), MAX_MS);
  return ceiling / 2 + random() * ceiling / 2;
}

/** Most different reasons that are logged during one outage. */
const MAX_REASONS = 5;

/** Logs why a server is down, each reason once until the outage is over. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #message: string;
  readonly #reasons = new Set<string>();

  /** Makes a log that writes `message` with each reason. */
  constructor(logger: Logger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  /** Logs a reason, unless it was logged before or too many others were. */
  note(reason: string): void {
    if (this.#reasons.has(reason) || this.#reasons.size >= MAX_REASONS) return;
    this.#reasons.add(reason);
    this.#logger.warn(this.#message, { reason });
  }

  /** Ends the outage: reasons of the next one are logged again. */
  end(): void {
    this.#reasons.clear();
  }
}
