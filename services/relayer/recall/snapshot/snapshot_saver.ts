/**
 * Decides when the index of an owner is written down as a snapshot: when it is
 * large, whole and at rest, and much of it is not in the snapshot that there
 * is.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import { describeError } from "../../../shared/settled.ts";
import { NEVER_PAUSING, type Pausing } from "../../../shared/slices.ts";
import { finishInSlices } from "../../concurrency/bounded_work.ts";
import type { RelayerStore } from "../../store/store.ts";
import type { VectorIndex } from "../vector_index.ts";
import type { OwnerSnapshots } from "./owner_snapshots.ts";

/** When a snapshot pays. */
export interface SnapshotBounds {
  /**
   * Fewest memories of an owner with a snapshot: fewer are read from their rows
   * in a moment.
   *
   * @default {2000}
   */
  readonly minMemories?: number | undefined;
  /**
   * Changes that a snapshot has to miss before it is written again: so many are
   * read from rows in some milliseconds.
   *
   * @default {500}
   */
  readonly minChanges?: number | undefined;
}

/** An owner's index of a store that other instances change as well. */
export interface SharedIndex {
  /** The number up to which it has all changes. */
  readonly change: number;
  /** That of the snapshot that some instance has written, if there is one. */
  readonly savedChange: number | undefined;
}

/** Options of {@linkcode SnapshotSaver}. */
interface SnapshotSaverOptions extends SnapshotBounds {
  /** The index that is written down. */
  readonly index: Pick<VectorIndex, "countMemories" | "columnSteps">;
  /** Writes snapshots. */
  readonly snapshots: Pick<OwnerSnapshots, "begin" | "write">;
  /** Knows how many memories an owner has. */
  readonly store: Pick<RelayerStore, "stats">;
  /**
   * Tells what there is to write of an owner; undefined when nothing is.
   *
   * @default the index has all changes of the store, and no other writes
   */
  readonly findShared?:
    | ((owner: string) => Promise<SharedIndex | undefined>)
    | undefined;
  /** Gives other work its turn meanwhile. */
  readonly pausingFor: (owner: string) => Promise<Pausing>;
  /** The time. */
  readonly clock: Clock;
  /** Hears of what was written, and of what cannot be. */
  readonly logger: Logger;
}

/** What is known of an owner in memory. */
interface Tracked {
  /** Changes since the index was read. */
  changes: number;
  /** How many changes there were at the last look. */
  seen: number;
  /**
   * Changes that the snapshot does not have; `Infinity` where there is no
   * snapshot that can be used.
   */
  unsaved: number;
  /**
   * When a snapshot was last written or failed, by a clock that only goes
   * forward.
   */
  triedAtMs: number;
}

const MIN_CHANGES = 500;
/** An owner without changes between two looks is at rest. */
const LOOK_EVERY_MS = 5_000;
/** The least time between two snapshots of an owner. */
const MIN_INTERVAL_MS = 600_000;
/** The longest that a stop waits for snapshots. */
const STOP_MS = 3_000;

/** Writes snapshots of owners that are at rest. */
export class SnapshotSaver {
  readonly #options: SnapshotSaverOptions;
  readonly #owners = new Map<string, Tracked>();
  readonly #looks: Periodic;
  readonly #ending = new AbortController();
  #isStopping = false;

