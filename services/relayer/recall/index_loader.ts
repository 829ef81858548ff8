/**
 * Fills the index in memory from the store, at the start.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { pooled } from "../concurrency/bounded_work.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { IndexEntry, Opened, RelayerVault } from "../vault/vault.ts";
import { isOfClient, vectorFits } from "./memory_index.ts";
import type { VectorIndex } from "./vector_index.ts";

/** Options of {@linkcode loadIndex}. */
interface LoadIndexOptions {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories">;
  /** Opens their vectors. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** What is filled. */
  readonly index: Pick<VectorIndex, "add">;
  /** How wide vectors have to be: as wide as the embedder's. */
  readonly width: number;
  /**
   * What has to have made vectors, unless a client brought them: the embedder's
   * model.
   *
   * @default anything
   */
  readonly model?: string | undefined;
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
interface LoadedIndex {
  /** Memories that recall finds. */
  readonly loaded: number;
  /** Memories that others took the place of. */
  readonly superseded: number;
  /** Memories whose vector another embedder made, or is of another width. */
  readonly otherEmbedder: number;
  /** Those of them whose vector a client made, so that it cannot be made again here. */
  readonly misfitOfClients: number;
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
  const counts = {
    loaded: 0,
    superseded: 0,
    otherEmbedder: 0,
    misfitOfClients: 0,
    unreadable: 0,
  };
  const startedMs = clock.nowMs();
  let toldMs = startedMs;
  let afterId: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    const rows = await store.scanMemories({
      limit: pageRows,
      afterId,
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
  warn(counts, options);
  return counts;
}

type Counts = { -readonly [Name in keyof LoadedIndex]: LoadedIndex[Name] };

async function addRows(
  rows: readonly MemoryRow[],
  options: LoadIndexOptions & { readonly counts: Counts },
): Promise<void> {
  const { vault, signal, counts } = options;
  const current = rows.filter(({ supersededBy }) => supersededBy === undefined);
  counts.superseded += rows.length - current.length;
  await pooled(current, {
    parallel: PARALLEL_OPENS,
    signal,
    // Added at once: other rows may be opened in other threads meanwhile.
    work: async (row) =>
      addRow(row, {
        ...options,
        entry: await vault.openIndex(row.owner, row.sealedIndex),
      }),
  });
}

function addRow(
  row: MemoryRow,
  options: LoadIndexOptions & {
    readonly counts: Counts;
    readonly entry: Opened<IndexEntry>;
  },
): void {
  const { index, counts, entry } = options;
  if (entry.kind === "failed") {
    counts.unreadable++;
    return;
  }
  if (!vectorFits(entry.value, options)) {
    counts.otherEmbedder++;
    if (isOfClient(entry.value)) counts.misfitOfClients++;
    return;
  }
  const { vector, metadata } = entry.value;
  index.add({ ...row, metadata, vector });
  counts.loaded++;
}

function warn(
  counts: LoadedIndex,
  { logger, model, width }: LoadIndexOptions,
): void {
  const { otherEmbedder, misfitOfClients, unreadable } = counts;
  if (otherEmbedder > 0) {
    logger.warn(
      "Left memories out of the index: another embedder made their vectors; " +
        "restore their namespaces, or set the earlier embedder",
      {
        memories: otherEmbedder,
        beyondRestoring: misfitOfClients || undefined,
        embedder: model,
        width,
      },
    );
  }
  if (unreadable > 0) {
    logger.warn(
      "Left memories out of the index: their vectors cannot be opened with the " +
        "keys there are",
      { memories: unreadable },
    );
  }
}
