/**
 * Follows the changes of an owner's memories that instances have made since the
 * index last had all of them.
 *
 * @module
 */

import type { MemoryRow } from "../store/rows.ts";
import type { MemoryPage, RelayerStore } from "../store/store.ts";
import { type LoadCounts, NO_COUNTS } from "./load_counts.ts";
import { RowOpener, type RowOptions, type RowParts } from "./opened_rows.ts";
import type { VectorIndex } from "./vector_index.ts";
import type { WrittenLately } from "./written_lately.ts";

/** The parts that following needs. */
export interface FollowParts extends RowParts {
  /** Has the changes, and the snapshots that others have written. */
  readonly shared: Pick<RelayerStore, "indexFeed" | "memories" | "snapshot">;
  /** The index that has all changes up to a number. */
  readonly index: Pick<VectorIndex, "add" | "remove" | "countMemories">;
  /** What need not be opened. */
  readonly written: Pick<WrittenLately, "take">;
  /** Whether the index can be loaded from a snapshot. */
  readonly hasSnapshots: boolean;
  /**
   * Changes of a page.
   *
   * @default {500}
   */
  readonly pageChanges?: number | undefined;
}

/** From where changes are followed, and how far. */
export interface FollowOptions extends RowOptions {
  /** The number up to which the index has all changes. */
  readonly change: number;
  /** A number that no change exceeds which has to be in the index. */
  readonly head: number;
  /**
   * Memories that are read again, whatever the feed says of them, since this
   * instance has more than the store.
   */
  readonly again: Iterable<string>;
  /** Learns of each number up to which the index has all changes by then. */
  readonly onPassed: (change: number) => void;
}

/** What following has come to. */
export type Followed =
  /** The index has all changes up to the head. */
  | { readonly kind: "current"; readonly counts: LoadCounts }
  /**
   * Loading the owner again is quicker, or the only way, as removals are no
   * longer known.
   */
  | { readonly kind: "far" };

const PAGE_CHANGES = 500;
/**
 * Changes after which a snapshot is looked for that has more of them: so many
 * rows take about as long as the snapshot of a large owner.
 */
const SNAPSHOT_CHANGES = 4_000;
/** Fewest changes that may be more than the owner has memories. */
const MIN_FAR = 1_000;

/**
 * Applies changes to the index in their order.
 *
 * @throws the signal's reason when it ends early, and what store and vault
 * throw; changes up to the last number that was told are in the index
 */
export async function followOwner(
  owner: string,
  parts: FollowParts,
  options: FollowOptions,
): Promise<Followed> {
  const { shared, index, hasSnapshots } = parts;
  const { pageChanges: limit = PAGE_CHANGES } = parts;
  const { signal, onPassed } = options;
  const adding = new FollowedRows(owner, parts, options);
  let { change } = options;
  let count = 0;
  let looked = 0;
  for (;;) {
    signal.throwIfAborted();
    // An owner without any change has no position.
    const after = change === 0 ? undefined : { change };
    const page = await shared.indexFeed(owner, { limit, after });
    if (page.mustResync) return { kind: "far" };
    await adding.apply(page);
    change = page.next?.change ?? change;
    if (!page.hasMore) break;
    onPassed(change);
    count += page.memories.length + page.deleted.length;
    if (count > Math.max(MIN_FAR, index.countMemories(owner))) {
      return { kind: "far" };
    }
    if (!hasSnapshots || count - looked < SNAPSHOT_CHANGES) continue;
    looked = count;
    const snapshot = await shared.snapshot(owner);
    if (snapshot !== undefined && snapshot.change > change) {
      return { kind: "far" };
    }
  }
  onPassed(Math.max(change, options.head));
  const ids = [...options.again];
  if (ids.length > 0) {
    const rows = await shared.memories(owner, ids);
    await adding.apply({
      memories: rows.filter((row) => row !== undefined),
      deleted: ids.flatMap((id, at) => rows[at] === undefined ? [{ id }] : []),
    });
  }
  return { kind: "current", counts: adding.counts };
}

/** Puts the rows of pages into the index. */
class FollowedRows {
  readonly counts = { ...NO_COUNTS };
  readonly #owner: string;
  readonly #parts: FollowParts;
  readonly #options: RowOptions;
  readonly #opener: RowOpener;

  constructor(owner: string, ...[parts, options]: [FollowParts, RowOptions]) {
    this.#owner = owner;
    this.#parts = parts;
    this.#options = options;
    this.#opener = new RowOpener(owner, parts);
  }

  /** A row and a tombstone of a page are never of the same memory. */
  async apply(
    page: Pick<MemoryPage, "memories"> & {
      readonly deleted: readonly { readonly id: string }[];
    },
  ): Promise<void> {
    const { index, written } = this.#parts;
    const gone = page.deleted.map(({ id }) => id);
    const toOpen: MemoryRow[] = [];
    for (const row of page.memories) {
      if (row.supersededBy !== undefined) {
        gone.push(row.id);
        this.counts.superseded++;
        continue;
      }
      const own = written.take(row);
      if (own === undefined) {
        toOpen.push(row);
        continue;
      }
      const { metadata, vector, words } = own;
      index.remove(this.#owner, row.id);
      this.#opener.put({ ...row, metadata, vector, words }, this.counts);
    }
    await this.#opener.open(toOpen, this.#options, (row, entry) => {
      // Another namespace may have had it before, and an entry that cannot be
      // opened takes the place of one that could.
      index.remove(this.#owner, row.id);
      this.#opener.add(row, entry, this.counts);
    });
    // Only now, so that a search under way finds a memory or what replaces it.
    for (const id of gone) index.remove(this.#owner, id);
  }
}
