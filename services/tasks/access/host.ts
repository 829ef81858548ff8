/**
 * Tells where a request comes from, trusting the headers of known proxies
 * alone, and which part of the service it is for: by its `Host` header, and in
 * development also by the `X-Tenant` header or the path.
 *
 * @module
 */

import { findClientAddress } from "../../shared/http/client_address.ts";
import {
  isTrustedProxy,
  type Network,
  parseClientAddress,
} from "../../shared/ip_network.ts";

/** Which part of the service a host name stands for. */
export type HostOutcome =
  | {
    readonly kind: "tenant";
    /** The tenant's domain, in lower case; whether it exists is not known. */
    readonly label: string;
  }
  /** `accounts.<host>`: where tenants are created. */
  | { readonly kind: "accounts" }
  /** `accounts.admin.<host>`: the operator's routes. */
  | { readonly kind: "accounts_admin" }
  /** The service's host itself: plans and prices. */
  | { readonly kind: "apex" }
  /** A valid host name that is not ours. */
  | { readonly kind: "unknown" }
  /** No host name, or more than one. */
  | { readonly kind: "bad_host" };

/** A header as servers report it: its value, all its values, or nothing. */
export type HeaderValues = string | readonly string[] | null | undefined;

/** Longest host name with its port (RFC 1035, 2.3.4). */
const MAX_HOST_LENGTH = 253 + 1 + ":65535".length;

/**
 * A label of a host name as URLs allow it, which is wider than the labels that
 * tenants may have.
 */
