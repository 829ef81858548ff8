/**
 * Counts of memories that a load has read, left out or found outdated, and the
 * warnings for operators.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { WantedVectors } from "./memory_index.ts";

/** How many memories a load has read, by outcome. */
export interface LoadCounts {
  /** Memories in the index by their vectors. */
  readonly loaded: number;
  /** Memories that were superseded, so that they are not in the index. */
  readonly superseded: number;
  /**
   * Memories whose vector was made by another embedder or has another width:
   * words alone find them.
   */
  readonly otherEmbedder: number;
  /**
   * Those among {@linkcode LoadCounts.otherEmbedder} whose vector a client
   * made, so that it cannot be made again here.
   */
  readonly misfitOfClients: number;
  /** Memories whose vector cannot be opened. */
  readonly unreadable: number;
  /** Memories that the index had no room for. */
  readonly full: number;
  /** Memories whose entries are due to be renewed. */
  readonly due: number;
}

/** Counts that a load adds to. */
export type WritableCounts = {
  -readonly [Name in keyof LoadCounts]: number;
};

/** The counts of a load that has read nothing. */
export const NO_COUNTS: LoadCounts = {
  loaded: 0,
  superseded: 0,
  otherEmbedder: 0,
  misfitOfClients: 0,
  unreadable: 0,
  full: 0,
  due: 0,
};

/** The sums of what two loads have read. */
export function addCounts(left: LoadCounts, right: LoadCounts): LoadCounts {
  return {
    loaded: left.loaded + right.loaded,
    superseded: left.superseded + right.superseded,
    otherEmbedder: left.otherEmbedder + right.otherEmbedder,
    misfitOfClients: left.misfitOfClients + right.misfitOfClients,
    unreadable: left.unreadable + right.unreadable,
    full: left.full + right.full,
    due: left.due + right.due,
  };
}

/** Tells the operator which memories recall does not find, and what helps. */
export function warnOfLeftOut(
  counts: LoadCounts,
  { logger, wanted, owner }: {
    readonly logger: Logger;
    readonly wanted: WantedVectors;
    /** The owner of the memories; absent for counts of several owners. */
    readonly owner?: string | undefined;
  },
): void {
  const { otherEmbedder, misfitOfClients, unreadable, full } = counts;
  const renewable = otherEmbedder - misfitOfClients;
  if (renewable > 0) {
    logger.warn(
      "Found vectors of another embedder: their memories are found by words " +
        "alone until new vectors are made",
      {
        owner,
        memories: renewable,
        embedder: wanted.model,
        width: wanted.width,
      },
    );
  }
  if (misfitOfClients > 0) {
    logger.warn(
      "Left memories out of the index: clients brought their vectors, which " +
        "are not as wide as the embedder's; set the earlier EMBEDDING_WIDTH, or " +
        "let the clients seal them again",
      { owner, memories: misfitOfClients, width: wanted.width },
    );
  }
  if (unreadable > 0) {
    logger.warn(
      "Left memories out of the index: their vectors cannot be opened with the " +
        "keys there are",
      { owner, memories: unreadable },
    );
  }
  if (full > 0) {
    logger.warn(
      "Left memories out of the index: it is full with 4 GiB of vectors",
      { owner, memories: full },
    );
  }
}

/**
 * Whether all memories are in the index by their vectors, and none is due to be
 * renewed.
 */
export function isWhole(
  { otherEmbedder, unreadable, full, due }: LoadCounts,
): boolean {
  return otherEmbedder + unreadable + full + due === 0;
}
