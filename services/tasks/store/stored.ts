/**
 * What a store keeps besides tasks: records, answers to requests and entries of
 * audit logs.
 *
 * @module
 */

import type { RecordKind } from "./queries.ts";

/** A record. */
export interface StoredRecord {
  /** The kind of the record. */
  readonly kind: RecordKind;
  /** The tenant it belongs to; empty for records that belong to no tenant. */
  readonly tenantId: string;
  /** Unique among the tenant's records of the kind. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** A second name, unique among the tenant's records of the kind. */
  readonly alias?: string | undefined;
  /** The record it belongs to, such as the worker of a secret. */
  readonly parentId?: string | undefined;
  /** The content, as JSON text. */
  readonly text: string;
}

/** The stored answer to a request with an idempotency key. */
export interface IdempotencyEntry {
  /** SHA-256 of the request's body. */
  readonly bodyHash: string;
  /** The status of the answer. */
  readonly status: number;
  /** The headers that are repeated with the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's body. */
  readonly body: string;
  /** When the entry may be removed, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** An entry of the audit log. */
export interface AuditEntry {
  /** The number of the entry, which rises within the tenant. */
  readonly number: number;
  /** When it was done, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What was done, such as `worker.created`. */
  readonly action: string;
  /** Who did it, to what, and details, as JSON text. */
  readonly text: string;
}
