/**
 * How much owners have, without asking the store for each text.
 *
 * @module
 */

import type { RelayerStore } from "../store/store.ts";

/** What an owner has. */
export interface Usage {
  /** Bytes of blobs, those on their way included. */
  readonly bytes: number;
  /** Jobs that are unfinished. */
  readonly openJobs: number;
}

/** How long a reading counts; what is added meanwhile is added to it. */
const FRESH_MS = 1_000;
/** Most owners that are remembered. */
const MAX_OWNERS = 10_000;

interface Reading {
  readonly atMs: number;
  bytes: number;
  openJobs: number;
}

/** Readings of a second at most, corrected by what was added since. */
export class StorageUsage {
  readonly #store: Pick<RelayerStore, "stats" | "openJobs">;
  readonly #nowMs: () => number;
  readonly #readings = new Map<string, Reading>();
  readonly #underWay = new Map<string, Promise<Reading>>();

  /** Nothing was read yet of a store, which knows exactly. */
  constructor(
    store: Pick<RelayerStore, "stats" | "openJobs">,
    nowMs: () => number,
  ) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /**
   * What an owner has. The answer changes with each {@linkcode StorageUsage.add},
   * so of many who ask at once, each sees what those before it added.
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
   * Adds what is about to be stored, or takes away what is not stored after all or
   * was deleted: then the numbers are below 0.
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
