/**
 * What belongs to users beside their record: owners are counted, keys and
 * identities end with them.
 *
 * @module
 */

import { missingScope, scopesOfKey } from "../../access/scope.ts";
import { scopesOfRole } from "../../access/scope.ts";
import type { ApiKey, User } from "../../domain/records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { Write } from "../../store/store.ts";
import { identityRecordId } from "../../engine/credential_records.ts";
import { tagOfRecord } from "../../http/etag.ts";

/** More of them need not be told apart. */
const ENOUGH_OWNERS = 2;
const PAGE = 1_000;

/** The entity tag of a user; that it was seen does not change it. */
export function userTag(user: User): string {
  return tagOfRecord(user, ["version", "lastSeenAtMs"]);
}

/** Tells whether a user is an owner who may act. */
export function isActiveOwner(
  { role, status }: Pick<User, "role" | "status">,
): boolean {
  return role === "owner" && status === "active";
}

/** Options of {@linkcode countActiveOwners}. */
export interface CountOwnersOptions {
  /**
   * Only those who have logged in with a token of this issuer.
   * @default all
   */
  readonly issuer?: string;
}

/**
 * How many active owners a tenant has; counting stops at two. It holds if the
 * guard of users was read before and is written along.
 */
export async function countActiveOwners(
  { repositories }: Pick<EngineParts, "repositories">,
  tenantId: string,
  { issuer }: CountOwnersOptions = {},
): Promise<number> {
  let count = 0;
  let afterId: string | undefined;
  while (true) {
    const page = await repositories.users.list(tenantId, {
      limit: PAGE,
      ...(afterId === undefined ? {} : { afterId }),
    });
    count += page.values.filter((user) =>
      isActiveOwner(user) &&
      (issuer === undefined || user.identity?.issuer === issuer)
    ).length;
    afterId = page.values.at(-1)?.id;
    if (count >= ENOUGH_OWNERS || !page.hasMore) break;
  }
  return Math.min(count, ENOUGH_OWNERS);
}

/**
 * The keys that a user made and that end with a change of it: all when it is
 * removed or disabled; when its role is lowered those that may more than it.
 */
export async function keysThatEnd(
  { repositories }: Pick<EngineParts, "repositories">,
  user: User,
  next: User | undefined,
): Promise<readonly ApiKey[]> {
  const keys = await repositories.keys.all(user.tenantId);
  const own = keys.filter(({ madeBy }) => madeBy === user.id);
  if (next === undefined || next.status === "disabled") return own;
  const left = scopesOfRole(next.role);
  return own.filter((key) =>
    missingScope(left, scopesOfKey(key)) !== undefined ||
    (key.payloads && !next.payloads)
  );
}

/** The writes that forget who a user is at the identity provider. */
export async function identityRemovals(
  { store }: Pick<EngineParts, "store">,
  { tenantId, id, identity }: User,
): Promise<readonly Write[]> {
  if (identity === undefined) return [];
  const recordId = identityRecordId(identity.issuer, identity.subject);
  const record = await store.record("service", tenantId, recordId);
  if (record?.text !== id) return [];
  return [{
    kind: "record",
    recordKind: "service",
    tenantId,
    id: recordId,
    expectedVersion: record.version,
    next: undefined,
  }];
}
