/**
 * Reads the memories of one owner from the store into the index, while others
 * are added and removed.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { Pausing } from "../../shared/slices.ts";
import { finishInSlices } from "../concurrency/bounded_work.ts";
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
import type { OwnerSnapshots } from "./snapshot/owner_snapshots.ts";
import type { VectorIndex } from "./vector_index.ts";

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

/** The parts of the relayer that a load uses. */
export interface OwnerLoadParts {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories">;
  /** Opens entries: vectors, words and metadata. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** The index that memories are added to. */
  readonly index: { add(memory: IndexedMemory): void };
  /**
   * Snapshots that a load begins with.
   *
   * @default rows alone are read
   */
  readonly snapshots?: SnapshotParts | undefined;
  /** Which vectors the index takes. */
  readonly wanted: WantedVectors;
  /**
   * Rows that are read at once.
   *
   * @default {200}
   */
  readonly pageRows?: number | undefined;
}

/** The parts that a load which begins with a snapshot uses. */
export interface SnapshotParts {
  /** Reads snapshots. */
  readonly source: Pick<OwnerSnapshots, "read">;
  /** Has the changes since the snapshot. */
  readonly store: Pick<RelayerStore, "memoryFeed" | "memories" | "stats">;
  /** The index that takes the snapshot and the changes. */
  readonly index: Pick<
    VectorIndex,
    "adoptSteps" | "remove" | "removeOwner" | "countMemories"
  >;
}

/** How a load gives way to other work, and what ends it. */
interface LoadOptions {
  /** Gives others their turn. */
  readonly pausing: Pausing;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

const PAGE_ROWS = 200;
/**
 * How often a load reaches the end of the changes while new ones come in,
 * before it stops following them.
 */
const MAX_CAUGHT_UP = 20;
/**
 * Most memories that may change while a snapshot is read; when more do, the
 * load reads all rows instead.
 */
const MAX_NOTED = 500;
/**
 * Rows that are opened between two pauses for other work: half a millisecond.
 */
const STEP_ROWS = 8;

/**
 * A load of one owner's memories. The code that changes the index while a load
 * runs notes the change here, so that a row which was read before the change
 * does not undo it. Rows that are read later have the change, since the index
 * is changed after the store.
 */
export class OwnerLoad {
  readonly #owner: string;
  readonly #parts: OwnerLoadParts;
  /** Memories that changed since the page was requested that is added now. */
  #changedIds = new Set<string>();
  #removedNamespaces = new Set<string>();
  #unsaved: number | undefined;
  #room: readonly Float32Array<ArrayBuffer>[] | undefined;

  /** A load that has not begun. */
  constructor(owner: string, parts: OwnerLoadParts) {
    this.#owner = owner;
    this.#parts = parts;
  }

  /**
   * How many changes the snapshot lacked that the load began with; undefined
   * where it did not begin with one.
   */
  get unsaved(): number | undefined {
    return this.#unsaved;
  }

  /** Notes that a memory was added to the index or removed from it. */
  noteMemory(id: string): void {
    this.#changedIds.add(id);
  }

  /** Notes that all memories of a namespace were removed from the index. */
  noteNamespace(namespace: string): void {
    this.#removedNamespaces.add(namespace);
  }

  /**
   * Reads all memories of the owner.
   *
   * @throws the signal's reason when it ends early, and what store and vault
   * throw
   */
  async run(options: LoadOptions): Promise<LoadCounts> {
    const { snapshots } = this.#parts;
    if (snapshots !== undefined) {
      const counts = await this.#fromSnapshot(snapshots, options);
      if (counts !== undefined) return counts;
    }
    return await this.#fromRows(options);
  }

  async #fromRows(options: LoadOptions): Promise<LoadCounts> {
    const { store, pageRows = PAGE_ROWS } = this.#parts;
    const counts = { ...NO_COUNTS };
    const owner = this.#owner;
    let afterId: string | undefined;
    for (;;) {
      options.signal.throwIfAborted();
      this.#forgetNoted();
      const rows = await store.scanMemories({
        ...{ owner, afterId },
        limit: pageRows,
      });
      await this.#addAll(rows, counts, options);
      afterId = rows.at(-1)?.id;
      if (rows.length < pageRows || afterId === undefined) return counts;
    }
  }

