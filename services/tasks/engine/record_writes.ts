/**
 * Shared writes of records: entries of the audit log, records of the service
 * itself, and guards. A guard is a record that stands for a whole set, such as
 * the users and keys of a tenant. A request reads the guard, counts the set,
 * and writes the guard in the same commit as its change. If two requests do so
 * at once, one of them conflicts and counts again, so a count still holds when
 * it is written.
 *
 * @module
 */

import type { JsonObject } from "../../shared/schema/schema.ts";
import type { Actor } from "../domain/records.ts";
import type { RecordKind, Store, StoredRecord, Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";

/**
 * The sets that have a guard. `access` stands for users and keys together,
 * since a removed user's keys end too, and a user or a key can be the last
 * access to the tenant; each other name stands for the records of that name.
 */
type GuardedSet = "access" | "workers" | "calendars" | "webhooks" | "alerts";

/**
 * Reads a guard; has to be called before the set is counted.
 *
 * @returns the write of the guard. It conflicts, with the reason `version`,
 * when another request has written the guard meanwhile
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
 * The write that sets the text of a record of the service itself, or removes
 * the record when `text` is undefined.
 *
 * @param expectedVersion the version that was read; 0 when the record must not
 * exist yet
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
  /** The count at which counting stops. */
  readonly cap: number;
}

/** The most records that are read at a time. */
const PAGE = 250;

/** Counts a tenant's records of a kind, up to `cap`. */
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

/** An action, as the audit log stores it. */
export interface AuditFact {
  /** When it was done, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The action, such as `user.created`. */
  readonly action: string;
  /** Who did it. */
  readonly actor: Actor;
  /** The id of the record or task that it was done to. */
  readonly target: string;
  /**
   * More facts. They contain neither secrets nor personal data, since the log
   * is kept longer than both.
   *
   * @default nothing
   */
  readonly detail?: JsonObject;
}

/**
 * The write that adds an entry to a tenant's audit log; it has to be in the
 * same transaction as the action.
 */
export function auditWrite(tenantId: string, fact: AuditFact): Write {
  const { atMs, action, actor, target, detail = {} } = fact;
  return {
    kind: "audit",
    tenantId,
    entry: { atMs, action, text: JSON.stringify({ actor, target, detail }) },
  };
}
