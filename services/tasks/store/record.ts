/**
 * Records: everything but tasks. There are few of them, and they change seldom.
 *
 * @module
 */

/**
 * What a record is: a tenant (kept under the tenant id "", its alias is the
 * domain), a reserved domain, a worker, a user, an API key, a worker's
 * credential, a named secret, the secrets of a worker that were replaced recently,
 * a tenant's wrapped data key, a bulk operation, an invitation or a setting of the
 * service itself.
 */
export type RecordKind =
  | "tenant"
  | "reserved_domain"
  | "worker"
  | "user"
  | "key"
  | "credential"
  | "secret"
  | "retired_secrets"
  | "data_key"
  | "operation"
  | "service";

/** A record. */
export interface StoredRecord {
  /** What it is. */
  readonly kind: RecordKind;
  /** The tenant it belongs to; empty for the registry of tenants. */
  readonly tenantId: string;
  /** Unique among the tenant's records of the kind. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** A second name, unique among the tenant's records of the kind. */
  readonly alias?: string | undefined;
  /** The record it belongs to, such as the worker of a secret. */
  readonly parentId?: string | undefined;
  /** What it holds, as JSON text. */
  readonly text: string;
}

/** Which records are wanted. */
export interface RecordQuery {
  /** What they are. */
  readonly kind: RecordKind;
  /** The tenant. */
  readonly tenantId: string;
  /** Only those that belong to this record. */
  readonly parentId?: string | undefined;
  /** Most records of the page. */
  readonly limit: number;
  /** Only records after this id. */
  readonly afterId?: string | undefined;
}

/** A page of records. */
export interface RecordPage {
  /** The records, by id. */
  readonly records: readonly StoredRecord[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}
