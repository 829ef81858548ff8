/**
 * The storage usage of owners, cached, so that the store is not asked for each
 * text.
 *
 * @module
 */

import type { RelayerStore } from "../store/store.ts";

/** How much an owner has. */
export interface Usage {
  /** Bytes of blobs, including those of unfinished jobs. */
  readonly bytes: number;
  /** Jobs that are unfinished. */
  readonly openJobs: number;
}

/** How long a reading of the store counts, in milliseconds. */
const FRESH_MS = 1_000;
/** Most owners whose readings are cached; beyond it the cache is emptied. */
const MAX_OWNERS = 10_000;

interface Reading {
  readonly atMs: number;
  bytes: number;
  openJobs: number;
}

/**
 * Caches readings of the store for a second, corrected by what was added since.
 */
export class StorageUsage {
  readonly #store: Pick<RelayerStore, "stats" | "openJobs">;
  readonly #nowMs: () => number;
  readonly #readings = new Map<string, Reading>();
  readonly #underWay = new Map<string, Promise<Reading>>();

  /**
   * Makes a cache without readings over a store, which knows the exact numbers.
   */
  constructor(
    store: Pick<RelayerStore, "stats" | "openJobs">,
    nowMs: () => number,
  ) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /**
   * Returns how much an owner has. The returned object changes with each
   * {@linkcode StorageUsage.add}, so of many concurrent requests, each sees
   * what those before it added.
   */
  async of(owner: string): Promise<Usage> {
    const nowMs = this.#nowMs();
    const known = this.#readings.get(owner);
    if (known !== undefined && Math.abs(nowMs - known.atMs) < FRESH_MS) {
      return known;
    }
    const underWay = this.#underWay.get(owner);
    if (underWay !== undefined) return await underWay;
    const reading = this.#read(owner, nowMs);
    this.#underWay.set(owner, reading);
    try {
      return await reading;
    } finally {
      this.#underWay.delete(owner);
    }
  }

  /**
   * Adds what is about to be stored. Negative numbers take away what was not
   * stored after all, or was deleted.
   */
  add(owner: string, added: Usage): void {
    const known = this.#readings.get(owner);
    if (known === undefined) return;
    known.bytes = Math.max(0, known.bytes + added.bytes);
    known.openJobs = Math.max(0, known.openJobs + added.openJobs);
  }

  async #read(owner: string, nowMs: number): Promise<Reading> {
    const [stored, open] = await Promise.all([
      this.#store.stats(owner),
      this.#store.openJobs(owner),
    ]);
    const reading = {
      atMs: nowMs,
      bytes: stored.bytes + open.bytes,
      openJobs: open.jobs,
    };
    if (this.#readings.size >= MAX_OWNERS) this.#readings.clear();
    this.#readings.set(owner, reading);
    return reading;
  }
}