  /** A saver that is not started. */
  constructor(options: SnapshotSaverOptions) {
    this.#options = options;
    const { clock } = options;
    this.#looks = new Periodic({
      clock,
      intervalMs: LOOK_EVERY_MS,
      run: () => this.#saveAll(),
      onError: (error) => this.#tell(error),
    });
  }

  /** From now on looks for owners whose snapshot is due. */
  start(): void {
    this.#looks.start();
  }

  /**
   * Writes the snapshots that are due, as far as there is time. Nothing may
   * change the index from now on.
   */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    this.#isStopping = true;
    const timer = clock.setTimer(() => this.#ending.abort(), STOP_MS);
    try {
      await this.#looks.stop();
      await this.#saveAll();
    } catch (error) {
      this.#tell(error);
    } finally {
      timer.cancel();
    }
  }

  /**
   * Notes that an owner's index was loaded and has all memories, none of which
   * is due to be renewed.
   *
   * @param unsaved Changes that the snapshot does not have; undefined where
   * there is none.
   */
  loaded(owner: string, unsaved: number = Infinity): void {
    const triedAtMs = -Infinity;
    this.#owners.set(owner, { changes: 0, seen: -1, unsaved, triedAtMs });
  }

  /**
   * Notes a change of an owner's index; a removal makes the snapshot useless.
   */
  changed(
    owner: string,
    { isRemoval }: { readonly isRemoval: boolean },
  ): void {
    const tracked = this.#owners.get(owner);
    if (tracked === undefined) return;
    tracked.changes++;
    tracked.unsaved = isRemoval ? Infinity : tracked.unsaved + 1;
  }

  /**
   * Notes that an owner's index is not to be written: it was evicted from
   * memory, or lacks memories of the store.
   */
  gone(owner: string): void {
    this.#owners.delete(owner);
  }

  /**
   * Writes all snapshots that are due. When one fails, those after it are still
   * tried, and the error is thrown at the end.
   */
  async #saveAll(): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    for (const [owner, tracked] of [...this.#owners]) {
      if (this.#ending.signal.aborted) break;
      const isAtRest = tracked.seen === tracked.changes;
      tracked.seen = tracked.changes;
      if (!this.#isDue(owner, tracked, isAtRest)) continue;
      try {
        await this.#save(owner, tracked);
      } catch (error) {
        failure = { error };
        tracked.triedAtMs = steadyMs(this.#options.clock);
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  #tell(error: unknown): void {
    this.#options.logger.warn("Cannot write a snapshot of the index", {
      error: describeError(error),
    });
  }

  #isDue(owner: string, tracked: Tracked, isAtRest: boolean): boolean {
    const { index, clock, minMemories = 2_000, minChanges = MIN_CHANGES } =
      this.#options;
    if (tracked.unsaved < minChanges) return false;
    if (index.countMemories(owner) < minMemories) return false;
    return this.#isStopping ||
      (isAtRest && steadyMs(clock) - tracked.triedAtMs >= MIN_INTERVAL_MS);
  }

  async #save(owner: string, tracked: Tracked): Promise<void> {
    const { index, snapshots, store, clock, logger } = this.#options;
    const { signal } = this.#ending;
    const { findShared, minChanges = MIN_CHANGES } = this.#options;
    const startedMs = steadyMs(clock);
    const shared = await findShared?.(owner);
    if (findShared !== undefined && shared === undefined) return;
    const { change, savedChange = -Infinity } = shared ?? {};
    if (change !== undefined && change - savedChange < minChanges) {
      // Another instance has written it.
      tracked.unsaved = change - savedChange;
      return;
    }
    const { changes } = tracked;
    const isUnchanged = (): boolean =>
      this.#owners.get(owner) === tracked && tracked.changes === changes;
    const isWhole = async (): Promise<boolean> =>
      isUnchanged() &&
      (await store.stats(owner)).memories === index.countMemories(owner);
    // An owner with memories that are stored and not in the index yet is not at
    // rest.
    if (!await isWhole()) return;
    // Changes of others meanwhile come after the number.
    const isValid = change === undefined ? isWhole : isUnchanged;
    const name = await snapshots.begin(owner, change);
    const pausing = this.#isStopping
      ? NEVER_PAUSING
      : await this.#options.pausingFor(owner);
    const columns = await finishInSlices(index.columnSteps(owner), {
      ...{ pausing, signal },
    });
    if (columns === undefined) {
      // The index has what no snapshot can have, until it is loaded again.
      this.#owners.delete(owner);
      return;
    }
    const isWritten = await snapshots.write({ owner, name, columns }, {
      ...{ isValid, signal, pausing },
    });
    if (!isWritten) return;
    tracked.unsaved = 0;
    tracked.triedAtMs = steadyMs(clock);
    const memories = index.countMemories(owner);
    const tookMs = Math.round(tracked.triedAtMs - startedMs);
    logger.info("Wrote a snapshot of the index", { owner, memories, tookMs });
  }
}
