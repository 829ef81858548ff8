/**
 * A tenant's own key: its secrets are sealed with it, and it is kept wrapped by a
 * master key. Without the wrapped key nothing of the tenant opens again, backups
 * included: to close a tenant, destroy it.
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
  return seal(bytes, masterKeys.current, placeOf(tenantId));
}

function unwrap(wrapped: string, options: TenantKeyOptions): OpenOutcome {
  const { masterKeys, tenantId } = options;
  const outcome = open(
    wrapped,
    (id) => masterKeys.find(id),
    placeOf(tenantId),
  );
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
  return new SealingKey(bytes, {
    id: new Uint8Array(id).toBase64({ alphabet: "base64url" }),
  });
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

/**
 * Decides what is to be done with a key, so that an older master key can go. A
 * key that is wrapped again stays the same: what it sealed needs no change.
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
    // Its version is its own: no two keys of a tenant had the same.
    kept: { ...stored, id: `${id}.${version}`, version: 1 },
  };
}
