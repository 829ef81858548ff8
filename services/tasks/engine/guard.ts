/**
 * Counts records, and guards what was counted. A guard is a record that stands for a
 * whole set, such as the users and keys of a tenant. What was counted of the set
 * still holds when it is written, if the guard that was read before the counting is
 * written in the same commit: of two that counted at once, one conflicts and counts
 * again.
 *
 * @module
 */

import type { RecordKind } from "../store/record.ts";
import type { Store, Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";

/**
 * The sets that have a guard: `access` stands for users and keys together, since
 * keys end with users, and either can be the last way in; `workers` for workers.
 */
export type GuardedSet = "access" | "workers";

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
  const version = found?.version ?? 0;
  return {
    kind: "record",
    recordKind: "service",
    tenantId,
    id,
    expectedVersion: version,
    next: { kind: "service", tenantId, id, version: version + 1, text: "" },
  };
}

/** What is counted. */
export interface CountOptions {
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
