/**
 * Commands that wait for a connection.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { MemcachedCommand } from "./command.ts";
import type { MemcachedCall } from "./connection.ts";

/** A command and who waits for its reply. */
export interface MemcachedWaiter {
  /** The command. */
  readonly command: MemcachedCommand;
  /** Its caller. */
  readonly call: MemcachedCall;
}

/** How {@linkcode MemcachedWaiters} are made. */
export interface MemcachedWaitersOptions {
  /** The time. */
  readonly clock: Clock;
  /** The usual time limit in milliseconds; stands in the reason. */
  readonly timeoutMs: number;
}

const MAX_WAITING = 10_000;

/** Keeps commands, each until its deadline at most. */
export class MemcachedWaiters {
  readonly #options: MemcachedWaitersOptions;
  #waiters: MemcachedWaiter[] = [];
  #timer: Timer | undefined;

  /** Nobody waits yet. */
  constructor(options: MemcachedWaitersOptions) {
    this.#options = options;
  }

  /** Lets a command wait; false when too many do already. */
  add(command: MemcachedCommand, call: MemcachedCall): boolean {
    if (this.#waiters.length >= MAX_WAITING) return false;
    this.#waiters.push({ command, call });
    this.#watch();
    return true;
  }

  /** Hands over all commands, the first one first. */
  take(): readonly MemcachedWaiter[] {
    this.#timer?.cancel();
    this.#timer = undefined;
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }

  /** Answers all as unavailable. */
  answerAll(reason: string): void {
    for (const { call } of this.take()) {
      call.done({ kind: "unavailable", reason });
    }
  }

  /** Deadlines are of one length, so the first to come is the first to end. */
  #watch(): void {
    const first = this.#waiters[0];
    if (first === undefined || this.#timer !== undefined) return;
    const { clock, timeoutMs } = this.#options;
    this.#timer = clock.setTimer(() => {
      this.#timer = undefined;
      const nowMs = clock.nowMs();
      const isLate = ({ call }: MemcachedWaiter) => call.deadlineMs <= nowMs;
      const late = this.#waiters.filter(isLate);
      this.#waiters = this.#waiters.filter((waiter) => !isLate(waiter));
      const reason = `no connection within ${timeoutMs} ms`;
      for (const { call } of late) call.done({ kind: "unavailable", reason });
      this.#watch();
    }, Math.max(0, first.call.deadlineMs - clock.nowMs()));
  }
}
