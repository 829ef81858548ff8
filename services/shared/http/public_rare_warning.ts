/**
 * Warnings about what strangers do, which must not become a flood themselves.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { LogFields, Logger } from "../logger.ts";

/** Options of {@linkcode RareWarning}. */
export interface RareWarningOptions {
  /** Takes the warnings. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
}

/** Least time between two warnings of a kind. */
const PAUSE_MS = 60_000;

/** A kind of warning, given once a minute at most. */
export class RareWarning {
  readonly #options: RareWarningOptions;
  #nextMs = -Infinity;

  /** The first one is given at once. */
  constructor(options: RareWarningOptions) {
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
