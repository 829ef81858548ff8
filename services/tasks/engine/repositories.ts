/**
 * The repositories of the service: one for each kind of record.
 *
 * @module
 */

import type {
  Alert,
  ApiKey,
  Session,
  Tenant,
  User,
  Webhook,
  WorkerCredential,
  WorkerDefinition,
} from "../domain/records.ts";
import type { Store } from "../store/store.ts";
import type { ClosedTimes } from "../domain/closed_times.ts";
import type { RecordCache } from "./record_cache.ts";
import { RecordRepository } from "./record_repository.ts";

/** A named secret of a worker, encrypted. */
export interface SecretRecord {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id, a colon and the name. */
  readonly id: string;
  /** 1 at first, one more with each new value. */
  readonly version: number;
  /** The worker. */
  readonly workerId: string;
  /** The name of the secret. */
  readonly name: string;
  /** The encrypted value. */
  readonly sealed: string;
  /** When it was first set. */
  readonly createdAtMs: number;
  /** When its value was last set. */
  readonly updatedAtMs: number;
}

/**
 * Secrets of a worker that were replaced or removed a short while ago,
 * encrypted.
 */
export interface RetiredSecrets {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The values; the one that was replaced last is at the end. */
  readonly values: readonly RetiredValue[];
}

/** A secret value that was replaced or removed. */
export interface RetiredValue {
  /** The name that the secret had. */
  readonly name: string;
  /** The version that the value had, to which its encryption is bound. */
  readonly version: number;
  /** The encrypted value. */
  readonly sealed: string;
  /**
   * Until when a holder of a lease may know the value, in milliseconds since
   * the epoch.
   */
  readonly untilMs: number;
}

/** A tenant's data key, encrypted by a master key. */
export interface DataKeyRecord {
  /** The tenant. */
  readonly tenantId: string;
  /**
   * `data` for the key that encrypts; other keys were replaced and only
   * decrypt.
   */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The encrypted key. */
  readonly wrapped: string;
}

/** The domain of a deleted tenant, which is reserved for a while. */
interface ReservedDomain {
  /** The domain. */
  readonly id: string;
  /** Always 1. */
  readonly version: number;
  /** The end of the reservation, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** A calendar, as it is stored. Its file is a record of its own. */
export interface Calendar extends Pick<ClosedTimes, "walls" | "instants"> {
  /** The tenant. */
  readonly tenantId: string;
  /** The name. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** How many events its file has. */
  readonly events: number;
  /** When it was made. */
  readonly createdAtMs: number;
  /** When its file was last replaced. */
  readonly updatedAtMs: number;
}

/** The file of a calendar. */
export interface CalendarFile {
  /** The tenant. */
  readonly tenantId: string;
  /** The name of the calendar. */
  readonly id: string;
  /** The version of the calendar. */
  readonly version: number;
  /** The text of the file. */
  readonly ical: string;
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
  /** Sessions of people at the console; all have one parent. */
  readonly sessions: RecordRepository<Session>;
  /** Credentials of workers. */
  readonly credentials: RecordRepository<WorkerCredential>;
  /** Named secrets of workers. */
  readonly secrets: RecordRepository<SecretRecord>;
  /** Secrets of workers that were replaced or removed a short while ago. */
  readonly retiredSecrets: RecordRepository<RetiredSecrets>;
  /** Wrapped data keys. */
  readonly dataKeys: RecordRepository<DataKeyRecord>;
  /** Calendars, by their names. */
  readonly calendars: RecordRepository<Calendar>;
  /** Alerts. */
  readonly alerts: RecordRepository<Alert>;
  /** Webhooks. */
  readonly webhooks: RecordRepository<Webhook>;
  /** The files of calendars, which are read past the cache. */
  readonly calendarFiles: RecordRepository<CalendarFile>;
}

/**
 * The tenant id of records that belong to no tenant, such as the list of
 * tenants.
 */
export const REGISTRY = "";

/** What all records of sessions belong to. */
export const SESSIONS_PARENT = "sessions";

/** Opens the repositories over a store. */
export function openRepositories(
  parts: {
    readonly cache: RecordCache;
    readonly store: Pick<Store, "records">;
  },
): Repositories {
  const getTenantId = (value: { readonly tenantId: string }): string =>
    value.tenantId;
  const getWorkerId = (value: { readonly workerId: string }): string =>
    value.workerId;
  return {
    tenants: new RecordRepository<Tenant>(parts, {
      kind: "tenant",
      getTenantId: () => REGISTRY,
      getAlias: (tenant) => tenant.domain,
    }),
    reservedDomains: new RecordRepository<ReservedDomain>(parts, {
      kind: "reserved_domain",
      getTenantId: () => REGISTRY,
    }),
    workers: new RecordRepository<WorkerDefinition>(parts, {
      kind: "worker",
      getTenantId,
      getAlias: (worker) => worker.name.toLowerCase(),
    }),
    users: new RecordRepository<User>(parts, {
      kind: "user",
      getTenantId,
      getAlias: (user) => user.email.toLowerCase(),
    }),
    keys: new RecordRepository<ApiKey>(parts, { kind: "key", getTenantId }),
    sessions: new RecordRepository<Session>(parts, {
      kind: "service",
      getTenantId,
      getParentId: () => SESSIONS_PARENT,
    }),
    credentials: new RecordRepository<WorkerCredential>(parts, {
      kind: "credential",
      getTenantId,
      getParentId: getWorkerId,
    }),
    secrets: new RecordRepository<SecretRecord>(parts, {
      kind: "secret",
      getTenantId,
      getParentId: getWorkerId,
    }),
    retiredSecrets: new RecordRepository<RetiredSecrets>(parts, {
      kind: "retired_secrets",
      getTenantId,
      getParentId: ({ id }) => id,
    }),
    dataKeys: new RecordRepository<DataKeyRecord>(parts, {
      kind: "data_key",
      getTenantId,
    }),
    calendars: new RecordRepository<Calendar>(parts, {
      kind: "calendar",
      getTenantId,
    }),
    alerts: new RecordRepository<Alert>(parts, {
      kind: "alert",
      getTenantId,
    }),
    webhooks: new RecordRepository<Webhook>(parts, {
      kind: "webhook",
      getTenantId,
    }),
    calendarFiles: new RecordRepository<CalendarFile>(parts, {
      kind: "calendar_file",
      getTenantId,
    }),
  };
}
