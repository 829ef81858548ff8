/**
 * A tenant's own key: its secrets are sealed with it, and it is kept wrapped by a
 * master key. Without the wrapped key nothing of the tenant opens again, backups
 * included: to close a tenant, destroy it.
 *
 * @module
 */

import { createHash, createSecretKey, randomBytes } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import {
  associatedData,
  open,
  type OpenFailure,
  type OpenOutcome,
  seal,
  sealedKeyId,
} from "./envelope.ts";
import { KEY_BYTES } from "../../shared/master_keys.ts";
import type { MasterKeys, SealingKey } from "./master_keys.ts";

/** Whose key it is and what wraps it. */
interface TenantKeyOptions {
  /** The tenant; a wrapped key opens for no other. */
  readonly tenantId: string;
  /** The ring of master keys. */
  readonly masterKeys: MasterKeys;
}

/** A new key of a tenant. */
interface NewTenantKey {
  /** The key. */
  readonly key: SealingKey;
  /** What to store of it. */
  readonly wrapped: string;
}

/** The outcome of unwrapping a tenant's key. */
type TenantKeyOutcome =
  | { readonly kind: "ok"; readonly key: SealingKey }
  | OpenFailure;

/** The outcome of wrapping a tenant's key again. */
type RewrapOutcome =
  | {
    readonly kind: "rewrapped";
    /** What to store in place of what was given. */
    readonly wrapped: string;
  }
  | {
    /** It is wrapped by the current master key already, and opens. */
    readonly kind: "current";
  }
  | OpenFailure;

const KEY_ID_BYTES = 9;

/** Makes a random key for a tenant, wrapped by the current master key. */
export function createTenantKey(options: TenantKeyOptions): NewTenantKey {
  const bytes = randomBytes(KEY_BYTES);
  return { key: sealingKey(bytes), wrapped: wrap(bytes, options) };
}

/** Unwraps a tenant's key. */
export function unwrapTenantKey(
  wrapped: string,
  options: TenantKeyOptions,
): TenantKeyOutcome {
  const outcome = unwrap(wrapped, options);
  if (outcome.kind !== "ok") return outcome;
  return { kind: "ok", key: sealingKey(outcome.bytes) };
}

/**
 * Wraps a tenant's key by the current master key, so that an older one can go.
 * The key stays the same: what it sealed needs no change.
 */
export function rewrapTenantKey(
  wrapped: string,
  options: TenantKeyOptions,
): RewrapOutcome {
  const outcome = unwrap(wrapped, options);
  if (outcome.kind !== "ok") return outcome;
  if (sealedKeyId(wrapped) === options.masterKeys.current.id) {
    return { kind: "current" };
  }
  return { kind: "rewrapped", wrapped: wrap(outcome.bytes, options) };
}

function wrap(bytes: Uint8Array, options: TenantKeyOptions): string {
  return seal(bytes, {
    key: options.masterKeys.current,
    associatedData: placeOf(options.tenantId),
  });
}

function unwrap(wrapped: string, options: TenantKeyOptions): OpenOutcome {
  const outcome = open(wrapped, {
    findKey: (id) => options.masterKeys.find(id),
    associatedData: placeOf(options.tenantId),
  });
  return outcome.kind === "ok" && outcome.bytes.length !== KEY_BYTES
    ? { kind: "tampered" }
    : outcome;
}

function placeOf(tenantId: string): Uint8Array {
  return associatedData(["tenant key", tenantId]);
}

/** The id comes from the key, so that a new key never has the id of an old one. */
function sealingKey(bytes: Uint8Array): SealingKey {
  const id = createHash("sha256").update("tenant key id").update(bytes)
    .digest().subarray(0, KEY_ID_BYTES);
  return {
    id: new Uint8Array(id).toBase64({ alphabet: "base64url" }),
    secret: createSecretKey(bytes),
  };
}

/** Options of {@linkcode TenantKeyCache}. */
interface TenantKeyCacheOptions {
  /** What the keys are wrapped by. */
  readonly masterKeys: MasterKeys;
  /**
   * Keys held at most, each a tenant's; the one that was unused for longest
   * makes room.
   *
   * @default {1000}
   */
  readonly maxTenants?: number;
}

