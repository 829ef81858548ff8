/**
 * The repositories of the service: one for each kind of record.
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
import { type RecordCache, RecordRepository } from "./record_repository.ts";

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
  /** When no lease is left whose holder may know it. */
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

/** A domain that is reserved for a while. */
interface ReservedDomain {
  /** The domain. */
  readonly id: string;
  /** Always 1. */
  readonly version: number;
  /** Until when. */
  readonly untilMs: number;
}

/** All repositories. */
export interface Repositories {
  /** Tenants, by id and by domain, under the tenant id "". */
  readonly tenants: RecordRepository<Tenant>;
  /** Domains of tenants that were deleted, under the tenant id "". */
  readonly reservedDomains: RecordRepository<ReservedDomain>;
  /** Workers, by id and by name in lower case. */
  readonly workers: RecordRepository<WorkerDefinition>;
  /** Users, by id and by email in lower case. */
  readonly users: RecordRepository<User>;
  /** API keys. */
  readonly keys: RecordRepository<ApiKey>;
  /** Credentials of workers. */
  readonly credentials: RecordRepository<WorkerCredential>;
  /** Named secrets of workers. */
  readonly secrets: RecordRepository<SecretRecord>;
  /** Secrets of workers that were replaced or removed a short while ago. */
  readonly retiredSecrets: RecordRepository<RetiredSecrets>;
  /** Wrapped data keys. */
  readonly dataKeys: RecordRepository<DataKeyRecord>;
}

/** The registry of tenants belongs to no tenant. */
export const REGISTRY = "";

/** Opens the repositories over a store. */
export function openRepositories(
  parts: {
    readonly cache: RecordCache;
    readonly store: Pick<Store, "records">;
  },
): Repositories {
  const tenantOf = (value: { readonly tenantId: string }): string =>
    value.tenantId;
  const workerOf = (value: { readonly workerId: string }): string =>
    value.workerId;
  return {
    tenants: new RecordRepository<Tenant>(parts, {
      kind: "tenant",
      tenantOf: () => REGISTRY,
      aliasOf: (tenant) => tenant.domain,
    }),
    reservedDomains: new RecordRepository<ReservedDomain>(parts, {
      kind: "reserved_domain",
      tenantOf: () => REGISTRY,
    }),
    workers: new RecordRepository<WorkerDefinition>(parts, {
      kind: "worker",
      tenantOf,
      aliasOf: (worker) => worker.name.toLowerCase(),
    }),
    users: new RecordRepository<User>(parts, {
      kind: "user",
      tenantOf,
      aliasOf: (user) => user.email.toLowerCase(),
    }),
    keys: new RecordRepository<ApiKey>(parts, { kind: "key", tenantOf }),
    credentials: new RecordRepository<WorkerCredential>(parts, {
      kind: "credential",
      tenantOf,
      parentOf: workerOf,
    }),
    secrets: new RecordRepository<SecretRecord>(parts, {
      kind: "secret",
      tenantOf,
      parentOf: workerOf,
    }),
    retiredSecrets: new RecordRepository<RetiredSecrets>(parts, {
      kind: "retired_secrets",
      tenantOf,
      parentOf: ({ id }) => id,
    }),
    dataKeys: new RecordRepository<DataKeyRecord>(parts, {
      kind: "data_key",
      tenantOf,
    }),
  };
}
