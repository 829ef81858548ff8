/**
 * Keeps the index of an owner at the end of a feed that other instances write
 * to as well. Each search first asks the store for the number of the owner's
 * last change. When that is newer than what the index has, the changes are
 * followed, one search for all.
 *
 * Changes come to the index by the feed alone, in their order: what this
 * instance writes is told to it before or after what others have made of the
 * same memory.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { RelayerStore } from "../store/store.ts";
import type { LoadCounts } from "./load_counts.ts";
import type { IndexedMemory } from "./memory_index.ts";
import { followOwner, type FollowParts } from "./owner_follow.ts";
import type { VectorIndex } from "./vector_index.ts";
import type { WrittenLately } from "./written_lately.ts";

/** The calls of a shared store that an index follows it by. */
export type SharedStore = Pick<RelayerStore, "head"> & FollowParts["shared"];

/** What a search has to find of a shared store. */
export interface Look {
  /**
   * The number of the owner's last change. The search finds all memories that
   * were stored by then, by any instance, and none that was removed.
   */
  readonly head: Promise<number>;
  /**
   * A lower head is that of a database that lacks changes, as of one that was
   * restored or of a standby that was promoted.
   */
  readonly least: number;
}

/** The parts that the followers of all owners share. */
export interface FollowerParts extends FollowParts {
  /** The store. */
  readonly shared: SharedStore;
  /** The index that has the owners' memories. */
  readonly index: FollowParts["index"] & Pick<VectorIndex, "holds">;
  /** What this instance has written lately. */
  readonly written: Pick<WrittenLately, "note" | "take">;
  /** Gives other work its turn meanwhile. */
  readonly pausingFor: (owner: string) => Promise<Pausing>;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
  /**
   * Reads all memories of an owner in place of those that the index has, and
   * calls {@linkcode OwnerFollower.begin}.
   */
  readonly readAnew: (owner: string) => Promise<void>;
  /** Is told what following an owner has come to. */
  readonly onFollowed: (owner: string, counts: LoadCounts) => void;
}

/**
 * Changes of this instance after which the feed is followed without a search,
 * so that the next search has little to follow.
 */
const MAX_WRITTEN = 64;

/**
 * Begins to ask for the number of an owner's last change.
 *
 * @param least the number up to which the index has all changes
 */
export function lookAt(
  owner: string,
  { shared, least }: {
    readonly shared: Pick<RelayerStore, "head">;
    readonly least: number;
  },
): Look {
  const head = shared.head(owner);
  // A search with it learns of the failure.
  head.catch(() => {});
  return { head, least };
}

/** Follows the changes of one owner, whose memories are in the index. */
export class OwnerFollower {
  /** The owner's address. */
  readonly owner: string;
  readonly #parts: FollowerParts;
  /** The number up to which the index has all changes. */
  #change = 0;
  /** Changes are followed, or all is read again; searches wait for the end. */
  #turn: Promise<void> | undefined;
  /** Memories of which this instance has more than the store. */
  readonly #again = new Set<string>();
  /** What this instance has changed since changes were followed last. */
  #written = 0;

  /** A follower of an owner whose memories are being read. */
  constructor(owner: string, parts: FollowerParts) {
    this.owner = owner;
    this.#parts = parts;
  }

  /** The number up to which the index has all changes. */
  get change(): number {
    return this.#change;
  }

  /** Whether changes are being followed. */
  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  /** Notes that the owner was read, with all changes up to a number. */
  begin(change: number): void {
    this.#change = change;
  }

  /** Begins to ask how far the store is. */
  look(): Look {
    const { shared } = this.#parts;
    return lookAt(this.owner, { shared, least: this.#change });
  }

  /**
   * Notes that this instance has changed what the feed will tell of.
   *
   * @param memory what it has stored; undefined for a removal
   * @returns whether to catch up now, without a search
   */
  wrote(memory?: IndexedMemory): boolean {
    const { written, index } = this.#parts;
    if (memory !== undefined) {
      written.note(memory);
      // The feed does not name a memory that gained what the store never has.
      if (index.holds(this.owner, memory.id)) this.#again.add(memory.id);
    }
    if (++this.#written < MAX_WRITTEN) return false;
    this.#written = 0;
    return true;
  }

  /**
   * Waits until the index has what the owner's last change has led to. The
   * owner's memories must have been read before.
   *
   * @throws what store and vault throw, and the signal's reason when it ends
   * early
   */
  async catchUp({ head: asked, least }: Look): Promise<void> {
    const head = await asked;
    while (this.#turn !== undefined) await this.#turn;
    const isOther = head < least;
    const isThere = head <= this.#change && this.#again.size === 0;
    if (!isOther && isThere) return;
    this.#turn = (isOther ? this.#readAnew() : this.#follow(head))
      .finally(() => this.#turn = undefined);
    await this.#turn;
  }

  /** Waits for what is under way. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  async #follow(head: number): Promise<void> {
    const owner = this.owner;
    const { pausingFor, signal, onFollowed } = this.#parts;
    const again = [...this.#again];
    this.#written = 0;
    const followed = await followOwner(owner, this.#parts, {
      ...{ pausing: await pausingFor(owner), signal, head, again },
      change: this.#change,
      onPassed: (change) => this.#change = change,
    });
    if (followed.kind === "far") return await this.#readAnew();
    for (const id of again) this.#again.delete(id);
    onFollowed(owner, followed.counts);
  }

  async #readAnew(): Promise<void> {
    const again = [...this.#again];
    await this.#parts.readAnew(this.owner);
    for (const id of again) this.#again.delete(id);
  }
}