/**
 * Unwraps each tenant's key once. What is given is always the key that the
 * stored text holds: when that text changes or goes, the key held before is no
 * longer used.
 */
export class TenantKeyCache {
  readonly #masterKeys: MasterKeys;
  readonly #entries: BoundedMap<string, Entry>;

  /**
   * An empty cache.
   *
   * @throws {RangeError} When `maxTenants` is not a positive whole number.
   */
  constructor(options: TenantKeyCacheOptions) {
    this.#masterKeys = options.masterKeys;
    this.#entries = new BoundedMap({ maxEntries: options.maxTenants ?? 1_000 });
  }

  /** How many keys are held. */
  get size(): number {
    return this.#entries.size;
  }

  /** The key that `wrapped`, as stored for this tenant, holds. */
  unwrap(tenantId: string, wrapped: string): TenantKeyOutcome {
    const held = this.#entries.get(tenantId);
    if (held?.wrapped === wrapped) return { kind: "ok", key: held.key };
    this.#entries.delete(tenantId);
    const outcome = unwrapTenantKey(wrapped, {
      tenantId,
      masterKeys: this.#masterKeys,
    });
    if (outcome.kind === "ok") {
      this.#entries.set(tenantId, { wrapped, key: outcome.key });
    }
    return outcome;
  }

  /** Lets go of a tenant's key, as when the tenant is closed. */
  forget(tenantId: string): void {
    this.#entries.delete(tenantId);
  }
}

interface Entry {
  readonly wrapped: string;
  readonly key: SealingKey;
}

/** The id of the key that seals for a tenant; others of the tenant only open. */
export const CURRENT_KEY_ID = "data";

/** A tenant's wrapped key, as it is stored. */
export interface WrappedKey {
  /** The tenant. */
  readonly tenantId: string;
  /** {@linkcode CURRENT_KEY_ID}, or another one for a key that was replaced. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The wrapped key. */
  readonly wrapped: string;
}

/** What is to be done with a key. */
type RewrapStep =
  /** Nothing: the current master key wraps it, and opens it. */
  | { readonly kind: "current" }
  | {
    /** It is to be stored as `next`, wrapped by the current master key. */
    readonly kind: "rewrapped";
    readonly next: WrappedKey;
  }
  | {
    /** A new key is to be stored in its place, and it beside that. */
    readonly kind: "replaced";
    /** The new key. */
    readonly next: WrappedKey;
    /** The old one, under an id of its own. */
    readonly kept: WrappedKey;
  }
  | {
    /** Nothing: no master key opens it. */
    readonly kind: "lost";
    /** The id of the one that it takes; undefined when it is no wrapped key. */
    readonly masterKeyId: string | undefined;
    /** Whether the tenant has another one to seal with. */
    readonly isReplaced: boolean;
  };

/** Options of {@linkcode planRewrap}. */
interface RewrapPlanOptions {
  /** The ring of master keys. */
  readonly masterKeys: MasterKeys;
  /**
   * Whether a tenant whose key no master key opens is given a new one. The old
   * one stays: what it sealed opens again when its master key comes back.
   * @default {false}
   */
  readonly replacesLost?: boolean;
}

/** Decides what is to be done with a key. */
export function planRewrap(
  stored: WrappedKey,
  { masterKeys, replacesLost = false }: RewrapPlanOptions,
): RewrapStep {
  const { tenantId, id, version, wrapped } = stored;
  const outcome = rewrapTenantKey(wrapped, { tenantId, masterKeys });
  switch (outcome.kind) {
    case "current":
      return { kind: "current" };
    case "rewrapped":
      return {
        kind: "rewrapped",
        next: { ...stored, version: version + 1, wrapped: outcome.wrapped },
      };
    case "wrong_key":
    case "tampered": {
      const isReplaced = id !== CURRENT_KEY_ID;
      const masterKeyId = sealedKeyId(wrapped);
      if (isReplaced || !replacesLost) {
        return { kind: "lost", masterKeyId, isReplaced };
      }
      const made = createTenantKey({ tenantId, masterKeys });
      return {
        kind: "replaced",
        next: { ...stored, version: version + 1, wrapped: made.wrapped },
        // Its version is its own: no two keys of a tenant had the same.
        kept: { ...stored, id: `${id}.${version}`, version: 1 },
      };
    }
  }
}
