/**
 * The books of the service: one for each kind of record.
 *
 * @module
 */

import type {
  ApiKey,
  Tenant,
  User,
  WorkerCredential,
  WorkerDefinition,
} from "../domain/records.ts";
import type { Store } from "../store/store.ts";
import { RecordBook } from "./record_book.ts";
import type { RecordCache } from "./record_cache.ts";

/** A named value of a worker, sealed. */
export interface SecretRecord {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id, a colon and the name. */
  readonly id: string;
  /** 1 at first, one more with each new value. */
  readonly version: number;
  /** The worker. */
  readonly workerId: string;
  /** Its name. */
  readonly name: string;
  /** The value, sealed. */
  readonly sealed: string;
  /** When it was first set. */
  readonly createdAtMs: number;
  /** When its value was last set. */
  readonly updatedAtMs: number;
}

/** Values of a worker that were replaced or removed a short while ago, sealed. */
export interface RetiredSecrets {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The values, the one that was replaced last at the end. */
  readonly values: readonly RetiredValue[];
}

/** A value that was replaced or removed. */
export interface RetiredValue {
  /** The name it had. */
  readonly name: string;
  /** The version it had, which it is sealed for. */
  readonly version: number;
  /** The value, sealed. */
  readonly sealed: string;
  /** When nobody can know it any more who is still heard. */
  readonly untilMs: number;
}

/** A tenant's data key, wrapped by a master key. */
export interface DataKeyRecord {
  /** The tenant. */
  readonly tenantId: string;
  /** `data` for the one that seals; others were replaced and only open. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The wrapped key. */
  readonly wrapped: string;
}

/** A domain that nobody may take for a while. */
export interface ReservedDomain {
  /** The domain. */
  readonly id: string;
  /** Always 1. */
  readonly version: number;
  /** Until when. */
  readonly untilMs: number;
}

/** All books. */
export interface Books {
  /** Tenants, by id and by domain, under the tenant id "". */
  readonly tenants: RecordBook<Tenant>;
  /** Domains of tenants that were deleted, under the tenant id "". */
  readonly reservedDomains: RecordBook<ReservedDomain>;
  /** Workers, by id and by name in lower case. */
  readonly workers: RecordBook<WorkerDefinition>;
  /** Users, by id and by email in lower case. */
  readonly users: RecordBook<User>;
  /** API keys. */
  readonly keys: RecordBook<ApiKey>;
  /** Credentials of workers. */
  readonly credentials: RecordBook<WorkerCredential>;
  /** Named secrets of workers. */
  readonly secrets: RecordBook<SecretRecord>;
  /** Secrets of workers that were replaced or removed a short while ago. */
  readonly retiredSecrets: RecordBook<RetiredSecrets>;
  /** Wrapped data keys. */
  readonly dataKeys: RecordBook<DataKeyRecord>;
}

/** The registry of tenants belongs to no tenant. */
export const REGISTRY = "";

/** Opens the books over a store. */
export function openBooks(
  parts: {
    readonly cache: RecordCache;
    readonly store: Pick<Store, "records">;
  },
): Books {
  const tenantOf = (value: { readonly tenantId: string }): string =>
    value.tenantId;
  const workerOf = (value: { readonly workerId: string }): string =>
    value.workerId;
  return {
    tenants: new RecordBook<Tenant>(parts, {
      kind: "tenant",
      tenantOf: () => REGISTRY,
      aliasOf: (tenant) => tenant.domain,
    }),
    reservedDomains: new RecordBook<ReservedDomain>(parts, {
      kind: "reserved_domain",
      tenantOf: () => REGISTRY,
    }),
    workers: new RecordBook<WorkerDefinition>(parts, {
      kind: "worker",
      tenantOf,
      aliasOf: (worker) => worker.name.toLowerCase(),
    }),
    users: new RecordBook<User>(parts, {
      kind: "user",
      tenantOf,
      aliasOf: (user) => user.email.toLowerCase(),
    }),
    keys: new RecordBook<ApiKey>(parts, { kind: "key", tenantOf }),
    credentials: new RecordBook<WorkerCredential>(parts, {
      kind: "credential",
      tenantOf,
      parentOf: workerOf,
    }),
    secrets: new RecordBook<SecretRecord>(parts, {
      kind: "secret",
      tenantOf,
      parentOf: workerOf,
    }),
    retiredSecrets: new RecordBook<RetiredSecrets>(parts, {
      kind: "retired_secrets",
      tenantOf,
      parentOf: ({ id }) => id,
    }),
    dataKeys: new RecordBook<DataKeyRecord>(parts, {
      kind: "data_key",
      tenantOf,
    }),
  };
}
