/**
 * Fills the index in memory from the store, at the start.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { MemoryRow } from "../store/memory_row.ts";
import type { RelayerStore } from "../store/store.ts";
import type { IndexEntry, Opened, RelayerVault } from "../vault/vault.ts";
import type { MemoryIndex } from "./memory_index.ts";
import { pooled } from "./pooled.ts";

/** Options of {@linkcode loadIndex}. */
export interface LoadIndexOptions {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories">;
  /** Opens their vectors. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** What is filled. */
  readonly index: MemoryIndex;
  /** How wide vectors have to be: as wide as the embedder's. */
  readonly width: number;
  /** Hears how far it is. */
  readonly logger: Logger;
  /** The time. */
  readonly clock: Clock;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /**
   * Rows that are read at once.
   *
   * @default {500}
   */
  readonly pageRows?: number;
}

/** What was loaded. */
export interface LoadedIndex {
  /** Memories that recall finds. */
  readonly loaded: number;
  /** Memories that others took the place of. */
  readonly superseded: number;
  /** Memories whose vector is of another width. */
  readonly otherWidth: number;
  /** Memories whose vector cannot be opened. */
  readonly unreadable: number;
}

const PARALLEL_OPENS = 32;
const PROGRESS_EVERY_MS = 5_000;

/**
 * Adds all rows to the index that recall may find.
 *
 * @throws the signal's reason when it ends early, and what the store throws
 */
export async function loadIndex(
  options: LoadIndexOptions,
): Promise<LoadedIndex> {
  const { store, logger, clock, signal, pageRows = 500 } = options;
  const counts = { loaded: 0, superseded: 0, otherWidth: 0, unreadable: 0 };
  const startedMs = clock.nowMs();
  let toldMs = startedMs;
  let afterId: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    const rows = await store.scanMemories({
      limit: pageRows,
      ...(afterId === undefined ? {} : { afterId }),
    });
    await addRows(rows, { ...options, counts });
    afterId = rows.at(-1)?.id;
    if (rows.length < pageRows || afterId === undefined) break;
    if (clock.nowMs() - toldMs < PROGRESS_EVERY_MS) continue;
    toldMs = clock.nowMs();
    logger.info("Loading the index", { ...counts });
  }
  const tookMs = clock.nowMs() - startedMs;
  logger.info("Loaded the index", { ...counts, tookMs });
  warn(counts, logger);
  return counts;
}

type Counts = { -readonly [Name in keyof LoadedIndex]: LoadedIndex[Name] };

async function addRows(
  rows: readonly MemoryRow[],
  options: LoadIndexOptions & { readonly counts: Counts },
): Promise<void> {
  const { vault, index, width, signal, counts } = options;
  const current = rows.filter(({ supersededBy }) => supersededBy === undefined);
  counts.superseded += rows.length - current.length;
  const opened = await pooled(current, {
    parallel: PARALLEL_OPENS,
    signal,
    work: async (
      row,
    ): Promise<{ row: MemoryRow; entry: Opened<IndexEntry> }> => ({
      row,
      entry: await vault.openIndex(row.owner, row.sealedIndex),
    }),
  });
  for (const { row, entry } of opened) {
    if (entry.kind === "failed") {
      counts.unreadable++;
    } else if (entry.value.vector.length !== width) {
      counts.otherWidth++;
    } else {
      const { id, owner, namespace, blobId, createdAtMs, importance } = row;
      index.add({
        id,
        owner,
        namespace,
        blobId,
        createdAtMs,
        importance,
        ...entry.value,
      });
      counts.loaded++;
    }
  }
}

function warn(counts: LoadedIndex, logger: Logger): void {
  if (counts.otherWidth > 0) {
    logger.warn(
      "Left memories out of the index: their vectors are of another embedder's " +
        "width; forget and restore their namespaces, or set the earlier embedder",
      { memories: counts.otherWidth },
    );
  }
  if (counts.unreadable > 0) {
    logger.warn(
      "Left memories out of the index: their vectors cannot be opened with the " +
        "keys there are",
      { memories: counts.unreadable },
    );
  }
}