const NAME_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Letters, digits and hyphens, none of them at the ends (RFC 1123, 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Tells whether a text is a valid label in lower case, taken by a tenant or
 * not.
 */
export function isLabel(text: string): boolean {
  return LABEL.test(text);
}

/**
 * The value of a header that must not be sent twice.
 *
 * @returns `undefined` when there is no value, or more than one.
 */
export function singleValue(header: HeaderValues): string | undefined {
  if (typeof header === "string") return header;
  return header?.length === 1 ? header[0] : undefined;
}

/**
 * Tells which part of the service a `Host` header stands for. Upper case, a
 * port and one dot at the end do not matter (RFC 9110, 4.2.3 and 7.2).
 */
function parseHost(header: HeaderValues, serviceHost: string): HostOutcome {
  const name = hostName(header);
  if (name === undefined) return { kind: "bad_host" };
  if (name === serviceHost) return { kind: "apex" };
  if (!name.endsWith(`.${serviceHost}`)) return { kind: "unknown" };
  return partNamed(name.slice(0, -serviceHost.length - 1));
}

/**
 * Reads the configured host name of the service: a name or an address, without
 * scheme and port.
 *
 * @returns The name in the form that hosts are compared in, or `undefined` when
 * it is not a host name.
 */
export function parseServiceHost(text: string): string | undefined {
  return parsePort(text) === undefined ? hostName(text) : undefined;
}

/**
 * The name in a `Host` header, in lower case, without port and final dot; an
 * IPv6 address keeps its brackets.
 *
 * @returns `undefined` for text that cannot be a host, and for several values.
 */
function hostName(header: HeaderValues): string | undefined {
  const value = singleValue(header);
  if (value === undefined || value.length > MAX_HOST_LENGTH) return undefined;
  const port = parsePort(value);
  if (port !== undefined && !isPort(port)) return undefined;
  const host = port === undefined ? value : value.slice(0, -port.length - 1);
  if (host.startsWith("[")) return ipv6Literal(host);
  const undotted = host.endsWith(".") ? host.slice(0, -1) : host;
  // The letters are checked before lowering them, since some other letters
  // become ASCII in lower case.
  if (!/^[A-Za-z0-9._-]{1,253}$/.test(undotted)) return undefined;
  const name = undotted.toLowerCase();
  return name.split(".").every((label) => NAME_LABEL.test(label))
    ? name
    : undefined;
}

/** The part of the service that the labels before its host stand for. */
function partNamed(labels: string): HostOutcome {
  if (labels === "accounts") return { kind: "accounts" };
  if (labels === "accounts.admin") return { kind: "accounts_admin" };
  // Reserved names are looked up as well: a tenant may have taken the name
  // before it was reserved.
  return isLabel(labels) && !labels.startsWith("xn--")
    ? { kind: "tenant", label: labels }
    : { kind: "unknown" };
}

/** The port behind the colon; `undefined` without a colon. */
function parsePort(host: string): string | undefined {
  const colonAt = host.lastIndexOf(":");
  if (colonAt === -1 || host.endsWith("]")) return undefined;
  return host.slice(colonAt + 1);
}

/** An empty port is the scheme's own (RFC 3986, 3.2.3). */
function isPort(text: string): boolean {
  return /^\d{0,5}$/.test(text) && Number(text) <= 65_535;
}

function ipv6Literal(text: string): string | undefined {
  if (!text.endsWith("]")) return undefined;
  const address = text.slice(1, -1);
  const isIpv6 = address.includes(":") && !address.includes("%") &&
    parseClientAddress(address) !== undefined;
  return isIpv6 ? text.toLowerCase() : undefined;
}

/** The parts of a request that tell which part of the service it is for. */
interface RequestTarget {
  /** The `Host` header, or what a trusted proxy says it was. */
  readonly host: HeaderValues;
  /** The path, without the query. */
  readonly path: string;
  /** The `X-Tenant` header, which counts in development only. */
  readonly xTenant?: HeaderValues;
}

/** Options of {@linkcode resolveTarget}. */
interface ResolveTargetOptions {
  /** The host name of the service, as {@linkcode parseServiceHost} gives it. */
  readonly serviceHost: string;
  /**
   * Whether tenants may be named by header or path. Never set it in production:
   * it lets any host name reach any tenant.
   *
   * @default {false}
   */
  readonly devFallback?: boolean;
}

/** Where a request goes. */
interface ResolvedTarget {
  /** The part of the service. */
  readonly part: HostOutcome;
  /** The path within that part. */
  readonly path: string;
  /**
   * The start of the path that named the part, with which links have to begin;
   * usually empty.
   */
  readonly prefix: string;
}

/** A tenant's path: `/t/<label>` and what follows. */
const TENANT_PREFIX = /^\/t\/([^/]*)(\/.*)?$/s;

/** The longest prefix is first, since the first match counts. */
const FIXED_PREFIXES = [
  { prefix: "/accounts/admin", kind: "accounts_admin" },
  { prefix: "/accounts", kind: "accounts" },
] as const;

/**
 * Tells which part of the service a request is for. A host that names a part
 * decides. Otherwise, and only with `devFallback`, the first of these that the
 * request has decides: `<label>.localhost` (also `accounts` and
 * `accounts.admin`), the header `X-Tenant`, a path that begins with
 * `/t/<label>`, `/accounts/admin` or `/accounts`. `localhost` and bare
 * addresses then stand for the service's own host.
 */
export function resolveTarget(
  target: RequestTarget,
  options: ResolveTargetOptions,
): ResolvedTarget {
  const { path } = target;
  const part = parseHost(target.host, options.serviceHost);
  const isSettled = part.kind !== "unknown" && part.kind !== "apex";
  if (isSettled || options.devFallback !== true) {
    return { part, path, prefix: "" };
  }
  const name = hostName(target.host) ?? "";
  const local = parseHost(name, "localhost");
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

/** The tenant that `X-Tenant` names; the header cannot name other parts. */
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
    // A path with an invalid label is kept whole, so that the answer can name
    // it.
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
  return name.startsWith("[") || parseClientAddress(name) !== undefined;
}

/** What a connection and the headers of a request say about its origin. */
interface RequestOrigin {
  /** The address at the other end; absent on a unix socket. */
  readonly peerAddress: string | undefined;
  /** Whether the connection is TLS. */
  readonly isTls: boolean;
  /** The `Host` header. */
  readonly host: HeaderValues;
  /** The `X-Forwarded-Host` header. */
  readonly forwardedHost?: HeaderValues;
  /** The `X-Forwarded-Proto` header. */
  readonly forwardedProto?: HeaderValues;
  /** The `X-Forwarded-For` header. */
  readonly forwardedFor?: HeaderValues;
}

/** The origin of a request, as far as it is trusted. */
export interface TrustedOrigin {
  /** The host the client asked for, to be parsed. */
  readonly host: HeaderValues;
  /** How the client reached the service. */
  readonly scheme: "http" | "https";
  /** The client's address; `undefined` when it is not known. */
  readonly clientAddress: string | undefined;
}

/**
 * Tells where a request came from. Forwarding headers count only when a trusted
 * proxy sent them. Then a doubled or listed `X-Forwarded-Host` is invalid like
 * a doubled `Host`, an `X-Forwarded-Proto` that is not one word is ignored, and
 * the client is the last address of `X-Forwarded-For` that is not a trusted
 * proxy, since the client can invent everything before it.
 */
export function resolveOrigin(
  origin: RequestOrigin,
  trustedProxies: readonly Network[],
): TrustedOrigin {
  const { peerAddress, host } = origin;
  const ownScheme = origin.isTls ? "https" : "http";
  if (!isTrustedProxy(peerAddress, trustedProxies)) {
    return { host, scheme: ownScheme, clientAddress: peerAddress };
  }
  const hasHost = origin.forwardedHost?.length;
  return {
    host: hasHost ? origin.forwardedHost : host,
    scheme: parseScheme(origin.forwardedProto) ?? ownScheme,
    clientAddress: findClientAddress(
      { peerAddress, forwardedFor: toList(origin.forwardedFor) },
      trustedProxies,
    ),
  };
}

function parseScheme(header: HeaderValues): "http" | "https" | undefined {
  const word = singleValue(header)?.trim().toLowerCase();
  return word === "http" || word === "https" ? word : undefined;
}

function toList(header: HeaderValues): readonly string[] {
  return typeof header === "string" ? [header] : header ?? [];
}
