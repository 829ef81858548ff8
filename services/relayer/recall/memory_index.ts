/**
 * What the index in memory keeps, is asked for and finds, which vectors fit it, and
 * how it is filled from the store at the start.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { pooled } from "../concurrency/bounded_work.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import {
  CLIENT_MODEL,
  type IndexEntry,
  type Metadata,
  type Opened,
  type RelayerVault,
} from "../vault/vault.ts";

/** A memory as the index knows it. */
export interface IndexedMemory {
  /** Its id. */
  readonly id: string;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The blob that holds the text. */
  readonly blobId: string;
  /** Bytes of the blob. */
  readonly sizeBytes: number;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** How much it matters, 0 to 1; null when it is not known. */
  readonly importance: number | null;
  /** What the client says of it. */
  readonly metadata: Metadata;
  /** Its vector, of the embedder's width and of length 1. */
  readonly vector: Float32Array;
}

/** What is looked for. */
export interface IndexQuery {
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** What to be close to; of any length but 0. */
  readonly vector: Float32Array;
  /** Most hits. */
  readonly limit: number;
  /**
   * Only memories of which the client said the same.
   * @default all
   */
  readonly filter?: Metadata | undefined;
  /**
   * Only these memories.
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
}

/** A memory that was found. */
export interface IndexHit extends Omit<IndexedMemory, "vector" | "metadata"> {
  /** Cosine distance, 0 for the same direction and 2 for the opposite one. */
  readonly distance: number;
}

/** What vectors are compared with. */
interface WantedVectors {
  /** How wide they have to be. */
  readonly width: number;
  /**
   * What has to have made them, unless a client brought them.
   *
   * @default anything
   */
  readonly model?: string | undefined;
}

/** Tells whether a vector is of the wanted width and maker. */
export function vectorFits(
  { vector, model }: Pick<IndexEntry, "vector" | "model">,
  wanted: WantedVectors,
): boolean {
  if (vector.length !== wanted.width) return false;
  return isOfClient({ model }) || wanted.model === undefined ||
    model === wanted.model;
}

/** Tells whether a vector is a client's, which cannot be made again here. */
function isOfClient({ model }: Pick<IndexEntry, "model">): boolean {
  return model === CLIENT_MODEL;
}

/** Options of {@linkcode loadIndex}. */
interface LoadIndexOptions {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories">;
  /** Opens their vectors. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** What is filled. */
  readonly index: { add(memory: IndexedMemory): void };
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
