/**
 * The index by owners: in memory are those who recalled last. An owner's memories are
 * read from the store when they are first asked for, once for all who ask meanwhile,
 * and go when others need the room.
 *
 * After a start they are read in the background as far as there is room, so that few
 * recalls wait for it.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import {
  finishInSlices,
  ownTurn,
  steadyMs,
  type Steps,
} from "../concurrency/bounded_work.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import {
  type MemoryOwner,
  type RelayerStore,
  storedOwners,
} from "../store/store.ts";
import type {
  IndexedMemory,
  IndexHit,
  IndexQuery,
  WantedVectors,
} from "./memory_index.ts";
import {
  addCounts,
  type LoadCounts,
  NO_COUNTS,
  OwnerLoad,
  type OwnerLoadParts,
  type SnapshotParts,
  warnOfLeftOut,
} from "./owner_load.ts";
import type { OwnerSnapshots } from "./snapshot/owner_snapshots.ts";
import {
  type SnapshotBounds,
  SnapshotSaver,
} from "./snapshot/snapshot_saver.ts";
import { type SearchOptions, VectorIndex } from "./vector_index.ts";

/** Options of {@linkcode OwnerIndex}. */
interface OwnerIndexOptions extends Pick<OwnerLoadParts, "vault" | "pageRows"> {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories" | "memoryOwners">;
  /**
   * Snapshots of owners' indexes, and what changes since are read from.
   *
   * @default there are none: all owners are read from their rows
   */
  readonly snapshots?:
    | SnapshotBounds & {
      /** Reads and writes them. */
      readonly source: OwnerSnapshots;
      /** Keeps rows. */
      readonly store: SnapshotParts["store"];
    }
    | undefined;
  /** Which vectors are taken: those of the embedder's width and model. */
  readonly wanted: WantedVectors;
  /**
   * Bytes that the memories of all owners may take. One owner's are kept however
   * many they are.
   */
  readonly maxBytes: number;
  /**
   * Hears of each owner whose memories were read, and how many of their entries can be
   * made better than they are.
   */
  readonly onRead?:
    | ((
      owner: string,
      counts: { readonly memories: number; readonly due: number },
    ) => void)
    | undefined;
  /** Deals out turns; loads of an owner get what another caller gets. */
  readonly turns?: Pick<FairTurns, "begin"> | undefined;
  /** The time. */
  readonly clock: Clock;
  /** Hears how far the background is, and what recall does not find. */
  readonly logger: Logger;
}

/** An owner who was asked for. */
interface OwnerState {
  /** What reads the memories; undefined when they are there. */
  load: OwnerLoad | undefined;
  /** Settles with the load; undefined for the counts of one that failed. */
  readonly loading: Promise<LoadCounts>;
  /** Searches that wait or go on, for which the owner has to stay. */
  users: number;
}

/** What the background has done. */
interface PreloadCounts extends LoadCounts {
  /** Owners whose memories were read. */
  readonly owners: number;
  /** Owners that there was no room for; they are read when they recall. */
  readonly later: number;
}

/** What an owner takes beside the memories. */
const OWNER_BYTES = 1_024;
/** What a memory may take before there is one to tell by. */
const FIRST_MEMORY_BYTES = 4_096;
/** Owners that are read at the same time. */
const PARALLEL_LOADS = 4;
const PROGRESS_EVERY_MS = 5_000;

/** Finds memories of owners, whether they are in memory or have to be read first. */
export class OwnerIndex {
  readonly #options: OwnerIndexOptions;
  readonly #vectors: VectorIndex;
  readonly #gate = new Semaphore(PARALLEL_LOADS);
  readonly #saver: SnapshotSaver | undefined;
  readonly #ending = new AbortController();
  /** Those who were asked for last are the last. */
  readonly #owners = new Map<string, OwnerState>();
  readonly #clearing = new Set<Promise<void>>();
  #latest: string | undefined;
  #evictions = 0;
  #isPreloadEnded = false;

