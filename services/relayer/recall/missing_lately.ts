/**
 * Remembers for a while which blobs the blob store did not have, so that
 * restores which are asked for again go on to other blobs. Not for good: a blob
 * may come back from a backup, or once the address of an aggregator is right.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyMs } from "../../shared/clock.ts";

/** How long a blob is not asked for again, in milliseconds. */
const PASSED_OVER_MS = 600_000;
const MAX_BLOBS = 100_000;

/** Blobs that the blob store did not have lately. */
export class MissingLately {
  readonly #clock: Clock;
  readonly #untilMs = new BoundedMap<string, number>({ maxEntries: MAX_BLOBS });

  /** Knows of no blob yet. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the blob store does not have a blob of an owner. */
  note(owner: string, blobId: string): void {
    const untilMs = steadyMs(this.#clock) + PASSED_OVER_MS;
    this.#untilMs.set(`${owner} ${blobId}`, untilMs);
  }

  /** Whether a blob was missing within the last ten minutes. */
  has(owner: string, blobId: string): boolean {
    const untilMs = this.#untilMs.get(`${owner} ${blobId}`);
    return untilMs !== undefined && steadyMs(this.#clock) < untilMs;
  }
}
