/**
 * A tenant as the API shows it.
 *
 * @module
 */

import type { Tenant } from "../../domain/records.ts";
import { utcTime } from "../../domain/utc_time.ts";
import type { JsonObject } from "../../../shared/schema/schema.ts";

/** Where tenants are, as clients see it. */
export interface TenantPlace {
  /** The address the request came to; scheme and port are those of all links. */
  readonly baseUrl: string;
  /** The host whose subdomains are the tenants, without a port. */
  readonly serviceHost: string;
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
    created_at: utcTime(tenant.createdAtMs),
    updated_at: utcTime(tenant.updatedAtMs),
  };
}

/** The address of a tenant. */
export function tenantUrl(
  domain: string,
  { baseUrl, serviceHost }: TenantPlace,
): string {
  const scheme = baseUrl.startsWith("https:") ? "https" : "http";
  return `${scheme}://${domain}.${shownHost({ baseUrl, serviceHost })}`;
}

/**
 * The service's host with the port that the client asked for: behind a proxy
 * that is another one than that which the service listens on.
 */
export function shownHost({ baseUrl, serviceHost }: TenantPlace): string {
  const port = URL.parse(baseUrl)?.port ?? "";
  return port === "" ? serviceHost : `${serviceHost}:${port}`;
}
