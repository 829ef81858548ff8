/**
 * The data keys of tenants, decrypted when they are needed.
 *
 * A tenant's secrets are encrypted ("sealed") with one data key. When the
 * master key of that data key is lost, the operator may give the tenant a new
 * one (`tasks rewrap --replace-lost`); the old one is kept beside it, so that
 * what it sealed can be opened again if its master key is found.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { sealedKeyId } from "../secrets/envelope.ts";
import type { MasterKeys, SealingKey } from "../secrets/master_keys.ts";
import {
  createTenantKey,
  CURRENT_KEY_ID,
  unwrapTenantKey,
} from "../secrets/tenant_key.ts";
import type { Write } from "../store/store.ts";
import type { DataKeyRecord, Repositories } from "./repositories.ts";

/** A tenant's data key, with the writes that store it when it is new. */
export interface SealingTicket {
  /** The key to seal with. */
  readonly key: SealingKey;
  /** Writes that have to be committed together with what was sealed. */
  readonly writes: readonly Write[];
}

/** Whether a tenant's data key can be decrypted. */
type TenantKeyState =
  /** The key can be decrypted, or the tenant has no key yet. */
  | { readonly kind: "fine" }
  | {
    readonly kind: "unopened";
    /**
     * The id of the master key that it needs; undefined when the record holds
     * no wrapped key.
     */
    readonly masterKeyId: string | undefined;
  };

/**
 * The most tenants whose decrypted key is cached; the one unused for longest is
 * evicted.
 */
const MAX_UNWRAPPED = 1_000;

interface TenantKeysOptions {
  /** The repository of the wrapped keys. */
  readonly repositories: Pick<Repositories, "dataKeys">;
  /**
   * The master keys that wrap the tenants' keys.
   *
   * @default none: no key can be decrypted
   */
  readonly masterKeys?: MasterKeys | undefined;
}

/**
 * Provides the data keys of tenants. What other instances, or `tasks rewrap`,
 * write is seen within four seconds, the age of a cached record: an unwrapped
 * key is used only while the record has the text that it came from, and both
 * texts of a key that was wrapped again lead to the same key. An instance that
 * did not remove a tenant itself keeps the tenant's unwrapped key until it is
 * evicted; without rows there is nothing that it opens.
 */
export class TenantKeys {
  readonly #options: TenantKeysOptions;
  /**
   * The cached current key of each tenant, with the text that it was unwrapped
   * from.
   */
  readonly #unwrapped = new BoundedMap<
    string,
    { readonly wrapped: string; readonly key: SealingKey }
  >({ maxEntries: MAX_UNWRAPPED });

  /** Starts with an empty cache. */
  constructor(options: TenantKeysOptions) {
    this.#options = options;
  }

  /** Removes a tenant's key from the cache, as when the tenant is removed. */
  forget(tenantId: string): void {
    this.#unwrapped.delete(tenantId);
  }

  /**
   * The key to seal with for a tenant; a new one is created when the tenant has
   * no key.
   *
   * @throws {SecretsError} when no master key decrypts the stored key
   */
  async ticket(tenantId: string): Promise<SealingTicket> {
    const { masterKeys, repositories } = this.#options;
    if (masterKeys === undefined) {
      throw new SecretsError("Cannot seal secret: no master key is set");
    }
    const record = await repositories.dataKeys.get(tenantId, CURRENT_KEY_ID);
    if (record !== undefined) {
      const key = this.#unwrap(record) ??
        this.#unwrap(await this.#storedCurrent(tenantId));
      if (key !== undefined) return { key, writes: [] };
      throw new SecretsError(
        "Cannot seal secret: no master key opens the tenant's key",
      );
    }
    const { key, wrapped } = createTenantKey({ tenantId, masterKeys });
    const write = repositories.dataKeys.insert({
      tenantId,
      id: CURRENT_KEY_ID,
      version: 1,
      wrapped,
    });
    return { key, writes: [write] };
  }

  /**
   * The keys by which texts of a tenant were sealed, by id; keys that cannot be
   * decrypted are left out.
   */
  async findKeys(
    tenantId: string,
    sealed: readonly string[],
  ): Promise<ReadonlyMap<string, SealingKey>> {
    const { dataKeys } = this.#options.repositories;
    const keys = new Map<string, SealingKey>();
    if (this.#options.masterKeys === undefined) return keys;
    const current = this.#unwrap(await dataKeys.get(tenantId, CURRENT_KEY_ID));
    if (current !== undefined) keys.set(current.id, current);
    const hasAll = sealed.every((text) => keys.has(sealedKeyId(text) ?? ""));
    if (hasAll) return keys;
    // The store is read again: a command that ran beside the service may have
    // added keys.
    for (const record of await dataKeys.all(tenantId)) {
      const key = this.#unwrap(record);
      if (key !== undefined) keys.set(key.id, key);
    }
    return keys;
  }

  /** Checks whether a tenant's current key can be decrypted. */
  async checkState(tenantId: string): Promise<TenantKeyState> {
    const record = await this.#storedCurrent(tenantId);
    return record === undefined || this.#unwrap(record) !== undefined
      ? { kind: "fine" }
      : { kind: "unopened", masterKeyId: sealedKeyId(record.wrapped) };
  }

  /** The current key in the store, whatever is cached. */
  async #storedCurrent(tenantId: string): Promise<DataKeyRecord | undefined> {
    const records = await this.#options.repositories.dataKeys.all(tenantId);
    return records.find(({ id }) => id === CURRENT_KEY_ID);
  }

  /**
   * Decrypts the key in a record; undefined when no master key decrypts it. A
   * cached key is used only while the stored text is the one it came from.
   */
  #unwrap(record: DataKeyRecord | undefined): SealingKey | undefined {
    const { masterKeys } = this.#options;
    if (record === undefined || masterKeys === undefined) return undefined;
    const { tenantId, id, wrapped } = record;
    // Only the current key of a tenant is cached.
    const isKept = id === CURRENT_KEY_ID;
    const known = isKept ? this.#unwrapped.get(tenantId) : undefined;
    if (known?.wrapped === wrapped) return known.key;
    if (isKept) this.#unwrapped.delete(tenantId);
    const outcome = unwrapTenantKey(wrapped, { tenantId, masterKeys });
    if (outcome.kind !== "ok") return undefined;
    const { key } = outcome;
    if (isKept) this.#unwrapped.set(tenantId, { wrapped, key });
    return key;
  }
}

/**
 * A secret cannot be sealed or opened, however often it is tried, because its
 * master key is missing. Answers of the API then have the code
 * `secrets_unavailable`.
 */
export class SecretsError extends Error {
  /** The name in logs. */
  override readonly name = "SecretsError";
}
