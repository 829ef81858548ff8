/**
 * What a store does while a server is down: calls wait, each until its own
 * deadline; the server is dialled again after growing waits; and each reason is
 * logged once.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";

/** A call that waits for a connection. */
export interface WaitingCall {
  /** When the call is given up, in milliseconds by the clock. */
  readonly deadlineMs: number;
  /** Answers the call as unavailable. */
  fail(reason: string): void;
}

/** How {@linkcode WaitingCalls} are made. */
export interface WaitingCallsOptions {
  /** The usual time limit in milliseconds, which the reason names. */
  readonly timeoutMs: number;
  /** Gives the time. */
  readonly clock: Clock;
}

/** Most calls that may wait at a time. */
export const MAX_WAITING_CALLS = 10_000;

/** Keeps calls in order, each until its deadline at most. */
export class WaitingCalls<Call extends WaitingCall> {
  readonly #options: WaitingCallsOptions;
  #calls: Call[] = [];
  #timer: Timer | undefined;
  #timerMs = Infinity;

  /** Makes an empty queue. */
  constructor(options: WaitingCallsOptions) {
    this.#options = options;
  }

  /**
   * Lets a call wait; false when {@linkcode MAX_WAITING_CALLS} wait already.
   */
  add(call: Call): boolean {
    if (this.#calls.length >= MAX_WAITING_CALLS) return false;
    this.#calls.push(call);
    this.#watch(call.deadlineMs);
    return true;
  }

  /** Returns all calls in order, and empties the queue. */
  take(): readonly Call[] {
    this.#timer?.cancel();
    this.#timerMs = Infinity;
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
    const late = this.#calls.filter((call) => call.deadlineMs <= nowMs);
    this.#calls = this.#calls.filter((call) => call.deadlineMs > nowMs);
    for (const call of late) call.fail(`no connection within ${timeoutMs} ms`);
    for (const { deadlineMs } of this.#calls) this.#watch(deadlineMs);
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
