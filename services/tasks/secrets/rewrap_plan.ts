/**
 * What is to become of a tenant's wrapped key when master keys change.
 *
 * @module
 */

import { sealedKeyId } from "./envelope.ts";
import type { MasterKeys } from "./master_keys.ts";
import { createTenantKey, rewrapTenantKey } from "./tenant_key.ts";

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
export type RewrapStep =
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
export interface RewrapPlanOptions {
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
