/**
 * What the connections of a public server have in common.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { TimerWheel } from "../timer_wheel.ts";
import type { Logger } from "../logger.ts";
import type { BodyBudget } from "./body_budget.ts";
import type { HttpHandler } from "./exchange.ts";
import { PublicDate } from "./public_date.ts";
import { PublicDeadline } from "./public_deadline.ts";
import type { PublicLimits } from "./public_limits.ts";
import { PublicOutputs } from "./public_outputs.ts";

/** Options of {@linkcode PublicEngine}. */
interface PublicEngineOptions {
  /** Answers the requests. */
  readonly handler: HttpHandler;
  /** Takes faults of the handler, and lines about clients. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
  /** Bounds of a connection. */
  readonly limits: PublicLimits;
  /** What bodies may hold together. */
  readonly budget: BodyBudget;
}

/** Seconds matter here, and fewer ticks are less to keep. */
const TICK_MS = 100;

/** The parts that all connections share. */
export class PublicEngine {
  /** Answers the requests. */
  readonly handler: HttpHandler;
  /** Takes faults of the handler, and lines about clients. */
  readonly logger: Logger;
  /** Bounds of a connection. */
  readonly limits: PublicLimits;
  /** What bodies may hold together. */
  readonly budget: BodyBudget;
  /** Memory for answers. */
  readonly outputs = new PublicOutputs();
  readonly #clock: Clock;
  /** The deadlines of all connections. */
  readonly #wheel: TimerWheel;
  readonly #date = new PublicDate();

  /** Nothing runs yet. */
  constructor(options: PublicEngineOptions) {
    this.handler = options.handler;
    this.logger = options.logger;
    this.limits = options.limits;
    this.budget = options.budget;
    this.#clock = options.clock;
    this.#wheel = new TimerWheel({ clock: options.clock, tickMs: TICK_MS });
  }

  /** A deadline that calls back when it passes, a tick late at most. */
  deadline(onPassed: () => void): PublicDeadline {
    const [clock, wheel] = [this.#clock, this.#wheel];
    return new PublicDeadline({ clock, wheel, onPassed });
  }

  /** The date field of an answer that is sent now. */
  date(): string {
    return this.#date.at(this.#clock.nowMs());
  }
}
