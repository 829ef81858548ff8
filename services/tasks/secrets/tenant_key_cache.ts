/**
 * Tenants' keys, unwrapped, for a bounded number of tenants.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { MasterKeys, SealingKey } from "./master_keys.ts";
import { type TenantKeyOutcome, unwrapTenantKey } from "./tenant_key.ts";

/** Options of {@linkcode TenantKeyCache}. */
export interface TenantKeyCacheOptions {
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
 * stored text holds: when that text changes or goes, the key held before is of
 * no use any more.
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
