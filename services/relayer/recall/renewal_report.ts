/**
 * How far the renewal of entries is, for the log and for metrics.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { RenewalListener } from "./owner_renewal.ts";

/**
 * How far the renewal is: done when no memory is unchecked and no entry waits.
 */
export interface RenewalProgress {
  /** Memories that were looked at, without those that were superseded. */
  readonly checked: number;
  /**
   * About how many memories are still to be looked at; at least 1 until all
   * were.
   */
  readonly unchecked: number;
  /** Entries that were made again. */
  readonly renewed: number;
  /** Entries that can never be made again: their text is lost or refused. */
  readonly failed: number;
  /**
   * Entries that have to wait: for the owner's key, their blob or the embedder.
   */
  readonly waiting: number;
}

/** The result of {@linkcode worth} when no entry was renewed, failed or waits. */
const NOTHING = "0 0 0";

/** The part of the progress that is logged again when it has changed. */
function worth({ renewed, failed, waiting }: RenewalProgress): string {
  return [renewed, failed, waiting].join(" ");
}

/** Counts what a renewal does, and logs how far it is. */
export class RenewalReport implements RenewalListener {
  readonly #logger: Logger;
  #checked = 0;
  #renewed = 0;
  /** Entries of the owner at hand that wait for the embedder. */
  #waiting = 0;
  /** How many entries can never be made again, by the reason. */
  readonly #failed = new Map<string, number>();
  #lastError = "";
  /** The part of the progress that was logged last. */
  #told = NOTHING;

  /** Starts with nothing done. */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Begins to look at all memories, again where that was broken off. */
  beginPass(): void {
    this.#checked = 0;
    this.#failed.clear();
  }

  /** Ends it, so that the first line after it is not left out. */
  endPass(): void {
    this.#told = NOTHING;
  }

  /** So many memories were looked at. */
  checked(memories: number): void {
    this.#checked += memories;
  }

  /** So many entries were made again. */
  renewed(entries: number): void {
    this.#renewed += entries;
  }

  /** An entry can never be made again. */
  failed(reason: string): void {
    this.#failed.set(reason, (this.#failed.get(reason) ?? 0) + 1);
  }

  /** So many entries of the owner at hand wait for the embedder. */
  waiting(entries: number): void {
    this.#waiting = entries;
  }

  /** How far the renewal is. */
  progress(
    { memories, left }: {
      /** All memories while they are looked at; undefined afterwards. */
      readonly memories: number | undefined;
      /** Entries of other owners that wait. */
      readonly left: number;
    },
  ): RenewalProgress {
    const checked = this.#checked;
    let failed = 0;
    for (const count of this.#failed.values()) failed += count;
    return {
      checked,
      unchecked: memories === undefined ? 0 : Math.max(1, memories - checked),
      ...{ renewed: this.#renewed, failed, waiting: this.#waiting + left },
    };
  }

  /** Logs the progress if it has changed. */
  tell(progress: RenewalProgress): void {
    this.#tell("Renewing entries of the index", progress);
  }

  /** Logs the same after a round that took `tookMs` milliseconds. */
  tellRound(progress: RenewalProgress, tookMs: number): void {
    const fields = { ...Object.fromEntries(this.#failed), tookMs };
    this.#tell("Renewed entries of the index", progress, fields);
  }

  #tell(
    line: string,
    progress: RenewalProgress,
    fields: Record<string, unknown> = {},
  ): void {
    if (worth(progress) === this.#told) return;
    this.#told = worth(progress);
    this.#logger.info(line, { ...progress, ...fields });
  }

  /** Logged once, because a failure usually affects many owners. */
  tellError(error: unknown): void {
    const described = describeError(error);
    if (described === this.#lastError) return;
    this.#lastError = described;
    this.#logger.error("Cannot renew entries of the index", {
      error: described,
    });
  }
}
