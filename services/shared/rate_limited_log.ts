/**
 * Warnings about what clients do, which clients must not be able to turn into
 * a flood.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./logger.ts";

/** Least time between two warnings of a kind. */
const PAUSE_MS = 60_000;

/** A kind of warning, given once a minute at most. */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  #nextMs = -Infinity;

  /** The first one is given at once. */
  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Warns, unless it has within the last minute. */
  warn(message: string, fields: LogFields): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + PAUSE_MS;
    this.#logger.warn(message, fields);
  }
}
