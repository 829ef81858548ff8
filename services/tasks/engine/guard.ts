/**
 * Guards: a record that stands for a whole set, such as the users and keys of a tenant.
 * What was counted of the set still holds when it is written, if the guard that
 * was read before the counting is written along: of two that counted at once,
 * one conflicts and counts again.
 *
 * @module
 */

import type { EngineParts } from "./parts.ts";
import type { Write } from "../store/store.ts";

/**
 * The sets that have a guard: `access` stands for users and keys together, since
 * keys end with users, and either can be the last way in; `workers` for workers.
 */
export type GuardedSet = "access" | "workers";

/**
 * Reads a guard. To be called before the set is counted.
 *
 * @returns the write that conflicts, for the reason `version`, once somebody
 * else has written the guard
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
