/**
 * The keys of owners that are derived from root keys, and what is wrapped under
 * them.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { type Logger, RateLimitedLog } from "../../shared/logger.ts";
import {
  importedKey,
  KEY_BYTES,
  openEnvelope,
  sealEnvelope,
} from "./envelope.ts";
import { type EnvelopeHead, readEnvelope } from "./envelope_head.ts";
import type { KeyPurpose, RootKeys } from "./root_keys.ts";
import type { OpenFailure } from "./vault.ts";

/** Parts of {@linkcode DerivedKeys}. */
interface DerivedKeysParts {
  /** The root keys, which are overwritten with the derived ones. */
  readonly roots: RootKeys;
  /** Hears of root keys that do not open. */
  readonly logger: Logger;
  /** Bounds the log. */
  readonly clock: Clock;
}

/** A key, and the id of the root key that it is derived from. */
interface SealingKey {
  /** The id. */
  readonly keyId: string;
  /** The key, to be used before anything is awaited. */
  readonly key: Uint8Array;
}

const MAX_KEYS = 4_096;

/** Derives keys once, and keeps some. */
export class DerivedKeys {
  readonly #roots: RootKeys;
  readonly #log: RateLimitedLog;
  /** Keys never end; one is overwritten when it leaves. */
  readonly #keys = new BoundedMap<string, Uint8Array>({
    maxEntries: MAX_KEYS,
    onLeave: (key) => key.fill(0),
  });
  /** Keys that open index entries, in a form that can't be overwritten. */
  readonly #imported = new BoundedMap<string, Promise<CryptoKey>>({
    maxEntries: MAX_KEYS,
  });
  #isWiped = false;

  /** Starts without derived keys. */
  constructor({ roots, logger, clock }: DerivedKeysParts) {
    this.#roots = roots;
    this.#log = new RateLimitedLog(logger, clock);
  }

  /** Overwrites all keys. */
  wipe(): void {
    this.#isWiped = true;
    this.#keys.clear();
    this.#imported.clear();
    this.#roots.wipe();
  }

  /** The key that seals for an owner now. */
  current(purpose: KeyPurpose, owner: string): SealingKey {
    return this.#demand(this.#roots.currentId, purpose, owner);
  }

  /**
   * The first key of an owner, which never changes: digests are compared with
   * much older ones.
   */
  first(purpose: KeyPurpose, owner: string): Uint8Array {
    return this.#demand(this.#roots.firstId, purpose, owner).key;
  }

  /**
   * Learns the root key that an envelope names, which another relayer may have
   * made. Returns undefined where it is known; else resolves with why there is
   * none.
   */
  learn(
    { keyId: rootId }: EnvelopeHead,
  ): Promise<OpenFailure | undefined> | undefined {
    return this.#roots.has(rootId) ? undefined : this.#learnMissing(rootId);
  }

  /** The key that opens index entries under a known root key. */
  indexKey({ keyId }: EnvelopeHead, owner: string): Uint8Array {
    return this.#demand(keyId, "index", owner).key;
  }

  /** As {@linkcode DerivedKeys.indexKey}, for long envelopes. */
  importedIndexKey(head: EnvelopeHead, owner: string): Promise<CryptoKey> {
    const name = `${head.keyId} ${owner}`;
    const known = this.#imported.get(name);
    if (known !== undefined) return known;
    const imported = importedKey(this.indexKey(head, owner), "decrypt");
    this.#imported.set(name, imported);
    return imported;
  }

  /** Wraps a key of an owner; it opens with the same owner and names only. */
  wrap(owner: string, key: Uint8Array, names: readonly string[]): Uint8Array {
    return sealEnvelope(key, {
      ...this.current("data key", owner),
      kind: "data_key",
      context: [owner, ...names],
    });
  }

  /** Unwraps a key of an owner; resolves with the key, or why there is none. */
  async unwrap(
    owner: string,
    wrapped: Uint8Array,
    names: readonly string[],
  ): Promise<Uint8Array | OpenFailure> {
    const read = readEnvelope(wrapped);
    if (read.kind !== "ok") return "damaged";
    const { head } = read;
    const lacking = await this.learn(head);
    if (lacking !== undefined) return lacking;
    const ownerKey = this.#derive(head.keyId, "data key", owner);
    if (ownerKey === undefined) return "key_gone";
    const context = [owner, ...names];
    const key = openEnvelope(wrapped, head, { key: ownerKey, context });
    return key?.length === KEY_BYTES ? key : "damaged";
  }

  async #learnMissing(rootId: string): Promise<OpenFailure | undefined> {
    const outcome = await this.#roots.learn(rootId);
    if (outcome?.kind !== "locked") return outcome && "key_gone";
    const { reason } = outcome;
    this.#log.warn("Cannot open what another relayer has sealed", { reason });
    return "unavailable";
  }

  #demand(keyId: string, purpose: KeyPurpose, owner: string): SealingKey {
    const key = this.#derive(keyId, purpose, owner);
    if (key === undefined) throw new Error("Cannot seal: the root key is gone");
    return { keyId, key };
  }

  #derive(
    rootId: string,
    purpose: KeyPurpose,
    owner: string,
  ): Uint8Array | undefined {
    if (this.#isWiped) throw new Error("Cannot use the vault: it was stopped");
    const name = `${rootId} ${purpose} ${owner}`;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key = this.#roots.derive(rootId, purpose, owner);
    if (key !== undefined) this.#keys.set(name, key);
    return key;
  }
}
