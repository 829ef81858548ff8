/**
 * Where a request goes when there is no DNS: other ways to name a tenant, for
 * development. The service has them off unless it is told otherwise.
 *
 * @module
 */

import {
  type HeaderValues,
  hostName,
  type HostOutcome,
  parseHost,
  partNamed,
  singleValue,
} from "./host.ts";
import { parseAddress } from "./network.ts";

/** What of a request says which part of the service it is for. */
export interface RequestTarget {
  /** The `Host` header, or what a trusted proxy says it was. */
  readonly host: HeaderValues;
  /** The path, without the query. */
  readonly path: string;
  /** The `X-Tenant` header, which counts in development only. */
  readonly xTenant?: HeaderValues;
}

/** Options of {@linkcode resolveTarget}. */
export interface ResolveTargetOptions {
  /** The host name of the service. */
  readonly serviceHost: string;
  /**
   * Whether the other ways to name a tenant count. Never in production: they
   * let any host name reach any tenant.
   *
   * @default {false}
   */
  readonly devFallback?: boolean;
}

/** Where a request goes. */
export interface ResolvedTarget {
  /** The part of the service. */
  readonly part: HostOutcome;
  /** The path within that part. */
  readonly path: string;
  /** What of the path named the part, which links begin with; mostly empty. */
  readonly prefix: string;
}

/** A tenant's path: `/t/<label>` and what follows. */
const TENANT_PREFIX = /^\/t\/([^/]*)(\/.*)?$/s;

/** Longest first. */
const FIXED_PREFIXES = [
  { prefix: "/accounts/admin", kind: "accounts_admin" },
  { prefix: "/accounts", kind: "accounts" },
] as const;

/**
 * Tells where a request goes. A host that names a part of the service settles
 * it. Otherwise, and only with `devFallback`, the first of these that is there:
 * `<label>.localhost` (also `accounts` and `accounts.admin`), the header
 * `X-Tenant`, a path that begins with `/t/<label>`, `/accounts/admin` or
 * `/accounts`. `localhost` and bare addresses then stand for the service's
 * host itself.
 */
export function resolveTarget(
  target: RequestTarget,
  options: ResolveTargetOptions,
): ResolvedTarget {
  const { path } = target;
  const part = parseHost(target.host, options);
  const isSettled = part.kind !== "unknown" && part.kind !== "apex";
  if (isSettled || options.devFallback !== true) {
    return { part, path, prefix: "" };
  }
  const name = hostName(target.host) ?? "";
  const local = parseHost(name, { serviceHost: "localhost" });
  if (local.kind !== "unknown" && local.kind !== "apex") {
    return { part: local, path, prefix: "" };
  }
  // An empty list is how some servers report a header that is not there.
  if (target.xTenant?.length) {
    return { part: named(target.xTenant), path, prefix: "" };
  }
  const byPath = targetOfPath(path);
  if (byPath !== undefined) return byPath;
  const isLocal = local.kind === "apex" || isAddress(name);
  return { part: isLocal ? { kind: "apex" } : part, path, prefix: "" };
}

/** The tenant that `X-Tenant` names; that header names nothing else. */
function named(header: HeaderValues): HostOutcome {
  const value = singleValue(header) ?? "";
  return /^[A-Za-z0-9-]+$/.test(value)
    ? tenantOnly(partNamed(value.toLowerCase()))
    : { kind: "unknown" };
}

function targetOfPath(path: string): ResolvedTarget | undefined {
  const tenant = TENANT_PREFIX.exec(path);
  if (tenant !== null) {
    const part = tenantOnly(partNamed((tenant[1] ?? "").toLowerCase()));
    // A label that is none keeps its path, so that the answer can name it.
    if (part.kind !== "tenant") return { part, path, prefix: "" };
    return { part, path: tenant[2] ?? "/", prefix: `/t/${tenant[1] ?? ""}` };
  }
  for (const { prefix, kind } of FIXED_PREFIXES) {
    if (path === prefix || path.startsWith(`${prefix}/`)) {
      return { part: { kind }, path: path.slice(prefix.length) || "/", prefix };
    }
  }
  return undefined;
}

function tenantOnly(part: HostOutcome): HostOutcome {
  return part.kind === "tenant" ? part : { kind: "unknown" };
}

function isAddress(name: string): boolean {
  return name.startsWith("[") || parseAddress(name) !== undefined;
}
