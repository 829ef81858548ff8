/**
 * Where the head of a request says that it goes, before anything is looked up.
 *
 * @module
 */

import type { HttpHeaders, HttpRequest } from "../../shared/http/exchange.ts";
import { type HostOutcome, resolveTarget } from "../access/host.ts";
import { originOf, type TrustedOrigin } from "../access/forwarded.ts";
import type { Network } from "../../shared/ip_network.ts";

/** What decides where requests go. */
export interface DestinationOptions {
  /** The host whose subdomains are the tenants. */
  readonly serviceHost: string;
  /** Whether tenants may be named without a host name. */
  readonly devFallback: boolean;
  /** Proxies whose words about the client count. */
  readonly trustedProxies: readonly Network[];
}

/** What a head says. */
export interface Destination {
  /** Where the request comes from, as far as that is to be believed. */
  readonly origin: TrustedOrigin;
  /** The part of the service it is for. */
  readonly part: HostOutcome;
  /** The path within that part. */
  readonly path: string;
  /** What stood before it to name the part, in development; mostly empty. */
  readonly prefix: string;
  /** The query as it came, without question mark. */
  readonly rawQuery: string;
}

interface Known {
  readonly target: string;
  readonly peerAddress: string;
  readonly isTls: boolean;
  readonly destination: Destination;
}

/**
 * Reads heads. A connection whose head is the same to the byte gives the same
 * header fields as an object, and what they say then is known.
 */
export class Destinations {
  readonly #options: DestinationOptions;
  readonly #known = new WeakMap<HttpHeaders, Known>();

  /** Nothing has been read yet. */
  constructor(options: DestinationOptions) {
    this.#options = options;
  }

  /** Where a request goes. */
  of(request: HttpRequest): Destination {
    const { headers, target, isTls, peer: { address: peerAddress } } = request;
    const known = this.#known.get(headers);
    const isKnown = known?.target === target && known.isTls === isTls &&
      known.peerAddress === peerAddress;
    if (isKnown) return known.destination;
    const destination = this.#read(request);
    this.#known.set(headers, { target, peerAddress, isTls, destination });
    return destination;
  }

  #read({ headers, target, peer, isTls }: HttpRequest): Destination {
    const { serviceHost, devFallback, trustedProxies } = this.#options;
    const origin = originOf({
      peerAddress: peer.address,
      isTls,
      host: headers.all("host"),
      forwardedHost: headers.all("x-forwarded-host"),
      forwardedProto: headers.all("x-forwarded-proto"),
      forwardedFor: headers.all("x-forwarded-for"),
    }, trustedProxies);
    const mark = target.indexOf("?");
    const { part, path, prefix } = resolveTarget({
      host: origin.host,
      path: mark === -1 ? target : target.slice(0, mark),
      xTenant: headers.all("x-tenant"),
    }, { serviceHost, devFallback });
    const rawQuery = mark === -1 ? "" : target.slice(mark + 1);
    return { origin, part, path, prefix, rawQuery };
  }
}
