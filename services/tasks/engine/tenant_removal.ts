/**
 * Removing tenants. The request marks the tenant, reserves its domain and
 * destroys its data keys, all in one commit; from then on it is not served, and
 * nothing that was sealed for it can be opened, in backups neither. What is left
 * of it is erased in the background, see {@linkcode TenantEraser}.
 *
 * @module
 */

import type { Actor, Tenant } from "../domain/records.ts";
import { REGISTRY } from "./repositories.ts";
import type { EngineParts } from "./parts.ts";
import type { Write } from "../store/store.ts";
import { auditWrite } from "./audit_write.ts";

/** How long nobody else can have the domain: 30 days. */
export const RESERVED_MS = 30 * 86_400_000;

/** What the ids of the marks of tenants begin with that are not erased yet. */
export const ERASURE_PREFIX = "closing:";

/** Options of {@linkcode removalWrites}. */
export interface RemovalOptions {
  /** The time. */
  readonly nowMs: number;
  /** Who removes it. */
  readonly actor: Actor;
}

/** The writes that take a tenant out of service; together one transaction. */
export async function removalWrites(
  { repositories }: Pick<EngineParts, "repositories">,
  tenant: Tenant,
  { nowMs, actor }: RemovalOptions,
): Promise<readonly Write[]> {
  const { id, domain } = tenant;
  const [dataKeys, reserved] = await Promise.all([
    repositories.dataKeys.all(id),
    repositories.reservedDomains.get(REGISTRY, domain),
  ]);
  const untilMs = nowMs + RESERVED_MS;
  return [
    repositories.tenants.update(tenant, {
      ...tenant,
      version: tenant.version + 1,
      status: "closing",
      updatedAtMs: nowMs,
    }),
    reserved === undefined
      ? repositories.reservedDomains.insert({ id: domain, version: 1, untilMs })
      : repositories.reservedDomains.update(reserved, {
        ...reserved,
        version: reserved.version + 1,
        untilMs,
      }),
    ...dataKeys.map((dataKey) => repositories.dataKeys.remove(dataKey)),
    eraseMark(id, true),
    auditWrite(id, {
      atMs: nowMs,
      action: "tenant.removed",
      actor,
      target: id,
      detail: { domain },
    }),
  ];
}

/** The write that sets the mark of a tenant to be erased, or takes it away. */
export function eraseMark(tenantId: string, isSet: boolean): Write {
  const id = ERASURE_PREFIX + tenantId;
  const place = {
    kind: "record",
    recordKind: "service",
    tenantId: REGISTRY,
    id,
  } as const;
  return isSet
    ? {
      ...place,
      expectedVersion: 0,
      next: {
        kind: "service",
        tenantId: REGISTRY,
        id,
        version: 1,
        text: tenantId,
      },
    }
    : { ...place, expectedVersion: 1, next: undefined };
}
