/**
 * The keys of tenants, unwrapped when they are needed.
 *
 * A tenant seals with one key. When the master key of that is lost, the operator
 * may give it a new one (`tasks rewrap --replace-lost`); the old one is kept
 * beside it, so that what it sealed opens again should its master key be found.
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

/** A tenant's key, and what has to be written when it is new. */
export interface SealingTicket {
  /** The key that seals. */
  readonly key: SealingKey;
  /** Writes that have to be committed with what was sealed. */
  readonly writes: readonly Write[];
}

/** Whether a tenant's key opens. */
type TenantKeyState =
  /** It does, or the tenant has none yet. */
  | { readonly kind: "fine" }
  | {
    readonly kind: "unopened";
    /** The id of the master key it takes; undefined when it is no wrapped key. */
    readonly masterKeyId: string | undefined;
  };

/** Tenants whose unwrapped key is kept; the one unused for longest makes room. */
const MAX_UNWRAPPED = 1_000;

interface TenantKeysOptions {
  /** Where the wrapped keys are. */
  readonly repositories: Pick<Repositories, "dataKeys">;
  /**
   * What they are wrapped by.
   * @default none: nothing opens
   */
  readonly masterKeys?: MasterKeys | undefined;
}

/** Gives the keys of tenants. */
export class TenantKeys {
  readonly #options: TenantKeysOptions;
  /** Each tenant's own key with the text that it was unwrapped from. */
  readonly #unwrapped = new BoundedMap<
    string,
    { readonly wrapped: string; readonly key: SealingKey }
  >({ maxEntries: MAX_UNWRAPPED });

  /** Keys that were not asked for yet. */
  constructor(options: TenantKeysOptions) {
    this.#options = options;
  }

  /** Forgets a tenant's key, as when the tenant is removed. */
  forget(tenantId: string): void {
    this.#unwrapped.delete(tenantId);
  }

  /**
   * The key that seals for a tenant; made when it has none.
   *
   * @throws {SecretsError} when there is no master key that opens it
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
   * The keys that texts of a tenant were sealed with, by id; those that do not
   * open are left out.
   */
  async keysOf(
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
    // Read again: a command beside the service may have written some.
    for (const record of await dataKeys.all(tenantId)) {
      const key = this.#unwrap(record);
      if (key !== undefined) keys.set(key.id, key);
    }
    return keys;
  }

  /** Looks whether what seals for a tenant opens. */
  async stateOf(tenantId: string): Promise<TenantKeyState> {
    const record = await this.#storedCurrent(tenantId);
    return record === undefined || this.#unwrap(record) !== undefined
      ? { kind: "fine" }
      : { kind: "unopened", masterKeyId: sealedKeyId(record.wrapped) };
  }

  /** The key that is stored now, whatever is cached. */
  async #storedCurrent(tenantId: string): Promise<DataKeyRecord | undefined> {
    const records = await this.#options.repositories.dataKeys.all(tenantId);
    return records.find(({ id }) => id === CURRENT_KEY_ID);
  }

  /**
   * The key that a record holds, if a master key opens it. Once the stored text
   * is another one, the key that was unwrapped before is no longer used.
   */
  #unwrap(record: DataKeyRecord | undefined): SealingKey | undefined {
    const { masterKeys } = this.#options;
    if (record === undefined || masterKeys === undefined) return undefined;
    const { tenantId, id, wrapped } = record;
    // There is room for one key of each tenant.
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
 * What is sealed cannot be opened, or nothing can be sealed, however often it is
 * tried: the master key that it takes is not there. Answers of the API have the
 * code `secrets_unavailable` then.
 */
export class SecretsError extends Error {
  /** The name by which it shows up in logs. */
  override readonly name = "SecretsError";
}
