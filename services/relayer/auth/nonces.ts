/**
 * Replay protection: remembers the nonces of accepted requests for as long as
 * the same request could be sent again.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type Clock, steadyMs } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import type { RelayerStore } from "../store/store.ts";

/** The outcome of claiming a nonce. */
type ClaimOutcome =
  /** The nonce was not claimed before. */
  | { readonly kind: "ok"; readonly claim: Claim }
  /** The nonce was claimed before. */
  | { readonly kind: "seen" }
  /**
   * There is no room for further claims; nothing is accepted that could be a
   * replay.
   */
  | { readonly kind: "full" };

/**
 * A claimed nonce; the first call of either method decides whether the claim
 * stays.
 */
interface Claim {
  /**
   * Stores the nonce, as the request is accepted. Where other instances take
   * requests as well, resolves with whether none of them has taken this one;
   * until then nothing may be done for it.
   *
   * @throws what the store throws; then the request must not be accepted
   */
  keep(options?: Pick<KeptNonce, "canWait">): Promise<boolean> | undefined;
  /** Takes the claim back, as the request is refused. */
  release(): void;
}

/** A claimed nonce to be stored. */
interface KeptNonce {
  /** The digest of key and nonce, 32 hexadecimal digits. */
  readonly nonce: string;
  /** When the nonce may be forgotten, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /**
   * Whether the nonce may reach the disk a moment later, together with other
   * writes.
   *
   * @default {false}
   */
  readonly canWait?: boolean | undefined;
}

/**
 * By how much longer than in memory nonces stay in a store that instances share:
 * by more than its time may step where another server takes it over. Else a
 * nonce could expire while an instance that has not seen the step yet still
 * accepts its signature.
 */
const STEP_MS = 60_000;

/**
 * Persists nonces in the store. Each is queued at once, so that it is written
 * before anything the request writes. A store that several instances share
 * decides whether the nonce is new; else the memory does.
 */
export function toStore({ store, storage, logger }: {
  readonly store: Pick<RelayerStore, "commit" | "hasOwnTime">;
  readonly storage: Pick<StorageWatch, "note">;
  /** Learns of nonces that could not be written. */
  readonly logger: Logger;
}): NoncesOptions["persist"] {
  return ({ nonce, expiresAtMs, canWait }) => {
    const change = { kind: "nonce", nonce, expiresAtMs } as const;
    if (store.hasOwnTime) {
      const kept = { ...change, expiresAtMs: expiresAtMs + STEP_MS };
      return store.commit([kept], { canWait })
        .then(({ kind }) => kind === "ok");
    }
    const committing = store.commit([change], { canWait });
    // A conflict says nothing new: the memory knows all nonces of the store.
    committing.catch((error) => {
      if (storage.note(error)) return;
      logger.warn("Cannot store that a request was accepted", {
        error: describeError(error),
      });
    });
    return undefined;
  };
}

/** Options of {@linkcode Nonces}. */
interface NoncesOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Stores a nonce, so that it is known after a restart. The nonce must be in
   * the store's queue when this returns, so that it is written before what the
   * request writes. Must not throw.
   *
   * @returns where the store decides whether the nonce is new, what it has
   * decided
   */
  readonly persist: (nonce: KeptNonce) => Promise<boolean> | undefined;
  /**
   * How long a claim is remembered at least, in milliseconds.
   *
   * @default {600000}
   */
  readonly ttlMs?: number;
  /**
   * Most claims that are remembered. Less than 200 bytes each.
   *
   * @default {2000000}
   */
  readonly maxEntries?: number;
  /**
   * Most of them that one key may have, so that no key takes all the room.
   *
   * @default a half of `maxEntries`
   */
  readonly maxPerKey?: number;
}

/** Claims that were made in the same span of time. */
interface Generation {
  readonly seen: Set<string>;
  /**
   * The number of claims of each key; those that were loaded at the start are
   * not counted.
   */
  readonly perKey: Map<string, number>;
}

/** A moment by the wall clock and by the monotonic clock. */
interface Instant {
  readonly ms: number;
  readonly monotonicMs: number;
}

/**
 * Remembers claims in two generations: the older one is dropped as a whole, so
 * forgetting costs nothing, and a claim lives for one to two times the span.
 */
