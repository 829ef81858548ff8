/**
 * Finds the address of the client of a request, also behind trusted proxies;
 * and protects ports for operators from browsers on the same machine.
 *
 * @module
 */

import { isIP } from "node:net";
import {
  addressGroup,
  isTrustedProxy,
  type Network,
  parseClientAddress,
  parseNetwork,
} from "../ip_network.ts";
import { quote } from "../quote.ts";
import type { HttpRequest } from "./exchange.ts";

/** How many proxies may stand in a row. */
const MAX_HOPS = 32;

/** What is known of where a request came from. */
interface RequestPath {
  /** The address at the other end; undefined on a unix socket. */
  readonly peerAddress: string | undefined;
  /** The values of `X-Forwarded-For`, in order. */
  readonly forwardedFor: readonly string[];
}

/**
 * The client's address: the last one of `X-Forwarded-For` that is no trusted
 * proxy, since everything before it is only what the client claims. Without a
 * trusted proxy it is the peer's.
 */
export function findClientAddress(
  { peerAddress, forwardedFor }: RequestPath,
  trustedProxies: readonly Network[],
): string | undefined {
  if (!isTrustedProxy(peerAddress, trustedProxies)) return peerAddress;
  const hops = forwardedFor.join(",").split(",").slice(-MAX_HOPS);
  let client = peerAddress;
  for (const hop of hops.toReversed().map((text) => text.trim())) {
    if (hop === "") continue;
    const hopAddress = withoutPort(hop);
    // Nothing before a hop that cannot be read is trusted.
    if (parseClientAddress(hopAddress) === undefined) return client;
    client = hopAddress;
    if (!isTrustedProxy(hopAddress, trustedProxies)) return client;
  }
  return client;
}

/**
 * The key under which requests of an unknown client are counted: its address,
 * or the /64 of its IPv6 address.
 */
export function toClientGroup(
  { peer, headers }: Pick<HttpRequest, "peer" | "headers">,
  trustedProxies: readonly Network[],
): string {
  const address = findClientAddress({
    peerAddress: peer.address,
    forwardedFor: headers.all("x-forwarded-for"),
  }, trustedProxies);
  return addressGroup(address ?? "");
}

/** Removes the port that some proxies add, as in `192.0.2.1:4711`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(hop);
  if (bracketed !== null) return bracketed[1] ?? "";
  return /^[\d.]+:\d+$/.test(hop) ? hop.slice(0, hop.indexOf(":")) : hop;
}

/**
 * The networks that `TRUSTED_PROXIES` names.
 *
 * @param problems Gets a sentence for each text that names no network.
 */
export function parseTrustedProxies(
  texts: readonly string[],
  problems: string[],
): readonly Network[] {
  return texts.flatMap((text) => {
    const outcome = parseNetwork(text);
    if (outcome.kind === "ok") return [outcome.network];
    problems.push(`${outcome.reason} (TRUSTED_PROXIES)`);
    return [];
  });
}

/**
 * Tells whether an address is of this machine: a loopback address (RFC 5735 and
 * RFC 4291). A proxy on this machine makes every client look local.
 */
export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}

/**
 * Tells why a request of a client on this machine is refused; undefined when it
 * is not.
 *
 * A page in a browser of this machine can have its own host name resolve to
 * 127.0.0.1 and then read what it finds there (DNS rebinding). So such a client
 * must name an address, `localhost` or the host that was set: a page of another
 * site has none of them as its origin.
 *
 * @param request The field Host as it was sent, and the client's address.
 * @param port The host the port was set to, the setting that did it, and what
 * the port has to tell.
 */
export function localHostFault(
  request: { readonly host: string | undefined; readonly address: string },
  port: {
    readonly host: string;
    readonly setting: string;
    readonly tells: string;
  },
): string | undefined {
  const { host, address } = request;
  // Browsers always send the field.
  if (host === undefined || !isLoopbackAddress(address)) return undefined;
  const name = host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (isIP(name) !== 0 || name === "localhost") return undefined;
  if (name === port.host.toLowerCase()) return undefined;
  return `Cannot tell ${port.tells} to host ${quote(name)} on this machine: ` +
    `ask by address, by localhost, or by the name in ${port.setting}`;
}
