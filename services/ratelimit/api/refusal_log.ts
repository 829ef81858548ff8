/**
 * Log lines about refused requests, bounded: the first of each kind in a while
 * is a warning, the rest are for those who look for a fault.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { RefusalKind } from "./refusal.ts";

const QUIET_MS = 60_000;

/** Tells of refusals without flooding the log. */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #seen = new Map<
    RefusalKind,
    { readonly sinceMs: number; count: number }
  >();

  /** A log that has seen nothing yet. */
  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Takes one refusal. */
  note(why: RefusalKind, reason: string): void {
    const nowMs = this.#clock.nowMs();
    const seen = this.#seen.get(why);
    if (seen !== undefined && nowMs - seen.sinceMs < QUIET_MS) {
      seen.count++;
      this.#logger.debug("Refused a request", { why, reason });
      return;
    }
    this.#seen.set(why, { sinceMs: nowMs, count: 0 });
    this.#logger.warn(
      "Refused a request; more of this kind are logged at " +
        "debug for a minute",
      {
        why,
        reason,
        sinceLastWarning: seen?.count,
      },
    );
  }
}
