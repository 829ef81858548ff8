/**
 * A tenant as the API shows it.
 *
 * @module
 */

import type { Tenant } from "../../domain/tenant.ts";
import { time } from "./task_view.ts";
import type { JsonObject } from "../schema/json_schema.ts";

/** Where tenants are, as clients see it. */
export interface TenantPlace {
  /** The address the request came to; its scheme is that of all links. */
  readonly baseUrl: string;
  /** The host whose subdomains are the tenants, with its port unless it is the usual one. */
  readonly shownHost: string;
}

/** Returns a tenant as the API shows it. */
export function viewTenant(tenant: Tenant, place: TenantPlace): JsonObject {
  return {
    id: tenant.id,
    domain: tenant.domain,
    url: tenant.status === "closing" ? null : tenantUrl(tenant.domain, place),
    status: tenant.status,
    plan: tenant.plan,
    timezone: tenant.timezone,
    created_at: time(tenant.createdAtMs),
    updated_at: time(tenant.updatedAtMs),
  };
}

/** The address of a tenant. */
export function tenantUrl(
  domain: string,
  { baseUrl, shownHost }: TenantPlace,
): string {
  const scheme = baseUrl.startsWith("https:") ? "https" : "http";
  return `${scheme}://${domain}.${shownHost}`;
}
