/**
 * Warnings about what clients do, which clients must not be able to turn into
 * a flood.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./logger.ts";

/** Options of {@linkcode RateLimitedLog}. */
interface RateLimitedLogOptions {
  /** Takes the warnings. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
}

/** Least time between two warnings of a kind. */
const PAUSE_MS = 60_000;

/** A kind of warning, given once a minute at most. */
export class RateLimitedLog {
  readonly #options: RateLimitedLogOptions;
  #nextMs = -Infinity;

  /** The first one is given at once. */
  constructor(options: RateLimitedLogOptions) {
    this.#options = options;
  }

  /** Warns, unless it has within the last minute. */
  warn(message: string, fields: LogFields): void {
    const { logger, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + PAUSE_MS;
    logger.warn(message, fields);
  }
}
