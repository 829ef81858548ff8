/**
 * The index of memories by owner, which keeps the owners who recalled last in
 * memory. An owner's memories are read from the store when they are first asked
 * for, once for all who ask meanwhile, and are evicted when others need the
 * room.
 *
 * After a start, memories are read in the background as far as there is room,
 * so that few recalls wait for it.
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
   * Snapshots of owners' indexes, and the store that has the changes since.
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
   * Bytes that the memories of all owners may take. One owner's are kept
   * however many they are.
   */
  readonly maxBytes: number;
  /**
   * Called for each owner whose memories were read, with how many there are and
   * how many of their entries are due to be renewed.
   */
  readonly onRead?:
    | ((
      owner: string,
      counts: { readonly memories: number; readonly due: number },
    ) => void)
    | undefined;
  /**
   * Deals out turns of the thread; the loads of an owner get as many as any
   * other caller.
   */
  readonly turns?: Pick<FairTurns, "begin"> | undefined;
  /** The time. */
  readonly clock: Clock;
  /**
   * Gets the progress of the preload, and warnings of memories that recall does
   * not find.
   */
  readonly logger: Logger;
}

/** An owner whose memories are in memory or are being read. */
interface OwnerState {
  /** The load that reads the memories; undefined when it is done. */
  load: OwnerLoad | undefined;
  /** Settles with the load: gives its counts, or rejects when it fails. */
  readonly loading: Promise<LoadCounts>;
  /**
   * Searches that wait or run; while there are any, the owner is not evicted.
   */
  users: number;
}

/** What the preload has read. */
interface PreloadCounts extends LoadCounts {
  /** Owners whose memories were read. */
  readonly owners: number;
  /** Owners that there was no room for; they are read when they recall. */
  readonly later: number;
}

/** Bytes that an owner takes beside the memories. */
const OWNER_BYTES = 1_024;
/** Bytes that a memory is assumed to take while there is none to measure. */
const FIRST_MEMORY_BYTES = 4_096;
/** Owners that are read at the same time. */
const PARALLEL_LOADS = 4;
const PROGRESS_EVERY_MS = 5_000;

/**
 * Finds memories of owners, whether they are in memory or have to be read
 * first.
 */
export class OwnerIndex {
  readonly #options: OwnerIndexOptions;
  readonly #vectors: VectorIndex;
  readonly #gate = new Semaphore(PARALLEL_LOADS);
  readonly #saver: SnapshotSaver | undefined;
  readonly #ending = new AbortController();
  /** Owners in the order in which they were last asked for, the latest last. */
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

  /** How often an owner was evicted to make room for others. */
  get evictions(): number {
    return this.#evictions;
  }

  /**
   * The closest memories, the closest first, as {@linkcode VectorIndex.search}
   * finds them; waits while those of the owner are read.
   *
   * @throws what that and the store throw
   */
  async search(
    query: IndexQuery,
    options: SearchOptions,
  ): Promise<readonly IndexHit[]> {
    const { owner } = query;
    const state = this.#getState(owner);
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
   * Makes a memory that the store has already searchable. Does nothing when the
   * owner's memories are not in memory: the next load reads this one with them.
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
      // The index now lacks a memory of the store: it must not become a
      // snapshot.
      this.#saver?.gone(memory.owner);
      throw error;
    }
    this.#makeRoom();
  }

  /**
   * Removes a memory from the index that was deleted from the store or
   * superseded in it.
   */
  remove(owner: string, id: string): void {
    this.#owners.get(owner)?.load?.noteMemory(id);
    this.#saver?.changed(owner, { isRemoval: true });
    this.#vectors.remove(owner, id);
  }

  /** Removes all memories of a namespace that was deleted from the store. */
  removeNamespace(owner: string, namespace: string): void {
    this.#owners.get(owner)?.load?.noteNamespace(namespace);
    this.#saver?.changed(owner, { isRemoval: true });
    this.#clearLater(owner, this.#vectors.dropNamespace(owner, namespace));
  }

  /**
   * Tells whether a memory is in memory with a vector. A memory for which this
   * is false may still be found when its owner has to be read first.
   */
  has(owner: string, id: string): boolean {
    return this.#vectors.has(owner, id);
  }

  /**
   * Reads the memories of all owners that there is room for, one owner after
   * the other.
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
        logger.warn("Cannot report the progress of the index", {
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
      // A failure usually affects many owners: a damaged file, say.
      throw error;
    } finally {
      await progress.stop();
    }
    const tookMs = Math.round(steadyMs(clock) - startedMs);
    logger.info("Loaded the index", { ...counts, tookMs });
    warnOfLeftOut(counts, { logger, wanted });
    return counts;
  }

  /**
   * From now on writes a snapshot of an owner when nothing changes for a while.
   */
  startSnapshots(): void {
    this.#saver?.start();
  }

  /** Ends the preload after the owner that is being read. */
  endPreload(): void {
    this.#isPreloadEnded = true;
  }

  /**
   * Writes the snapshots that are due; ends all loads, and waits for their end;
   * searches that wait for them fail.
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

  /**
   * Returns the state of an owner who is asked for; starts a load when the
   * owner is not in memory.
   */
  #getState(owner: string): OwnerState {
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

  /**
   * Evicts owners, those first who were not asked for for longest, until the
   * others fit into `maxBytes`.
   */
  #makeRoom(): void {
    const { maxBytes } = this.#options;
    if (this.bytes <= maxBytes) return;
    for (const [owner, { load, users }] of this.#owners) {
      // The owner who was asked for last is likely to be asked for again soon.
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

  /**
   * Frees the room of removed memories in steps, between which other work gets
   * its turn.
   */
  #clearLater(owner: string, steps: Steps<void>): void {
    const clearing = this.#clear(owner, steps)
      .finally(() => this.#clearing.delete(clearing));
    this.#clearing.add(clearing);
  }

  async #clear(owner: string, steps: Steps<void>): Promise<void> {
    await finishInSlices(steps, { pausing: await this.#turnFor(owner) });
  }
}

/**
 * Whether all memories are in the index by their vectors, and none is due to be
 * renewed.
 */
function isWhole(
  { otherEmbedder, unreadable, full, due }: LoadCounts,
): boolean {
  return otherEmbedder + unreadable + full + due === 0;
}