export class Nonces {
  readonly #options: NoncesOptions;
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #maxPerKey: number;
  #young = newGeneration();
  #old = newGeneration();
  /** When the young generation began. */
  #began: Instant;
  /** When the last claim was made. */
  #lastClaim: Instant;

  /** Makes a set without claims. */
  constructor(options: NoncesOptions) {
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? 600_000;
    this.#maxEntries = options.maxEntries ?? 2_000_000;
    this.#maxPerKey = options.maxPerKey ?? Math.ceil(this.#maxEntries / 2);
    this.#began = instant(options.clock);
    this.#lastClaim = this.#began;
  }

  /** The number of claims that are remembered. */
  get size(): number {
    return this.#young.seen.size + this.#old.seen.size;
  }

  /** Adds the nonces that were stored before a restart. */
  load(nonces: Iterable<string>): void {
    for (const nonce of nonces) this.#young.seen.add(compact(nonce));
  }

  /**
   * Claims the nonce of a key, unless it was claimed before. Claims are
   * separate for each key, so no key can use up the nonces of others.
   */
  claim(publicKey: string, name: string): ClaimOutcome {
    const now = instant(this.#options.clock);
    this.#turn(now);
    const digest = createHash("sha256").update(`${publicKey}.${name}`)
      .digest().subarray(0, 16);
    const entry = digest.toString("latin1");
    if (this.#young.seen.has(entry) || this.#old.seen.has(entry)) {
      return { kind: "seen" };
    }
    const generation = this.#young;
    const count = generation.perKey.get(publicKey) ?? 0;
    const ofKey = count + (this.#old.perKey.get(publicKey) ?? 0);
    if (this.size >= this.#maxEntries || ofKey >= this.#maxPerKey) {
      return { kind: "full" };
    }
    this.#lastClaim = now;
    generation.seen.add(entry);
    generation.perKey.set(publicKey, count + 1);
    const expiresAtMs = now.ms + this.#ttlMs;
    let isOpen = true;
    return {
      kind: "ok",
      claim: {
        keep: ({ canWait } = {}) => {
          if (!isOpen) return undefined;
          isOpen = false;
          const nonce = digest.toString("hex");
          const kept = this.#options.persist({ nonce, expiresAtMs, canWait });
          return kept?.catch((error) => {
            // The request may come again: then the store tells what it has.
            forget(generation, { entry, publicKey });
            throw error;
          });
        },
        release: () => {
          if (isOpen) forget(generation, { entry, publicKey });
          isOpen = false;
        },
      },
    };
  }

  /**
   * Begins a new generation when the current one is a span old, and drops the
   * one before. So a claim is dropped at least a span after it was made.
   */
  #turn(now: Instant): void {
    // Set back: the span begins again, or it would last until the old time.
    if (now.ms < this.#began.ms) this.#began = now;
    if (passedMs(this.#began, now) < this.#ttlMs) return;
    // After a span without claims, no request is left that could be replayed.
    const isStale = passedMs(this.#lastClaim, now) >= this.#ttlMs;
    this.#old = isStale ? newGeneration() : this.#young;
    this.#young = newGeneration();
    this.#began = now;
  }
}

function instant(clock: Clock): Instant {
  const ms = clock.nowMs();
  return { ms, monotonicMs: steadyMs(clock) };
}

/**
 * Returns the time that has passed by both clocks, the shorter of the two: a
 * wall clock that is set ahead and back again must not make claims expire
 * early.
 */
function passedMs(from: Instant, to: Instant): number {
  return Math.min(to.ms - from.ms, to.monotonicMs - from.monotonicMs);
}

function newGeneration(): Generation {
  return { seen: new Set(), perKey: new Map() };
}

function forget(
  generation: Generation,
  claim: { readonly entry: string; readonly publicKey: string },
): void {
  generation.seen.delete(claim.entry);
  const left = (generation.perKey.get(claim.publicKey) ?? 1) - 1;
  if (left > 0) generation.perKey.set(claim.publicKey, left);
  else generation.perKey.delete(claim.publicKey);
}

/**
 * Converts a stored nonce to its form in memory: one character for each byte.
 */
function compact(nonce: string): string {
  return Buffer.from(nonce, "hex").toString("latin1");
}
