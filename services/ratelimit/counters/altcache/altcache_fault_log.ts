/**
 * Log lines for faults that would otherwise come with every call.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";

/** How an {@linkcode AltcacheFaultLog} is made. */
interface AltcacheFaultLogOptions {
  /** The time. */
  readonly clock: Clock;
  /** Takes the lines. */
  readonly logger: Logger;
  /** The line when a server begins to fail. */
  readonly failing: string;
  /** The line when it works again. */
  readonly working: string;
}

/** A server that failed less than this ago is not said to work again. */
const QUIET_MS = 1_000;

/** Logs when a server begins to fail and when it works again. */
export class AltcacheFaultLog {
  readonly #options: AltcacheFaultLogOptions;
  readonly #failedMs = new Map<string, number>();

  /** A log that assumes that all servers work. */
  constructor(options: AltcacheFaultLogOptions) {
    this.#options = options;
  }

  /** Records that something worked on a server, or why it did not. */
  note(server: string, failure: string | undefined): void {
    const { clock, logger, failing, working } = this.#options;
    const failedMs = this.#failedMs.get(server);
    if (failure !== undefined) {
      this.#failedMs.set(server, clock.nowMs());
      if (failedMs === undefined) {
        logger.warn(failing, { server, reason: failure });
      }
    } else if (
      failedMs !== undefined &&
      Math.abs(clock.nowMs() - failedMs) >= QUIET_MS
    ) {
      this.#failedMs.delete(server);
      logger.info(working, { server });
    }
  }
}
