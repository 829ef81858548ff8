/**
 * What a proxy says about a request, where the proxy is one to believe.
 *
 * @module
 */

import { type HeaderValues, singleValue } from "./host.ts";
import {
  isInNetworks,
  type Network,
  parseClientAddress,
} from "../../shared/ip_network.ts";

/** What a connection and the headers of a request say about its origin. */
export interface RequestOrigin {
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

/** How many proxies may stand in a row. */
const MAX_HOPS = 32;

/** Tells whether what this peer says in `X-Forwarded-…` headers counts. */
export function isTrustedProxy(
  peerAddress: string | undefined,
  trustedProxies: readonly Network[],
): boolean {
  if (peerAddress === undefined || trustedProxies.length === 0) return false;
  const address = parseClientAddress(peerAddress);
  return address !== undefined && isInNetworks(trustedProxies, address);
}

/**
 * Tells where a request came from. The headers count only from a trusted
 * proxy. There, a doubled or listed `X-Forwarded-Host` is invalid like a doubled
 * `Host`, an `X-Forwarded-Proto` that is not one word is ignored, and
 * the client is the last address of `X-Forwarded-For` that is no trusted
 * proxy, since everything before it is only what the client claims.
 */
export function originOf(
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
    scheme: schemeOf(origin.forwardedProto) ?? ownScheme,
    clientAddress: clientOf(origin, trustedProxies),
  };
}

function schemeOf(header: HeaderValues): "http" | "https" | undefined {
  const word = singleValue(header)?.trim().toLowerCase();
  return word === "http" || word === "https" ? word : undefined;
}

function clientOf(
  origin: RequestOrigin,
  trustedProxies: readonly Network[],
): string | undefined {
  const { forwardedFor, peerAddress } = origin;
  const list = typeof forwardedFor === "string"
    ? forwardedFor
    : forwardedFor?.join(",") ?? "";
  const hops = list.split(",").slice(-MAX_HOPS).map((hop) => hop.trim());
  let client = peerAddress;
  for (const hop of hops.toReversed()) {
    if (hop === "") continue;
    const hopAddress = withoutPort(hop);
    // Nothing before a hop that cannot be read is trusted.
    if (parseClientAddress(hopAddress) === undefined) return client;
    client = hopAddress;
    if (!isTrustedProxy(hopAddress, trustedProxies)) return client;
  }
  return client;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(hop);
  if (bracketed !== null) return bracketed[1] ?? "";
  return /^[\d.]+:\d+$/.test(hop) ? hop.slice(0, hop.indexOf(":")) : hop;
}
