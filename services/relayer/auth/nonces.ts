/**
 * Protects against replays: remembers the nonces of requests that were let in for
 * as long as the same request could come once more.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import { steadyMs } from "../concurrency/bounded_work.ts";

/** The outcome of claiming. */
type ClaimOutcome =
  /** It was not there. */
  | { readonly kind: "ok"; readonly claim: Claim }
  /** It was. */
  | { readonly kind: "seen" }
  /** There is no room; nothing is let in that could be a repetition. */
  | { readonly kind: "full" };

/** Something that was claimed; the first call decides what becomes of it. */
interface Claim {
  /** Has it written down, as the request is let in. */
  keep(options?: Pick<KeptNonce, "canWait">): void;
  /** Takes it back, as the request is not let in. */
  release(): void;
}

/** A claim to be written down. */
interface KeptNonce {
  /** What is claimed, 32 hexadecimal digits. */
  readonly nonce: string;
  /** When it may be forgotten, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /**
   * Whether it may reach the disk a moment later, together with other writes.
   *
   * @default {false}
   */
  readonly canWait?: boolean | undefined;
}

/** Options of {@linkcode Nonces}. */
interface NoncesOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Has a claim written down, so that it is known after a restart. It must be in
   * the store's queue when this returns: what is written for the request comes
   * after it. Must not throw.
   */
  readonly persist: (nonce: KeptNonce) => void;
  /**
   * Milliseconds that a claim is remembered for, at least.
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
  /** How many of them each key has; no entry for those from before the start. */
  readonly perKey: Map<string, number>;
}

/** A moment by both clocks. */
interface Instant {
  readonly ms: number;
  readonly monotonicMs: number;
}

/**
 * Remembers claims in two generations: the older one is dropped whole, so
 * forgetting costs nothing and a claim lives for one to two times the span.
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
  /** When something was claimed last. */
  #lastClaim: Instant;

  /** An empty set. */
  constructor(options: NoncesOptions) {
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? 600_000;
    this.#maxEntries = options.maxEntries ?? 2_000_000;
    this.#maxPerKey = options.maxPerKey ?? Math.ceil(this.#maxEntries / 2);
    this.#began = instant(options.clock);
    this.#lastClaim = this.#began;
  }

  /** How many claims are remembered. */
  get size(): number {
    return this.#young.seen.size + this.#old.seen.size;
  }

  /** Takes in what was written down before a restart. */
  load(nonces: Iterable<string>): void {
    for (const nonce of nonces) this.#young.seen.add(compact(nonce));
  }

  /**
   * Claims what names a request of a key, unless it was claimed before. Another
   * key's claim is another one, so no key can burn the nonces of others.
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
          const nonce = digest.toString("hex");
          if (isOpen) this.#options.persist({ nonce, expiresAtMs, canWait });
          isOpen = false;
        },
        release: () => {
          if (isOpen) forget(generation, { entry, publicKey });
          isOpen = false;
        },
      },
    };
  }

  /**
   * Begins a new generation when its time has come. A claim is dropped with the
   * second one that begins after it, at least a span later.
   */
  #turn(now: Instant): void {
    // Set back: the span begins again, or it would last until the old time.
    if (now.ms < this.#began.ms) this.#began = now;
    if (passedMs(this.#began, now) < this.#ttlMs) return;
    // After a silence there is nothing left that could be repeated.
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
 * What has passed both by the time of day and by the time that only goes on: a
 * clock that is set ahead and back again must not make a claim forgotten.
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

/** A written claim as it is kept in memory: a character for each byte. */
function compact(nonce: string): string {
  return Buffer.from(nonce, "hex").toString("latin1");
}
