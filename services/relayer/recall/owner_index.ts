/**
 * The index of memories by owner, which keeps the owners who recalled last in
 * memory. An owner's memories are read from the store when they are first asked
 * for, once for all who ask meanwhile, and are evicted when others need the
 * room.
 *
 * Where other instances share the store, the index of each owner follows its
 * changes, and changes of this instance come to it by the store's feed alone.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import {
  finishInSlices,
  ownTurn,
  type Steps,
} from "../concurrency/bounded_work.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import type { RelayerStore } from "../store/store.ts";
import type {
  IndexedMemory,
  IndexHit,
  IndexQuery,
  WantedVectors,
} from "./memory_index.ts";
import { isWhole, type LoadCounts, warnOfLeftOut } from "./load_counts.ts";
import {
  type FollowerParts,
  type Look,
  lookAt,
  OwnerFollower,
  type SharedStore,
} from "./owner_follower.ts";
import {
  OwnerLoad,
  type OwnerLoadParts,
  type SnapshotParts,
} from "./owner_load.ts";
import { type PreloadCounts, preloadOwners } from "./owner_preload.ts";
import { OwnerState } from "./owner_state.ts";
import type { OwnerSnapshots } from "./snapshot/owner_snapshots.ts";
import {
  type SharedIndex,
  type SnapshotBounds,
  SnapshotSaver,
} from "./snapshot/snapshot_saver.ts";
import {
  type SearchOptions as VectorSearchOptions,
  VectorIndex,
} from "./vector_index.ts";
import { WrittenLately } from "./written_lately.ts";

/** Options of {@linkcode OwnerIndex}. */
interface OwnerIndexOptions extends Pick<OwnerLoadParts, "vault" | "pageRows"> {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "scanMemories" | "memoryOwners">;
  /**
   * Has the changes of all instances, where there are others.
   *
   * @default this instance has the store for itself, and nothing is asked
   */
  readonly shared?: SharedStore | undefined;
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
   * Schedules work on the thread fairly: loads of an owner get the same share as
   * any other caller.
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

/** Options of {@linkcode OwnerIndex.search}. */
export interface SearchOptions extends VectorSearchOptions {
  /**
   * What {@linkcode OwnerIndex.look} has asked for.
   *
   * @default it is asked for now
   */
  readonly look?: Look | undefined;
  /**
   * Searches what was read so far when the owner's rows are still being read.
   *
   * @default the search waits until all are read
   */
  readonly early?: {
    /** Milliseconds that the search waits for all of them. */
    readonly afterMs: number;
    /** Called when the hits are of what was read so far. */
    readonly onEarly: () => void;
  } | undefined;
}

/** Bytes that an owner takes beside the memories. */
const OWNER_BYTES = 1_024;
/** Bytes that a memory is assumed to take while there is none to measure. */
const FIRST_MEMORY_BYTES = 4_096;
/** Owners that are read at the same time. */
const PARALLEL_LOADS = 4;

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
  readonly #followers: FollowerParts | undefined;
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
    const { snapshots, shared } = options;
    this.#saver = snapshots && new SnapshotSaver({
      ...{ ...options, ...snapshots },
      findShared: shared && ((owner) => this.#findShared(owner)),
      snapshots: snapshots.source,
      index: this.#vectors,
      pausingFor: (owner) => this.#turnFor(owner),
    });
    this.#followers = shared && {
      ...{ ...options, shared, written: new WrittenLately() },
      index: this.#followedIndex,
      hasSnapshots: snapshots !== undefined,
      pausingFor: (owner) => this.#turnFor(owner),
      signal: this.#ending.signal,
      readAnew: (owner) => this.#loadAnew(owner),
      onFollowed: (owner, counts) => this.#followed(owner, counts),
    };
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
   * Begins to ask for the number of an owner's last change, so that other work
   * can be done meanwhile; undefined where this instance has the store for
   * itself.
   */
  look(owner: string): Look | undefined {
    const { shared } = this.#options;
    if (shared === undefined) return undefined;
    const { follower } = this.#owners.get(owner) ?? {};
    return follower?.look() ?? lookAt(owner, { shared, least: 0 });
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
    const { look = this.look(owner) } = options;
    const state = this.#getState(owner);
    const { early, signal } = options;
    const { clock } = this.#options;
    try {
      return await state.use(async () => {
        if (await state.isRead({ clock, afterMs: early?.afterMs })) {
          if (look !== undefined) await state.follower?.catchUp(look);
        } else early?.onEarly();
        signal?.throwIfAborted();
        return await state.search(() => this.#vectors.search(query, options));
      });
    } finally {
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
    if (this.#followers !== undefined) return this.#wrote(state, memory);
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
    const state = this.#owners.get(owner);
    if (this.#followers !== undefined) return this.#wrote(state);
    state?.load?.noteMemory(id);
    this.#saver?.changed(owner, { isRemoval: true });
    this.#vectors.remove(owner, id);
  }

  /** Removes all memories of a namespace that was deleted from the store. */
  removeNamespace(owner: string, namespace: string): void {
    const state = this.#owners.get(owner);
    if (this.#followers !== undefined) return this.#wrote(state);
    state?.load?.noteNamespace(namespace);
    this.#saver?.changed(owner, { isRemoval: true });
    this.#clearLater(owner, this.#vectors.dropNamespace(owner, namespace));
  }

  /**
   * Tells whether a memory is in memory with a vector. A memory for which this
   * is false may still be found when its owner has to be read first, or when
   * other instances may have removed it meanwhile.
   */
  has(owner: string, id: string): boolean {
    return this.#options.shared === undefined && this.#vectors.has(owner, id);
  }

  /**
   * Reads the memories of all owners that there is room for, one owner after
   * the other.
   *
   * @returns what was read; undefined when it was stopped
   * @throws what the store throws
   */
  async preload(): Promise<PreloadCounts | undefined> {
    try {
      return await preloadOwners({
        ...this.#options,
        size: () => this.size,
        read: (owner, memories) => this.#preload(owner, memories),
        isEnded: () => this.#isPreloadEnded,
      });
    } catch (error) {
      if (this.#ending.signal.aborted) return undefined;
      // A failure usually affects many owners: a damaged file, say.
      throw error;
    }
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
    const loads = [...this.#owners.values()]
      .flatMap(({ loading, follower }) => [loading, follower?.idle()]);
    await Promise.allSettled([...loads, ...this.#clearing]);
  }

  /** Reads an owner before a search asks for it, if there is room. */
  #preload(
    owner: string,
    memories: number,
  ): Promise<LoadCounts> | "later" | undefined {
    if (this.#owners.has(owner)) return undefined;
    const usual = this.size === 0
      ? FIRST_MEMORY_BYTES
      : this.#vectors.bytes / this.size;
    const wantedBytes = OWNER_BYTES + memories * usual;
    if (this.bytes + wantedBytes > this.#options.maxBytes) return "later";
    return this.#begin(owner, { isAsked: false }).loading;
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
    const load = this.#createLoad(owner);
    const state = new OwnerState(
      { load, loading: this.#run(owner, load) },
      this.#followers && new OwnerFollower(owner, this.#followers),
    );
    this.#owners.set(owner, state);
    state.loading.then(
      (counts) => this.#loaded(owner, { state, load, counts, isAsked }),
      () => this.#drop(owner),
    );
    return state;
  }

  #createLoad(owner: string): OwnerLoad {
    const { snapshots } = this.#options;
    const index = this.#vectors;
    return new OwnerLoad(owner, {
      ...{ ...this.#options, index },
      snapshots: snapshots && { ...snapshots, index },
    });
  }

  #loaded(
    owner: string,
    { state, load, counts, isAsked }: {
      readonly state: OwnerState;
      readonly load: OwnerLoad;
      readonly counts: LoadCounts;
      readonly isAsked: boolean;
    },
  ): void {
    state.loaded();
    state.follower?.begin(load.change);
    if (isWhole(counts)) this.#saver?.loaded(owner, load.unsaved);
    const { logger, wanted, onRead } = this.#options;
    const { loaded, otherEmbedder, due } = counts;
    onRead?.(owner, { memories: loaded + otherEmbedder, due });
    if (isAsked) warnOfLeftOut(counts, { logger, wanted, owner });
    this.#makeRoom();
  }

  /** Tells the follower what this instance has written. */
  #wrote(state: OwnerState | undefined, memory?: IndexedMemory): void {
    const { follower } = state ?? {};
    if (state === undefined || follower === undefined) return;
    if (!follower.wrote(memory)) return;
    state.catchUp().catch((error) => {
      if (this.#ending.signal.aborted) return;
      this.#options.logger.warn(
        "Cannot follow the changes of an owner; the next search tries again",
        { owner: follower.owner, error: describeError(error) },
      );
    }).finally(() => this.#makeRoom());
  }

  #followed(owner: string, counts: LoadCounts): void {
    if (isWhole(counts)) return;
    // The index lacks memories now, so it must not become a snapshot.
    this.#saver?.gone(owner);
    const { logger, wanted, onRead } = this.#options;
    const memories = this.#vectors.countMemories(owner);
    onRead?.(owner, { memories, due: counts.due });
    warnOfLeftOut(counts, { logger, wanted, owner });
  }

  /** The index as following changes it: snapshots learn of it. */
  get #followedIndex(): FollowerParts["index"] {
    const index = this.#vectors;
    return {
      holds: (owner, id) => index.holds(owner, id),
      add: (memory) => {
        this.#saver?.changed(memory.owner, { isRemoval: false });
        index.add(memory);
      },
      remove: (owner, id) => {
        if (!index.holds(owner, id)) return;
        this.#saver?.changed(owner, { isRemoval: true });
        index.remove(owner, id);
      },
      countMemories: (owner) => index.countMemories(owner),
    };
  }

  /** Reads all memories of an owner in place of those that the index has. */
  #loadAnew(owner: string): Promise<void> {
    const state = this.#owners.get(owner);
    if (state === undefined) return Promise.resolve();
    const load = this.#createLoad(owner);
    return state.readAnew(() => this.#replace(owner, { state, load }));
  }

  async #replace(
    owner: string,
    { state, load }: { readonly state: OwnerState; readonly load: OwnerLoad },
  ): Promise<void> {
    this.#saver?.gone(owner);
    this.#clearLater(owner, this.#vectors.removeOwner(owner));
    const loading = this.#run(owner, load);
    try {
      const counts = await loading;
      this.#loaded(owner, { state, load, counts, isAsked: true });
    } catch (error) {
      state.failed({ load, loading });
      this.#drop(owner);
      throw error;
    }
  }

  /**
   * Follows an owner's changes, and returns the change number for a snapshot;
   * undefined when the owner is not in memory.
   */
  async #findShared(owner: string): Promise<SharedIndex | undefined> {
    const { shared } = this.#options;
    const state = this.#owners.get(owner);
    const { follower } = state ?? {};
    if (shared === undefined || state === undefined) return undefined;
    if (follower === undefined) return undefined;
    await state.catchUp();
    const { change } = follower;
    const snapshot = await shared.snapshot(owner);
    return { change, savedChange: snapshot?.change };
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
    for (const [owner, state] of this.#owners) {
      if (state.isInUse) continue;
      // The owner who was asked for last is likely to be asked for again soon.
      if (owner === this.#latest) continue;
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
