/**
 * Tells of the outages of a store: in the log when one begins and when it is
 * over, and in statistics.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { OutageLog } from "./server_outage.ts";
import type { OutageTally } from "./store_telemetry.ts";

/** How {@linkcode StoreOutages} are made. */
interface StoreOutagesOptions {
  /** Name of the store in log lines. */
  readonly name: string;
  /** Gets the lines. */
  readonly logger: Logger;
  /** Gives the time. */
  readonly clock: Pick<Clock, "nowMs">;
  /**
   * Counts outages.
   *
   * @default not counted
   */
  readonly outageTally?: OutageTally | undefined;
}

/**
 * The parts of a store that are out. Together they are one outage, from the
 * first part that is out until all serve, however many calls meet it.
 */
export class StoreOutages {
  readonly #options: StoreOutagesOptions;
  readonly #parts = new Set<string>();
  readonly #refusals: OutageLog;
  #sinceMs = 0;

  /** Begins with a store all of which serves. */
  constructor(options: StoreOutagesOptions) {
    this.#options = options;
    this.#refusals = new OutageLog(
      options.logger,
      `${options.name} refuses some commands`,
    );
  }

  /** Notes that a part is out, such as a server, and why. */
  begin(part: string, reason: string): void {
    if (this.#parts.has(part)) return;
    const { name, logger, clock } = this.#options;
    this.#parts.add(part);
    this.#tell();
    if (this.#parts.size > 1) {
      return logger.info(`Part of ${name} is unavailable`, { part, reason });
    }
    this.#sinceMs = clock.nowMs();
    logger.warn(`${name} is unavailable`, { reason });
  }

  /** Notes that a part serves. */
  end(part: string): void {
    if (!this.#parts.delete(part)) return;
    const { name, logger, clock } = this.#options;
    this.#tell();
    if (this.#parts.size > 0) {
      return logger.info(`Part of ${name} is available`, { part });
    }
    const outageMs = Math.round(clock.nowMs() - this.#sinceMs);
    // As loud as the beginning, so that both are read at every level.
    logger.warn(`${name} is available`, { outageMs });
    this.#refusals.end();
  }

  /**
   * Logs the refusal of a call by a server that serves others, each of a few
   * refusals once between two outages.
   */
  refused(refusal: string): void {
    this.#refusals.note(refusal);
  }

  #tell(): void {
    this.#options.outageTally?.out(this.#parts.size);
  }
}
