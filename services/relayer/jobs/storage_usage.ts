/**
 * What owners have stored and are about to store, so that requests at once
 * cannot take more than a quota together. The store is asked once a second for
 * each owner, not for each text.
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

/** How much an owner may have. */
interface UsageLimits {
  /** Most bytes. */
  readonly quotaBytes: number;
  /**
   * Most unfinished jobs.
   *
   * @default no limit
   */
  readonly maxOpenJobs?: number | undefined;
}

/** Room that is taken for a write until it is known what became of it. */
export interface Reservation {
  /**
   * Ends it once the write has ended and the store has, or may have, what was
   * written: it counts until the store is read again.
   */
  settle(): void;
  /** Ends it when nothing was written. */
  release(): void;
}

/** The outcome of {@linkcode StorageUsage.reserve}. */
type ReserveOutcome =
  | { readonly kind: "ok"; readonly reservation: Reservation }
  /** The owner would have more bytes than the quota. */
  | { readonly kind: "over_quota" }
  /** The owner would have too many unfinished jobs. */
  | { readonly kind: "too_many_jobs" };

/** How long a reading of the store counts, in milliseconds. */
const FRESH_MS = 1_000;
/**
 * The age from which a reading is made again while it still counts, where that
 * takes a database some time: to count 30,000 unfinished jobs, 10 to 60 ms. So
 * an owner who stores all the time does not wait for it each second.
 */
const AHEAD_MS = 700;
/** Most owners who are remembered; beyond it all are forgotten who can be. */
const MAX_OWNERS = 10_000;

const NOTHING: Usage = { bytes: 0, openJobs: 0 };

interface OwnerUsage {
  /** What the store had; undefined when it has to be read. */
  reading: { readonly atMs: number; readonly usage: Usage } | undefined;
  /** The reading that is under way. */
  underWay: Promise<void> | undefined;
  /** What is reserved for writes that are under way. */
  reserved: Usage;
  /** What was written since the reading began, which it may lack. */
  written: Usage;
  /** What was written since the reading that is under way began. */
  writtenAhead: Usage;
}

type UsageStore = Pick<RelayerStore, "stats" | "openJobs" | "hasOwnTime">;

/** Takes room for what owners store, within their limits. */
export class StorageUsage {
  readonly #store: UsageStore;
  readonly #nowMs: () => number;
  readonly #owners = new Map<string, OwnerUsage>();

  /** Starts without readings of a store, which knows the exact numbers. */
  constructor(
    store: UsageStore,
    nowMs: () => number,
  ) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /**
   * Takes room for what is about to be stored, unless the owner would have more
   * than the limits, with all that other requests have reserved.
   *
   * @throws what the store throws
   */
  async reserve(
    owner: string,
    added: Usage,
    { quotaBytes, maxOpenJobs = Infinity }: UsageLimits,
  ): Promise<ReserveOutcome> {
    for (;;) {
      const state = this.#getUsage(owner);
      const { reading, reserved, written } = state;
      if (reading === undefined || this.#ageMs(reading) >= FRESH_MS) {
        state.reading = undefined;
        await this.#read(owner, state);
        continue;
      }
      if (this.#store.hasOwnTime && this.#ageMs(reading) >= AHEAD_MS) {
        // If it fails, the one who needs it tries again.
        this.#read(owner, state).catch(() => {});
      }
      // No other request comes between this sum and the reservation.
      const sum = [reading.usage, reserved, written, added].reduce(plus);
      if (sum.bytes > quotaBytes) return { kind: "over_quota" };
      if (sum.openJobs > maxOpenJobs) return { kind: "too_many_jobs" };
      return { kind: "ok", reservation: reservationIn(state, added) };
    }
  }

  /**
   * Takes note that the store changed otherwise, by a deletion for example: the
   * next reservation reads it again.
   */
  changed(owner: string): void {
    const state = this.#owners.get(owner);
    if (state === undefined) return;
    state.reading = undefined;
    // A reading that is under way may be from before the change.
    state.underWay = undefined;
  }

  #ageMs({ atMs }: { readonly atMs: number }): number {
    return Math.abs(this.#nowMs() - atMs);
  }

  #getUsage(owner: string): OwnerUsage {
    const known = this.#owners.get(owner);
    if (known !== undefined) return known;
    if (this.#owners.size >= MAX_OWNERS) this.#forgetIdle();
    const state: OwnerUsage = {
      reading: undefined,
      underWay: undefined,
      reserved: NOTHING,
      written: NOTHING,
      writtenAhead: NOTHING,
    };
    this.#owners.set(owner, state);
    return state;
  }

  /** Forgets owners without reservations: they are read when they store. */
  #forgetIdle(): void {
    for (const [owner, { reserved, underWay }] of this.#owners) {
      const isIdle = reserved.bytes === 0 && reserved.openJobs === 0;
      if (isIdle && underWay === undefined) this.#owners.delete(owner);
    }
  }

  /** Reads the store, once for all who ask meanwhile. */
  #read(owner: string, state: OwnerUsage): Promise<void> {
    if (state.underWay !== undefined) return state.underWay;
    // All that was written up to here is in what is read now.
    state.writtenAhead = NOTHING;
    const reading = this.#stored(owner).then((usage) => {
      if (state.underWay !== reading) return;
      state.reading = { atMs: this.#nowMs(), usage };
      state.written = state.writtenAhead;
    }).finally(() => {
      if (state.underWay === reading) state.underWay = undefined;
    });
    state.underWay = reading;
    return reading;
  }

  async #stored(owner: string): Promise<Usage> {
    const [stored, open] = await Promise.all([
      this.#store.stats(owner),
      this.#store.openJobs(owner),
    ]);
    return { bytes: stored.bytes + open.bytes, openJobs: open.jobs };
  }
}

function reservationIn(state: OwnerUsage, added: Usage): Reservation {
  state.reserved = plus(state.reserved, added);
  const release = (): void => {
    state.reserved = minus(state.reserved, added);
  };
  return {
    release,
    settle() {
      release();
      state.written = plus(state.written, added);
      state.writtenAhead = plus(state.writtenAhead, added);
    },
  };
}

function plus(left: Usage, right: Usage): Usage {
  return {
    bytes: left.bytes + right.bytes,
    openJobs: left.openJobs + right.openJobs,
  };
}

function minus(left: Usage, right: Usage): Usage {
  return {
    bytes: left.bytes - right.bytes,
    openJobs: left.openJobs - right.openJobs,
  };
}
