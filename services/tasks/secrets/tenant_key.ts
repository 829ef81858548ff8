/**
 * A tenant's own key: what its secrets are sealed with, itself kept wrapped by a
 * master key. Without the wrapped key nothing of the tenant opens any more,
 * backups included: to close a tenant, destroy it.
 *
 * @module
 */

import { createHash, createSecretKey, randomBytes } from "node:crypto";
import { associatedData } from "./associated_data.ts";
import {
  open,
  type OpenFailure,
  type OpenOutcome,
  seal,
  sealedKeyId,
} from "./envelope.ts";
import { KEY_BYTES, type MasterKeys, type SealingKey } from "./master_keys.ts";

/** Whose key it is and what wraps it. */
export interface TenantKeyOptions {
  /** The tenant; a wrapped key opens for no other. */
  readonly tenantId: string;
  /** The ring of master keys. */
  readonly masterKeys: MasterKeys;
}

/** A new key of a tenant. */
export interface NewTenantKey {
  /** The key. */
  readonly key: SealingKey;
  /** What to store of it. */
  readonly wrapped: string;
}

/** What unwrapping a tenant's key comes to. */
export type TenantKeyOutcome =
  | { readonly kind: "ok"; readonly key: SealingKey }
  | OpenFailure;

/** What wrapping a tenant's key anew comes to. */
export type RewrapOutcome =
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