  /**
   * Fills the index from the owner's snapshot and the changes since.
   *
   * @returns undefined where there is no snapshot, or where it does not lead to
   * what the store has; then the index has nothing of the owner but what
   * changed meanwhile
   */
  async #fromSnapshot(
    parts: SnapshotParts,
    options: LoadOptions,
  ): Promise<LoadCounts | undefined> {
    const { source, index } = parts;
    const { signal, pausing } = options;
    const owner = this.#owner;
    this.#forgetNoted();
    const snapshot = await source.read(owner, signal);
    if (snapshot === undefined) return undefined;
    await finishInSlices(index.adoptSteps(owner, snapshot.columns), {
      ...{ pausing, signal },
    });
    // The snapshot has replaced what the index had, these changes included.
    const noted = [...this.#changedIds];
    const counts = { ...NO_COUNTS };
    const isWhole = noted.length <= MAX_NOTED &&
      await this.#follow(parts, { ...options, counts, noted, ...snapshot });
    if (isWhole) return counts;
    this.#unsaved = undefined;
    await finishInSlices(index.removeOwner(owner), { pausing, signal });
    return undefined;
  }

  /** Follows changes; tells whether the index then has what the store has. */
  async #follow(
    { store, index }: SnapshotParts,
    { change, noted, counts, ...options }: LoadOptions & {
      readonly change: number;
      readonly noted: readonly string[];
      readonly counts: WritableCounts;
    },
  ): Promise<boolean> {
    const owner = this.#owner;
    const limit = this.#parts.pageRows ?? PAGE_ROWS;
    this.#unsaved = 0;
    let after = { change };
    this.#forgetNoted();
    const rows = await store.memories(owner, noted);
    for (const [at, row] of rows.entries()) {
      if (row === undefined) this.#remove(noted[at] ?? "", index);
    }
    const there = rows.filter((row) => row !== undefined);
    await this.#addAll(there, counts, options, index);
    for (let caughtUp = 0; caughtUp < MAX_CAUGHT_UP;) {
      options.signal.throwIfAborted();
      this.#forgetNoted();
      const { memories } = await store.stats(owner);
      const page = await store.memoryFeed(owner, { limit, after });
      if (page.mustResync) return false;
      for (const { id } of page.deleted) this.#remove(id, index);
      await this.#addAll(page.memories, counts, options, index);
      this.#unsaved += page.memories.length + page.deleted.length;
      const isAtEnd = page.memories.length + page.deleted.length === 0;
      counts.loaded = index.countMemories(owner) - counts.otherEmbedder;
      if (isAtEnd && !this.#isNoted) {
        return memories === index.countMemories(owner);
      }
      if (!page.hasMore) caughtUp++;
      after = page.next ?? after;
    }
    // When changes never cease, there is no moment to compare index and store.
    return true;
  }

  get #isNoted(): boolean {
    return this.#changedIds.size + this.#removedNamespaces.size > 0;
  }

  #forgetNoted(): void {
    this.#changedIds.clear();
    this.#removedNamespaces.clear();
  }

  #remove(id: string, index: SnapshotParts["index"]): void {
    if (!this.#changedIds.has(id)) index.remove(this.#owner, id);
  }

  /**
   * Opens rows and adds them.
   *
   * @param known The index, when it has memories of the owner already:
   * superseded ones are removed from it.
   */
  async #addAll(
    rows: readonly MemoryRow[],
    counts: WritableCounts,
    { pausing, signal }: LoadOptions,
    known?: SnapshotParts["index"],
  ): Promise<void> {
    const { vault, wanted } = this.#parts;
    // The index copies vectors into its own form, so that the room can be
    // reused.
    const room = this.#room ??= Array.from(
      { length: STEP_ROWS },
      () => new Float32Array(wanted.width),
    );
    const current = rows.filter((row) => row.supersededBy === undefined);
    counts.superseded += rows.length - current.length;
    if (known !== undefined) {
      for (const { id, supersededBy } of rows) {
        if (supersededBy !== undefined) this.#remove(id, known);
      }
    }
    for (let from = 0; from < current.length; from += STEP_ROWS) {
      await pausing.pause();
      signal.throwIfAborted();
      const step = current.slice(from, from + STEP_ROWS);
      // Long entries are opened beside this thread, several at a time.
      const entries = await Promise.all(
        step.map((row, at) =>
          vault.openIndex(this.#owner, row.sealedIndex, { into: room[at] })
        ),
      );
      entries.forEach((entry, at) => this.#add(step[at], entry, counts));
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
