/**
 * A clock and clients that tests of connections work by hand.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";
import type {
  RedisArgument,
  RedisClient,
  RedisClientOptions,
} from "./client.ts";

/** A clock that stands still until it is moved. */
export class HandClock implements Clock {
  #nowMs = 1_000_000;
  readonly #timers = new Set<{ dueMs: number; callback: () => void }>();

  /** Number of timers that are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** The time. */
  nowMs(): number {
    return this.#nowMs;
  }

  /** Sets a timer. */
  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** Moves the time on, calls what is due, and lets promises settle. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ dueMs }) => dueMs <= endMs)
        .sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** One dialled client, whose server is the test. */
export class HandClient implements RedisClient {
  /** What it was made with. */
  readonly options: RedisClientOptions;
  /** Commands sent that are not answered yet, PING included. */
  readonly sent: Array<{
    readonly command: readonly RedisArgument[];
    readonly resolve: (reply: unknown) => void;
    readonly reject: (error: Error) => void;
  }> = [];
  /** Settles the dial. */
  readonly dial: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  /** How often it was destroyed. */
  destroyed = 0;

  /** Makes a client that is not dialled. */
  constructor(options: RedisClientOptions) {
    this.options = options;
  }

  /** Waits for {@linkcode HandClient.dial}. */
  connect(): Promise<void> {
    return this.dial.promise;
  }

  /** Keeps a command for the test to answer. */
  send(command: readonly RedisArgument[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.sent.push({ command, resolve, reject });
    return promise;
  }

  /** Fails what waits, as the package does. */
  destroy(): void {
    this.destroyed++;
    this.dial.reject(new Error("destroyed"));
    for (const { reject } of this.sent.splice(0)) {
      reject(new Error("destroyed"));
    }
  }

  /** Lets the dial succeed and answers the PING. */
  async accept(): Promise<void> {
    this.dial.resolve();
    await settle();
    this.sent.shift()?.resolve("PONG");
    await settle();
  }

  /** Fails as a lost socket does. */
  async lose(error = new Error("lost")): Promise<void> {
    this.options.onError(error);
    for (const { reject } of this.sent.splice(0)) reject(error);
    await settle();
  }
}

/** Lets promises that can settle do so. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
