/**
 * Reads the memories of one owner from the store into the index, while others
 * are added and removed.
 *
 * @module
 */

import { finishInSlices } from "../concurrency/bounded_work.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import {
  type LoadCounts,
  NO_COUNTS,
  type WritableCounts,
} from "./load_counts.ts";
import { RowOpener, type RowOptions, type RowParts } from "./opened_rows.ts";
import type { OwnerSnapshots } from "./snapshot/owner_snapshots.ts";
import type { VectorIndex } from "./vector_index.ts";

/** The parts of the relayer that a load uses. */
export interface OwnerLoadParts extends RowParts {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories">;
  /**
   * Tells up to which change a load has what the store has, where other
   * instances change the store as well.
   *
   * @default there are none
   */
  readonly shared?: Pick<RelayerStore, "head"> | undefined;
  /**
   * Snapshots that a load begins with.
   *
   * @default rows alone are read
   */
  readonly snapshots?: SnapshotParts | undefined;
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
  readonly store: Pick<RelayerStore, "indexFeed" | "memories" | "stats">;
  /** The index that takes the snapshot and the changes. */
  readonly index: Pick<
    VectorIndex,
    "adoptSteps" | "remove" | "removeOwner" | "countMemories"
  >;
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
  readonly #opener: RowOpener;
  #unsaved: number | undefined;
  #change = 0;
  #readsRows = false;

  /** A load that has not begun. */
  constructor(owner: string, parts: OwnerLoadParts) {
    this.#owner = owner;
    this.#parts = parts;
    this.#opener = new RowOpener(owner, parts);
  }

  /**
   * The number up to which the index has all changes of a shared store once the
   * load is done, and perhaps some that came later.
   */
  get change(): number {
    return this.#change;
  }

  /**
   * How many changes the snapshot lacked that the load began with; undefined
   * where it did not begin with one.
   */
  get unsaved(): number | undefined {
    return this.#unsaved;
  }

  /**
   * Whether rows are read one after the other, so that the index has more of
   * them all the time and none that were removed.
   */
  get readsRows(): boolean {
    return this.#readsRows;
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
  async run(options: RowOptions): Promise<LoadCounts> {
    const { snapshots, shared } = this.#parts;
    if (shared !== undefined) this.#change = await shared.head(this.#owner);
    if (snapshots !== undefined) {
      const counts = await this.#fromSnapshot(snapshots, options);
      if (counts !== undefined) return counts;
    }
    return await this.#fromRows(options);
  }

  async #fromRows(options: RowOptions): Promise<LoadCounts> {
    const { store, pageRows = PAGE_ROWS } = this.#parts;
    const counts = { ...NO_COUNTS };
    const owner = this.#owner;
    this.#readsRows = true;
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
    options: RowOptions,
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
    { change, noted, counts, ...options }: RowOptions & {
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
      const page = await store.indexFeed(owner, { limit, after });
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
      this.#change = Math.max(this.#change, after.change);
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
    options: RowOptions,
    known?: SnapshotParts["index"],
  ): Promise<void> {
    const current = rows.filter((row) => row.supersededBy === undefined);
    counts.superseded += rows.length - current.length;
    if (known !== undefined) {
      for (const { id, supersededBy } of rows) {
        if (supersededBy !== undefined) this.#remove(id, known);
      }
    }
    await this.#opener.open(current, options, (row, entry) => {
      if (
        this.#changedIds.has(row.id) ||
        this.#removedNamespaces.has(row.namespace)
      ) return;
      // Another namespace may have had it before, and an entry that cannot be
      // opened takes the place of one that could.
      known?.remove(this.#owner, row.id);
      this.#opener.add(row, entry, counts);
    });
  }
}
