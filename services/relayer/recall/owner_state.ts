/**
 * An owner whose memories are in memory or are being read: who waits for them,
 * who searches them, and when they may be evicted or read again.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { LoadCounts } from "./load_counts.ts";
import type { OwnerFollower } from "./owner_follower.ts";
import type { OwnerLoad } from "./owner_load.ts";

/** Options of {@linkcode OwnerState.isRead}. */
interface ReadOptions {
  /** The time. */
  readonly clock: Clock;
  /** Milliseconds that it waits at most; undefined for no limit. */
  readonly afterMs: number | undefined;
}

/** The load that reads an owner's memories, and the outcome of it. */
interface Loading {
  /** The load. */
  readonly load: OwnerLoad;
  /** Gives its counts, or rejects when it fails. */
  readonly loading: Promise<LoadCounts>;
}

/** An owner whose memories are in memory or are being read. */
export class OwnerState {
  /** Follows the changes of a shared store; undefined where it is not shared. */
  readonly follower: OwnerFollower | undefined;
  #load: OwnerLoad | undefined;
  #loading: Promise<LoadCounts>;
  /** Searches that wait or run. */
  #users = 0;
  /** Searches that run. */
  #searching = 0;
  #onIdle: (() => void) | undefined;
  #rereading: Promise<void> | undefined;

  /** An owner whose memories are being read. */
  constructor(
    { load, loading }: Loading,
    follower: OwnerFollower | undefined,
  ) {
    this.#load = load;
    this.#loading = loading;
    this.follower = follower;
  }

  /** The load that reads the memories; undefined when it is done. */
  get load(): OwnerLoad | undefined {
    return this.#load;
  }

  /** Settles with the load: gives its counts, or rejects when it fails. */
  get loading(): Promise<LoadCounts> {
    return this.#loading;
  }

  /** Whether the owner cannot be evicted now. */
  get isInUse(): boolean {
    return this.#load !== undefined || this.#users > 0 ||
      this.follower?.isBusy === true;
  }

  /** The load is done. */
  loaded(): void {
    this.#load = undefined;
  }

  /** A load failed: searches must fail, too, as the index lacks memories. */
  failed({ load, loading }: Loading): void {
    this.#load = load;
    this.#loading = loading;
  }

  /** Does work during which the owner is not evicted. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    this.#users++;
    try {
      return await work();
    } finally {
      this.#users--;
    }
  }

  /** Waits for the load, if there is one; false when that takes too long. */
  async isRead({ clock, afterMs }: ReadOptions): Promise<boolean> {
    if (this.#load === undefined) return true;
    if (afterMs !== undefined) {
      const late = Promise.withResolvers<void>();
      const timer = clock.setTimer(late.resolve, afterMs);
      try {
        await Promise.race([this.#loading, late.promise]);
      } finally {
        timer.cancel();
      }
      // A snapshot is quick, and is there as a whole or not at all.
      if (this.#load?.readsRows === true) return false;
    }
    await this.#loading;
    return true;
  }

  /** Searches, once the memories are not being read again. */
  async search<T>(run: () => Promise<T>): Promise<T> {
    while (this.#rereading !== undefined) await this.#rereading;
    this.#searching++;
    try {
      return await run();
    } finally {
      if (--this.#searching === 0) this.#onIdle?.();
    }
  }

  /**
   * Follows the changes up to the newest; the owner is not evicted meanwhile.
   * Does nothing where the store is not shared.
   */
  async catchUp(): Promise<void> {
    const { follower } = this;
    if (follower === undefined) return;
    await this.use(async () => {
      const look = follower.look();
      if (this.#load !== undefined) await this.#loading;
      await follower.catchUp(look);
    });
  }

  /**
   * Replaces the memories once no search runs; none begins before the end.
   */
  readAnew(replace: () => Promise<void>): Promise<void> {
    this.#rereading = this.#whenIdle(replace).finally(() =>
      this.#rereading = undefined
    );
    return this.#rereading;
  }

  async #whenIdle(replace: () => Promise<void>): Promise<void> {
    if (this.#searching > 0) {
      await new Promise<void>((resolve) => this.#onIdle = resolve);
      this.#onIdle = undefined;
    }
    await replace();
  }
}
