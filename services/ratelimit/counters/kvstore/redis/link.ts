/**
 * What callers of one server, of a failover group and of a cluster have in
 * common: the link, and the calls that wait for it.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { RedisCommand } from "./client.ts";
import type { RedisOutcome } from "./reply.ts";

/** A way to carry out commands that recovers by itself. */
export interface RedisLink {
  /** True while some server can be expected to answer. */
  readonly isUp: boolean;
  /** Begins to connect. */
  start(): void;
  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void;
  /**
   * Carries out commands. Those of one server travel in one write and are
   * carried out in their order.
   *
   * @param deadlineMs When to give up, by the clock.
   * @returns A promise that never rejects.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome>;
}

/** How {@linkcode WaitingCalls} are made. */
interface WaitingCallsOptions {
  /** The time limit of a call, as told to those whose time is over. */
  readonly timeoutMs: number;
  /** The time. */
  readonly clock: Clock;
}

/** Sends commands, giving up at `deadlineMs` by the clock. */
export type RedisSend = (
  commands: readonly RedisCommand[],
  deadlineMs: number,
) => Promise<RedisOutcome>;

interface Waiter {
  readonly commands: readonly RedisCommand[];
  readonly deadlineMs: number;
  readonly resolve: (outcome: RedisOutcome) => void;
}

/** Calls that may wait at a time. */
const MAX_WAITING = 10_000;

/**
 * Keeps calls until there is something to send them over, each until its own
 * deadline at most.
 */
export class WaitingCalls {
  readonly #options: WaitingCallsOptions;
  #waiters: Waiter[] = [];
  #timer: Timer | undefined;

  /** A queue without calls. */
  constructor(options: WaitingCallsOptions) {
    this.#options = options;
  }

  /** Waits with some commands; at once unavailable when too many wait. */
  add(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    if (this.#waiters.length >= MAX_WAITING) {
      return Promise.resolve({
        kind: "unavailable",
        reason: `${MAX_WAITING} calls wait for a connection already`,
      });
    }
    return new Promise((resolve) => {
      this.#waiters.push({ commands, deadlineMs, resolve });
      this.#watch();
    });
  }

  /** Sends what waits, in the order of its coming. */
  release(send: RedisSend): void {
    for (const { commands, deadlineMs, resolve } of this.#take()) {
      send(commands, deadlineMs).then(resolve);
    }
  }

  /** Answers all that wait as unavailable. */
  giveUp(reason: string): void {
    for (const { resolve } of this.#take()) {
      resolve({ kind: "unavailable", reason });
    }
  }

  #take(): readonly Waiter[] {
    this.#timer?.cancel();
    this.#timer = undefined;
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }

  /** Answers waiters whose time is over; the first one is the first to be. */
  #watch(): void {
    const first = this.#waiters[0];
    if (first === undefined || this.#timer !== undefined) return;
    const { clock, timeoutMs } = this.#options;
    this.#timer = clock.setTimer(() => {
      this.#timer = undefined;
      const now = clock.nowMs();
      const reason = `no connection within ${timeoutMs} ms`;
      const over = this.#waiters.filter((waiter) => waiter.deadlineMs <= now);
      this.#waiters = this.#waiters.filter((waiter) => waiter.deadlineMs > now);
      for (const { resolve } of over) resolve({ kind: "unavailable", reason });
      this.#watch();
    }, Math.max(0, first.deadlineMs - clock.nowMs()));
  }
}
