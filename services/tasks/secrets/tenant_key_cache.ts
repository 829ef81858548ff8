/**
 * Tenants' keys, unwrapped, for a bounded number of tenants.
 *
 * @module
 */

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
  readonly #maxTenants: number;
  readonly #entries = new Map<string, Entry>();

  /**
   * An empty cache.
   *
   * @throws {RangeError} When it may hold less than one key.
   */
  constructor(options: TenantKeyCacheOptions) {
    this.#masterKeys = options.masterKeys;
    this.#maxTenants = options.maxTenants ?? 1_000;
    if (!(this.#maxTenants >= 1)) {
      throw new RangeError(
        `Cannot hold keys of ${this.#maxTenants} tenants: 1 is the least`,
      );
    }
  }

  /** How many keys are held. */
  get size(): number {
    return this.#entries.size;
  }

  /** The key that `wrapped`, as stored for this tenant, holds. */
  unwrap(tenantId: string, wrapped: string): TenantKeyOutcome {
    const held = this.#entries.get(tenantId);
    this.#entries.delete(tenantId);
    if (held?.wrapped === wrapped) {
      this.#entries.set(tenantId, held);
      return { kind: "ok", key: held.key };
    }
    const outcome = unwrapTenantKey(wrapped, {
      tenantId,
      masterKeys: this.#masterKeys,
    });
    if (outcome.kind === "ok") {
      this.#entries.set(tenantId, { wrapped, key: outcome.key });
      this.#makeRoom();
    }
    return outcome;
  }

  /** Lets go of a tenant's key, as when the tenant is closed. */
  forget(tenantId: string): void {
    this.#entries.delete(tenantId);
  }

  #makeRoom(): void {
    for (const tenantId of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxTenants) return;
      this.#entries.delete(tenantId);
    }
  }
}

interface Entry {
  readonly wrapped: string;
  readonly key: SealingKey;
}
