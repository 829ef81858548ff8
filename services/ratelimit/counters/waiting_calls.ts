/**
 * Calls that wait until a server is reached, each until its own deadline.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";

/** A call that waits. */
export interface WaitingCall {
  /** When it is given up, in milliseconds by the clock. */
  readonly deadlineMs: number;
  /** Answers it as unavailable. */
  fail(reason: string): void;
}

/** How {@linkcode WaitingCalls} are made. */
export interface WaitingCallsOptions {
  /** The usual time limit in milliseconds; it is named in the reason. */
  readonly timeoutMs: number;
  /** The time. */
  readonly clock: Clock;
}

/** Calls that may wait at a time. */
export const MAX_WAITING_CALLS = 10_000;

/** Keeps calls in order, each until its deadline at most. */
export class WaitingCalls<Call extends WaitingCall> {
  readonly #options: WaitingCallsOptions;
  #calls: Call[] = [];
  #timer: Timer | undefined;

  /** A queue without calls. */
  constructor(options: WaitingCallsOptions) {
    this.#options = options;
  }

  /** Lets a call wait; false when {@linkcode MAX_WAITING_CALLS} do already. */
  add(call: Call): boolean {
    if (this.#calls.length >= MAX_WAITING_CALLS) return false;
    this.#calls.push(call);
    this.#watch();
    return true;
  }

  /** Returns all calls, the first one first; they no longer wait. */
  take(): readonly Call[] {
    this.#timer?.cancel();
    this.#timer = undefined;
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** Answers all as unavailable. */
  failAll(reason: string): void {
    for (const call of this.take()) call.fail(reason);
  }

  /** Deadlines are of one length, so the first call is the first to end. */
  #watch(): void {
    const first = this.#calls[0];
    if (first === undefined || this.#timer !== undefined) return;
    const { clock, timeoutMs } = this.#options;
    this.#timer = clock.setTimer(() => {
      this.#timer = undefined;
      const nowMs = clock.nowMs();
      const late = this.#calls.filter((call) => call.deadlineMs <= nowMs);
      this.#calls = this.#calls.filter((call) => call.deadlineMs > nowMs);
      for (const call of late) {
        call.fail(`no connection within ${timeoutMs} ms`);
      }
      this.#watch();
    }, Math.max(0, first.deadlineMs - clock.nowMs()));
  }
}
