/**
 * What the connections of a server share: limits, deadlines, buffers and the
 * date.
 *
 * @module
 */

import { BufferPool, type ByteBudget } from "../connection_memory.ts";
import { type Clock, steadyClock } from "../clock.ts";
import type { HttpHandler, HttpPages } from "../http/exchange.ts";
import type { Logger } from "../logger.ts";
import { type Expiring, TimerWheel } from "../timer_wheel.ts";
import type { ConnectionLimits } from "./settings.ts";

/** What a {@linkcode ConnectionContext} is made of. */
interface ContextParts extends
  Pick<
    ConnectionContext,
    "handler" | "pages" | "logger" | "limits" | "budget"
  > {
  /** The time source. */
  readonly clock: Clock;
}

/** Timeouts are seconds here, and longer ticks cost less memory. */
const TICK_MS = 100;

/** The parts that all connections share. */
export class ConnectionContext {
  /** Answers the requests. */
  readonly handler: HttpHandler;
  /** Pages in front of the handler, if there are any. */
  readonly pages?: HttpPages | undefined;
  /** Takes faults of the handler, and lines about clients. */
  readonly logger: Logger;
  /** Bounds of a connection. */
  readonly limits: ConnectionLimits;
  /** What bodies may hold together. */
  readonly budget: ByteBudget;
  /** Whether each answer ends its connection, since the server is going. */
  isDraining = false;
  /**
   * Memory for answers: one that needs more gets its own. A mebibyte is kept
   * while unused.
   */
  readonly outputs = new BufferPool(16_384, 64);
  readonly #clock: Clock;
  /** Measures durations, so that a time of day that is set changes none. */
  readonly #steady: Clock;
  /** The deadlines of all connections. */
  readonly #wheel: TimerWheel;
  /** The second that was written last, and its text. */
  #second = NaN;
  #date = "";

  /** Nothing runs yet. */
  constructor(
    { handler, pages, logger, limits, budget, clock }: ContextParts,
  ) {
    this.handler = handler;
    this.pages = pages;
    this.logger = logger;
    this.limits = limits;
    this.budget = budget;
    this.#clock = clock;
    this.#steady = steadyClock(clock);
    this.#wheel = new TimerWheel(this.#steady, TICK_MS);
  }

  /** A deadline that calls back when it passes, a tick late at most. */
  deadline(onPassed: () => void): Deadline {
    return new Deadline(this.#steady, this.#wheel, onPassed);
  }

  /** The date field of an answer that is sent now. */
  date(): string {
    const second = Math.floor(this.#clock.nowMs() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = new Date(second * 1000).toUTCString();
    }
    return this.#date;
  }
}

/**
 * One deadline. Stopping it leaves it in the timer wheel; when the wheel calls
 * it, it checks what was set meanwhile, which is mostly later. So a deadline
 * that is set for each request seldom touches the wheel.
 */
export class Deadline implements Expiring {
  /** Kept by the timer wheel. */
  wheelTick: number | undefined = undefined;
  readonly #clock: Clock;
  readonly #wheel: TimerWheel;
  readonly #onPassed: () => void;
  #atMs = Infinity;
  /** When the wheel calls it; Infinity while it is not in the wheel. */
  #looksAtMs = Infinity;

  /** No deadline yet; `onPassed` is called once for each that passes. */
  constructor(clock: Clock, wheel: TimerWheel, onPassed: () => void) {
    this.#clock = clock;
    this.#wheel = wheel;
    this.#onPassed = onPassed;
  }

  /** Sets it to `delayMs` from now, whatever it was. */
  start(delayMs: number): void {
    this.#atMs = this.#clock.nowMs() + delayMs;
    if (this.#atMs < this.#looksAtMs) this.#look(delayMs);
  }

  /** Lifts it; harmless when it is not set. */
  stop(): void {
    this.#atMs = Infinity;
  }

  /** Lifts it and leaves the wheel. */
  end(): void {
    this.stop();
    this.#looksAtMs = Infinity;
    this.#wheel.remove(this);
  }

  /** Called by the wheel. */
  expire(): void {
    this.#looksAtMs = Infinity;
    if (this.#atMs === Infinity) return;
    const leftMs = this.#atMs - this.#clock.nowMs();
    if (leftMs > 0) return this.#look(leftMs);
    this.#atMs = Infinity;
    this.#onPassed();
  }

  #look(delayMs: number): void {
    this.#looksAtMs = this.#atMs;
    this.#wheel.add(this, delayMs);
  }
}
