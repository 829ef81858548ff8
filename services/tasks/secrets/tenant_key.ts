/**
 * The key of a tenant, which seals the tenant's secrets and is itself stored
 * wrapped by a master key. To erase a closed tenant's secrets, also in backups,
 * destroy the wrapped key: without it nothing can be opened again.
 *
 * @module
 */

import { createHash, randomBytes } from "node:crypto";
import {
  associatedData,
  open,
  type OpenFailure,
  type OpenOutcome,
  seal,
  sealedKeyId,
} from "./envelope.ts";
import { KEY_BYTES } from "../../shared/master_keys.ts";
import { type MasterKeys, SealingKey } from "./master_keys.ts";

/** The tenant of a key, and the master keys that wrap it. */
interface TenantKeyOptions {
  /** The tenant. A wrapped key cannot be unwrapped for another tenant. */
  readonly tenantId: string;
  /** The ring of master keys. */
  readonly masterKeys: MasterKeys;
}

/** A new key of a tenant. */
interface NewTenantKey {
  /** The key. */
  readonly key: SealingKey;
  /** The wrapped key, to be stored. */
  readonly wrapped: string;
}

/** The outcome of unwrapping a tenant's key. */
type TenantKeyOutcome =
  | { readonly kind: "ok"; readonly key: SealingKey }
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

function wrap(bytes: Uint8Array, options: TenantKeyOptions): string {
  const { masterKeys, tenantId } = options;
  return seal(bytes, masterKeys.current, encodePlace(tenantId));
}

function unwrap(wrapped: string, options: TenantKeyOptions): OpenOutcome {
  const { masterKeys, tenantId } = options;
  const outcome = open(
    wrapped,
    (id) => masterKeys.find(id),
    encodePlace(tenantId),
  );
  return outcome.kind === "ok" && outcome.bytes.length !== KEY_BYTES
    ? { kind: "tampered" }
    : outcome;
}

function encodePlace(tenantId: string): Uint8Array {
  return associatedData(["tenant key", tenantId]);
}

/**
 * The key's id is a hash of the key, so that a new key never has the id of an
 * old one.
 */
function sealingKey(bytes: Uint8Array): SealingKey {
  const id = createHash("sha256").update("tenant key id").update(bytes)
    .digest().subarray(0, KEY_ID_BYTES);
  return new SealingKey(bytes, {
    id: new Uint8Array(id).toBase64({ alphabet: "base64url" }),
  });
}

/**
 * The id of the row that has the tenant's sealing key; the tenant's other keys
 * only open.
 */
export const CURRENT_KEY_ID = "data";

/** A tenant's wrapped key, as it is stored. */
export interface WrappedKey {
  /** The tenant. */
  readonly tenantId: string;
  /** {@linkcode CURRENT_KEY_ID}, or another one for a key that was replaced. */
  readonly id: string;
  /** The version of the row: 1 at first, one more with each change. */
  readonly version: number;
  /** The wrapped key. */
  readonly wrapped: string;
}

/** What `tasks rewrap` has to do with a key. */
type RewrapStep =
  /** Nothing: the current master key wraps the key already. */
  | { readonly kind: "current" }
  | {
    /** Store `next`: the same key, wrapped by the current master key. */
    readonly kind: "rewrapped";
    readonly next: WrappedKey;
  }
  | {
    /** Store a new key, and keep the old one beside it. */
    readonly kind: "replaced";
    /** The new key. */
    readonly next: WrappedKey;
    /** The old one, under an id of its own. */
    readonly kept: WrappedKey;
  }
  | {
    /** Nothing can be done: no master key opens the key. */
    readonly kind: "lost";
    /**
     * The id of the missing master key; undefined when the text is not a
     * wrapped key.
     */
    readonly masterKeyId: string | undefined;
    /** Whether the tenant has another key to seal with. */
    readonly isReplaced: boolean;
  };

/** Options of {@linkcode planRewrap}. */
interface RewrapPlanOptions {
  /** The ring of master keys. */
  readonly masterKeys: MasterKeys;
  /**
   * Whether a tenant whose key no master key opens gets a new one. The old key
   * is kept: the secrets it sealed can be opened again when its master key
   * comes back.
   * @default {false}
   */
  readonly replacesLost?: boolean;
}

/**
 * Decides what to do with a key, so that an older master key can be removed.
 * Wrapping a key again does not change the key itself, so secrets sealed with
 * it stay as they are.
 */
export function planRewrap(
  stored: WrappedKey,
  { masterKeys, replacesLost = false }: RewrapPlanOptions,
): RewrapStep {
  const { tenantId, id, version, wrapped } = stored;
  const options = { tenantId, masterKeys };
  const outcome = unwrap(wrapped, options);
  const masterKeyId = sealedKeyId(wrapped);
  if (outcome.kind === "ok") {
    if (masterKeyId === masterKeys.current.id) return { kind: "current" };
    const next = wrap(outcome.bytes, options);
    return {
      kind: "rewrapped",
      next: { ...stored, version: version + 1, wrapped: next },
    };
  }
  const isReplaced = id !== CURRENT_KEY_ID;
  if (isReplaced || !replacesLost) {
    return { kind: "lost", masterKeyId, isReplaced };
  }
  const made = createTenantKey(options);
  return {
    kind: "replaced",
    next: { ...stored, version: version + 1, wrapped: made.wrapped },
    // The row's version makes the id unique: no two keys of a tenant had the
    // same version.
    kept: { ...stored, id: `${id}.${version}`, version: 1 },
  };
}
