/**
 * Reads owners' memories into the index after a start, one owner after the
 * other, as far as there is room: few recalls wait for their memories then.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import { type RelayerStore, storedOwners } from "../store/store.ts";
import {
  addCounts,
  type LoadCounts,
  NO_COUNTS,
  warnOfLeftOut,
} from "./load_counts.ts";
import type { WantedVectors } from "./memory_index.ts";

/** What a preload needs. */
interface PreloadOptions {
  /** Knows the owners. */
  readonly store: Pick<RelayerStore, "memoryOwners">;
  /** Which vectors are taken. */
  readonly wanted: WantedVectors;
  /** How many memories are in memory. */
  readonly size: () => number;
  /**
   * Reads an owner who has about so many memories; undefined when the owner is
   * in memory, `later` when there is no room.
   */
  readonly read: (
    owner: string,
    memories: number,
  ) => Promise<LoadCounts> | "later" | undefined;
  /** Ends the preload after the owner that is being read. */
  readonly isEnded: () => boolean;
  /** The time. */
  readonly clock: Clock;
  /** Gets the progress, and a warning of memories that recall does not find. */
  readonly logger: Logger;
}

/** What a preload has read. */
export interface PreloadCounts extends LoadCounts {
  /** Owners whose memories were read. */
  readonly owners: number;
  /** Owners that there was no room for; they are read when they recall. */
  readonly later: number;
}

const PROGRESS_EVERY_MS = 5_000;

/**
 * Reads the memories of all owners that there is room for.
 *
 * @returns what was read; undefined when it was ended
 * @throws what the store throws
 */
export async function preloadOwners(
  { store, wanted, size, read, isEnded, clock, logger }: PreloadOptions,
): Promise<PreloadCounts | undefined> {
  const startedMs = steadyMs(clock);
  let counts: PreloadCounts = { ...NO_COUNTS, owners: 0, later: 0 };
  const progress = new Periodic({
    clock,
    intervalMs: PROGRESS_EVERY_MS,
    run: () => {
      const { owners, later } = counts;
      logger.info("Loading the index", { memories: size(), owners, later });
    },
    onError: (error) =>
      logger.warn("Cannot report the progress of the index", {
        error: describeError(error),
      }),
  });
  progress.start();
  try {
    for await (const { owner, memories } of storedOwners(store)) {
      if (isEnded()) return undefined;
      const { owners, later } = counts;
      const reading = read(owner, memories);
      if (reading === "later") counts = { ...counts, later: later + 1 };
      if (reading === undefined || reading === "later") continue;
      const sum = addCounts(counts, await reading);
      counts = { ...sum, owners: owners + 1, later };
    }
  } finally {
    await progress.stop();
  }
  const tookMs = Math.round(steadyMs(clock) - startedMs);
  logger.info("Loaded the index", { ...counts, tookMs });
  warnOfLeftOut(counts, { logger, wanted });
  return counts;
}