  /**
   * An index that has read nothing.
   *
   * @throws {RangeError} when the width of the vectors is out of bounds
   */
  constructor(options: OwnerIndexOptions) {
    this.#options = options;
    this.#vectors = new VectorIndex(options.wanted.width);
    const { snapshots } = options;
    this.#saver = snapshots && new SnapshotSaver({
      ...{ ...options, ...snapshots },
      snapshots: snapshots.source,
      index: this.#vectors,
      pausingFor: (owner) => this.#turnFor(owner),
    });
  }

  /** How many memories are in memory. */
  get size(): number {
    return this.#vectors.size;
  }

  /** About how many bytes they take, with their owners. */
  get bytes(): number {
    return this.#vectors.bytes + this.#owners.size * OWNER_BYTES;
  }

  /** How often an owner's memories went for those of others. */
  get evictions(): number {
    return this.#evictions;
  }

  /**
   * The closest memories, the closest first, as {@linkcode VectorIndex.search} finds
   * them; waits while those of the owner are read.
   *
   * @throws what that and the store throw
   */
  async search(
    query: IndexQuery,
    options: SearchOptions,
  ): Promise<readonly IndexHit[]> {
    const { owner } = query;
    const state = this.#stateOf(owner);
    state.users++;
    try {
      if (state.load !== undefined) await state.loading;
      options.signal?.throwIfAborted();
      return await this.#vectors.search(query, options);
    } finally {
      state.users--;
      this.#makeRoom();
    }
  }

  /**
   * From now on a memory is found that the store has. Does nothing where the owner's
   * memories are not there: they are read with it.
   *
   * @throws {RangeError} as {@linkcode VectorIndex.add} does
   */
  add(memory: IndexedMemory): void {
    const state = this.#owners.get(memory.owner);
    if (state === undefined) return;
    state.load?.noteMemory(memory.id);
    this.#saver?.changed(memory.owner, { isRemoval: false });
    try {
      this.#vectors.add(memory);
    } catch (error) {
      // What the store has is not all here from now on.
      this.#saver?.gone(memory.owner);
      throw error;
    }
    this.#makeRoom();
  }

  /** From now on a memory is not found that the store has no more, or has as replaced. */
  remove(owner: string, id: string): void {
    this.#owners.get(owner)?.load?.noteMemory(id);
    this.#saver?.changed(owner, { isRemoval: true });
    this.#vectors.remove(owner, id);
  }

  /** The same for all memories of a namespace. */
  removeNamespace(owner: string, namespace: string): void {
    this.#owners.get(owner)?.load?.noteNamespace(namespace);
    this.#saver?.changed(owner, { isRemoval: true });
    this.#clearLater(owner, this.#vectors.dropNamespace(owner, namespace));
  }

  /**
   * Whether a memory is in memory by its vector. One that is not may be found all the
   * same, when its owner's have to be read first.
   */
  has(owner: string, id: string): boolean {
    return this.#vectors.has(owner, id);
  }

  /**
   * Reads the memories of all owners that there is room for, one owner after the
   * other.
   *
   * @returns what was read; undefined when it was stopped
   * @throws what the store throws
   */
  async preload(): Promise<PreloadCounts | undefined> {
    const { logger, clock, store, wanted } = this.#options;
    const startedMs = steadyMs(clock);
    let counts: PreloadCounts = { ...NO_COUNTS, owners: 0, later: 0 };
    const progress = new Periodic({
      clock,
      intervalMs: PROGRESS_EVERY_MS,
      run: () => {
        const { owners, later } = counts;
        const memories = this.size;
        logger.info("Loading the index", { memories, owners, later });
      },
      onError: (error) =>
        logger.warn("Cannot tell how far the index is", {
          error: describeError(error),
        }),
    });
    progress.start();
    try {
      for await (const owner of storedOwners(store)) {
        if (this.#isPreloadEnded) return undefined;
        counts = await this.#preloadOne(owner, counts);
      }
    } catch (error) {
      if (this.#ending.signal.aborted) return undefined;
      // What fails for one owner fails for many: the file is damaged, say.
      throw error;
    } finally {
      await progress.stop();
    }
    const tookMs = Math.round(steadyMs(clock) - startedMs);
    logger.info("Loaded the index", { ...counts, tookMs });
    warnOfLeftOut(counts, { logger, wanted });
    return counts;
  }

  /** Writes snapshots of owners who are at rest from now on. */
  startSnapshots(): void {
    this.#saver?.start();
  }

  /** Reads no more owners than the one that is being read. */
  endPreload(): void {
    this.#isPreloadEnded = true;
  }

  /**
   * Writes the snapshots that are due; ends all loads, and waits for their end; searches
   * that wait for them fail.
   */
  async stop(): Promise<void> {
    this.endPreload();
    await this.#saver?.stop();
    this.#ending.abort(new Error("Cannot search: the index has stopped"));
    const loads = [...this.#owners.values()].map(({ loading }) => loading);
    await Promise.allSettled([...loads, ...this.#clearing]);
  }

  async #preloadOne(
    { owner, memories }: MemoryOwner,
    counts: PreloadCounts,
  ): Promise<PreloadCounts> {
    if (this.#owners.has(owner)) return counts;
    const usual = this.size === 0
      ? FIRST_MEMORY_BYTES
      : this.#vectors.bytes / this.size;
    const wantedBytes = OWNER_BYTES + memories * usual;
    if (this.bytes + wantedBytes > this.#options.maxBytes) {
      return { ...counts, later: counts.later + 1 };
    }
    const read = await this.#begin(owner, { isAsked: false }).loading;
    return {
      ...addCounts(counts, read),
      owners: counts.owners + 1,
      later: counts.later,
    };
  }

  /** An owner who is asked for. */
  #stateOf(owner: string): OwnerState {
    this.#latest = owner;
    const known = this.#owners.get(owner);
    if (known === undefined) return this.#begin(owner, { isAsked: true });
    this.#owners.delete(owner);
    this.#owners.set(owner, known);
    return known;
  }

  /** @param isAsked Whether a caller waits for it. */
  #begin(
    owner: string,
    { isAsked }: { readonly isAsked: boolean },
  ): OwnerState {
    const { snapshots } = this.#options;
    const index = this.#vectors;
    const load = new OwnerLoad(owner, {
      ...{ ...this.#options, index },
      snapshots: snapshots && { ...snapshots, index },
    });
    const state: OwnerState = {
      load,
      loading: this.#run(owner, load),
      users: 0,
    };
    this.#owners.set(owner, state);
    state.loading.then((counts) => {
      state.load = undefined;
      if (isWhole(counts)) this.#saver?.loaded(owner, load.unsaved);
      const { logger, wanted, onRead } = this.#options;
      const { loaded, otherEmbedder, due } = counts;
      onRead?.(owner, { memories: loaded + otherEmbedder, due });
      if (isAsked) warnOfLeftOut(counts, { logger, wanted, owner });
      this.#makeRoom();
    }, () => this.#drop(owner));
    return state;
  }

  async #run(owner: string, load: OwnerLoad): Promise<LoadCounts> {
    const { signal } = this.#ending;
    return await this.#gate.run(async () => {
      const pausing = await this.#turnFor(owner);
      return await load.run({ pausing, signal });
    }, { signal });
  }

  #turnFor(owner: string): Promise<Pausing> {
    const { turns } = this.#options;
    return ownTurn(turns, { group: "index", member: owner });
  }

  /** Lets go of owners who were not asked for lately, as far as it is needed. */
  #makeRoom(): void {
    const { maxBytes } = this.#options;
    if (this.bytes <= maxBytes) return;
    for (const [owner, { load, users }] of this.#owners) {
      // What was asked for last is asked for again soon.
      if (load !== undefined || users > 0 || owner === this.#latest) continue;
      this.#evictions++;
      this.#drop(owner);
      if (this.bytes <= maxBytes) return;
    }
  }

  #drop(owner: string): void {
    this.#owners.delete(owner);
    this.#saver?.gone(owner);
    this.#clearLater(owner, this.#vectors.removeOwner(owner));
  }

  /** Gives room back while others get their turn. */
  #clearLater(owner: string, steps: Steps<void>): void {
    const clearing = this.#clear(owner, steps)
      .finally(() => this.#clearing.delete(clearing));
    this.#clearing.add(clearing);
  }

  async #clear(owner: string, steps: Steps<void>): Promise<void> {
    await finishInSlices(steps, { pausing: await this.#turnFor(owner) });
  }
}

/** Whether all memories are there, and none can be made better than it is. */
function isWhole(
  { otherEmbedder, unreadable, full, due }: LoadCounts,
): boolean {
  return otherEmbedder + unreadable + full + due === 0;
}
