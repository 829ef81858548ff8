/**
 * Reads the memories of one owner from the store into the index, while others are
 * added and removed.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { IndexEntry, Opened, RelayerVault } from "../vault/vault.ts";
import {
  type IndexedMemory,
  isOfClient,
  vectorFits,
  type WantedVectors,
} from "./memory_index.ts";
import { isDue } from "./renewed_entries.ts";

/** What was read. */
export interface LoadCounts {
  /** Memories that recall finds. */
  readonly loaded: number;
  /** Memories that others took the place of. */
  readonly superseded: number;
  /**
   * Memories whose vector another embedder made, or is of another width: words alone
   * find them.
   */
  readonly otherEmbedder: number;
  /** Those of them whose vector a client made, so that it cannot be made again here. */
  readonly misfitOfClients: number;
  /** Memories whose vector cannot be opened. */
  readonly unreadable: number;
  /** Memories that there is no room for. */
  readonly full: number;
  /** Memories whose entries can be made better than they are. */
  readonly due: number;
}

/** Nothing was read. */
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
    /** Whose they are; those of several owners unless given. */
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

/** What loads work with. */
export interface OwnerLoadParts {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories">;
  /** Opens their vectors. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** What is filled. */
  readonly index: { add(memory: IndexedMemory): void };
  /** Which vectors the index takes. */
  readonly wanted: WantedVectors;
  /**
   * Rows that are read at once.
   *
   * @default {200}
   */
  readonly pageRows?: number | undefined;
}

/** Rows that are opened between two moments for others: half a millisecond. */
const STEP_ROWS = 8;

/**
 * A load. Who changes the index while it runs tells it: then a row that was read
 * before the change does not undo it. Rows that are read after it have it, since the
 * index is changed after the store.
 */
export class OwnerLoad {
  readonly #owner: string;
  readonly #parts: OwnerLoadParts;
  /** What has changed since the page was asked for that is added now. */
  #changedIds = new Set<string>();
  #removedNamespaces = new Set<string>();

  /** A load that has not begun. */
  constructor(owner: string, parts: OwnerLoadParts) {
    this.#owner = owner;
    this.#parts = parts;
  }

  /** A memory was added or removed. */
  noteMemory(id: string): void {
    this.#changedIds.add(id);
  }

  /** All memories of a namespace were removed. */
  noteNamespace(namespace: string): void {
    this.#removedNamespaces.add(namespace);
  }

  /**
   * Reads all rows of the owner.
   *
   * @throws the signal's reason when it ends early, and what store and vault throw
   */
  async run(
    { pausing, signal }: {
      /** Gives others their turn. */
      readonly pausing: Pausing;
      /** Ends it early. */
      readonly signal: AbortSignal;
    },
  ): Promise<LoadCounts> {
    const { store, vault, pageRows = 200 } = this.#parts;
    const counts = { ...NO_COUNTS };
    // The index keeps vectors in a form of its own.
    const room = Array.from(
      { length: STEP_ROWS },
      () => new Float32Array(this.#parts.wanted.width),
    );
    let afterId: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      this.#changedIds.clear();
      this.#removedNamespaces.clear();
      const owner = this.#owner;
      const rows = await store.scanMemories({
        owner,
        limit: pageRows,
        afterId,
      });
      const current = rows.filter((row) => row.supersededBy === undefined);
      counts.superseded += rows.length - current.length;
      for (let from = 0; from < current.length; from += STEP_ROWS) {
        await pausing.pause();
        signal.throwIfAborted();
        const step = current.slice(from, from + STEP_ROWS);
        // Long entries are opened beside this thread, several at a time.
        const entries = await Promise.all(
          step.map((row, at) =>
            vault.openIndex(owner, row.sealedIndex, { into: room[at] })
          ),
        );
        entries.forEach((entry, at) => this.#add(step[at], entry, counts));
      }
      afterId = rows.at(-1)?.id;
      if (rows.length < pageRows || afterId === undefined) return counts;
    }
  }

  #add(
    row: MemoryRow | undefined,
    ...[entry, counts]: [Opened<IndexEntry>, WritableCounts]
  ): void {
    if (
      row === undefined || this.#changedIds.has(row.id) ||
      this.#removedNamespaces.has(row.namespace)
    ) return;
    if (entry.kind === "failed") {
      counts.unreadable++;
      return;
    }
    const { index, wanted } = this.#parts;
    const { metadata, words } = entry.value;
    if (isDue({ row, entry: entry.value }, wanted)) counts.due++;
    const fits = vectorFits(entry.value, wanted);
    if (!fits) {
      counts.otherEmbedder++;
      if (isOfClient(entry.value)) counts.misfitOfClients++;
      if (words === undefined) return;
    }
    const vector = fits ? entry.value.vector : undefined;
    try {
      index.add({ ...row, metadata, vector, words });
      if (fits) counts.loaded++;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      counts.full++;
    }
  }
}

type WritableCounts = { -readonly [Name in keyof LoadCounts]: number };
