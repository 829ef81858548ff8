/**
 * Writes and counts of records that several routes share: lines of the audit
 * log, records of the service itself, and guards. A guard is a record that
 * stands for a whole set, such as the users and keys of a tenant. What was
 * counted of the set still holds when it is written, if the guard that was read
 * before the counting is written in the same commit: of two that counted at
 * once, one conflicts and counts again.
 *
 * @module
 */

import type { JsonObject } from "../../shared/schema/schema.ts";
import type { Actor } from "../domain/records.ts";
import type { RecordKind, Store, StoredRecord, Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";

/**
 * The sets that have a guard: `access` stands for users and keys together, since
 * keys end with users, and either can be the last way in; `workers` for workers.
 */
type GuardedSet = "access" | "workers";

/**
 * Reads a guard. To be called before the set is counted.
 *
 * @returns the write that conflicts, for the reason `version`, once another
 * writer has written the guard
 */
export async function readGuard(
  { store }: Pick<EngineParts, "store">,
  tenantId: string,
  set: GuardedSet,
): Promise<Write> {
  const id = `guard:${set}`;
  const found = await store.record("service", tenantId, id);
  return serviceWrite({ tenantId, id }, "", found?.version);
}

/**
 * The write that puts a text in the place of a record of the service itself, or
 * removes the record, where there is no text.
 *
 * @param expectedVersion The version that was read; 0 when there must be none.
 */
export function serviceWrite(
  { tenantId, id }: Pick<StoredRecord, "tenantId" | "id">,
  text: string | undefined,
  expectedVersion = 0,
): Write {
  const kind = "service";
  const version = expectedVersion + 1;
  const next = text === undefined
    ? undefined
    : { kind, tenantId, id, version, text } as const;
  return {
    kind: "record",
    recordKind: kind,
    tenantId,
    id,
    expectedVersion,
    next,
  };
}

/** Options of {@linkcode countRecords}. */
interface CountOptions {
  /** The kind of records. */
  readonly kind: RecordKind;
  /** The tenant. */
  readonly tenantId: string;
  /** Counting stops here. */
  readonly cap: number;
}

/** Most records that are read at a time. */
const PAGE = 250;

/** How many records a tenant has of a kind, `cap` at most. */
export async function countRecords(
  store: Pick<Store, "records">,
  { kind, tenantId, cap }: CountOptions,
): Promise<number> {
  let count = 0;
  let afterId: string | undefined;
  while (count < cap) {
    const { records, hasMore } = await store.records({
      kind,
      tenantId,
      limit: Math.min(PAGE, cap - count),
      afterId,
    });
    count += records.length;
    afterId = records.at(-1)?.id;
    if (!hasMore) break;
  }
  return count;
}

/** Something that was done, as the audit log keeps it. */
export interface AuditFact {
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The action, such as `user.created`. */
  readonly action: string;
  /** The actor. */
  readonly actor: Actor;
  /** The id of what it was done to. */
  readonly target: string;
  /**
   * More facts. They hold neither secrets nor personal data, since the log
   * outlives both.
   * @default nothing
   */
  readonly detail?: JsonObject;
}

/**
 * The write that adds a line to a tenant's audit log; it belongs into the
 * transaction of the change.
 */
export function auditWrite(tenantId: string, fact: AuditFact): Write {
  const { atMs, action, actor, target, detail = {} } = fact;
  return {
    kind: "audit",
    tenantId,
    entry: { atMs, action, text: JSON.stringify({ actor, target, detail }) },
  };
}
