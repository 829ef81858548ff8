/**
 * Name resolution that only gives out addresses that may be called. What it
 * gives is what the socket connects to, so that a name which changes its
 * address between check and use gains nothing.
 *
 * @module
 */

import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { describeError } from "../../shared/settled.ts";
import { quote } from "../../shared/quote.ts";
import { judgeAddress } from "./address_guard.ts";
import { type AllowList, isAllowed } from "./allow_list.ts";

/** One address of a host. */
export interface ResolvedAddress {
  /** The IP address. */
  readonly address: string;
  /** Its version of the protocol. */
  readonly family: 4 | 6;
}

/** Finds all addresses of a host name; rejects when it has none. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

/** What is wrong with a host name. */
export type LookupErrorCode = "ADDRESS_REFUSED" | "DNS_FAILED";

/** The reason why a guarded lookup gives no address. */
export class LookupError extends Error {
  /** Whether an address was refused or none was found. */
  readonly code: LookupErrorCode;

  /** An error of this code and message. */
  constructor(code: LookupErrorCode, message: string) {
    super(message);
    this.name = "LookupError";
    this.code = code;
  }
}

/** Options of {@linkcode createGuardedLookup}. */
export interface GuardedLookupOptions {
  /** The port that will be called; entries of the list may name one. */
  readonly port: number;
  /** What may be called besides public addresses. */
  readonly allowList: AllowList;
  /** Finds the addresses. */
  readonly resolve: Resolve;
}

/** A socket tries one address after the other; so many are enough. */
const MAX_ADDRESSES = 8;

/** Asks the resolver of the operating system. */
export async function systemResolve(
  host: string,
): Promise<readonly ResolvedAddress[]> {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }));
}

/**
 * Makes the `lookup` of one call with `node:http`, `node:https` or `node:net`.
 * One address that may not be called is enough to refuse the name: a public
 * name has no business there. Fails with a {@linkcode LookupError}.
 */
export function createGuardedLookup(
  options: GuardedLookupOptions,
): LookupFunction {
  return (host, asked, callback): void => {
    addressesOf(host, options).then(
      (found) => answer({ host, asked, found, callback }),
      (error) => callback(error, "", 0),
    );
  };
}

async function addressesOf(
  host: string,
  options: GuardedLookupOptions,
): Promise<readonly ResolvedAddress[]> {
  let found: readonly ResolvedAddress[];
  try {
    found = await options.resolve(host);
  } catch (error) {
    const why = quote(describeError(error));
    throw new LookupError(
      "DNS_FAILED",
      `Cannot resolve ${quote(host)}: ${why}`,
    );
  }
  for (const { address } of found) {
    const use = refusalOf(address, { host, ...options });
    if (use === undefined) continue;
    throw new LookupError(
      "ADDRESS_REFUSED",
      `Cannot call ${quote(host)}: it has an address of ${use}`,
    );
  }
  return found;
}

/**
 * What is wrong with an address, without the address itself: a stranger who
 * asks for names shall not learn the plan of an inner network.
 */
function refusalOf(
  address: string,
  options: GuardedLookupOptions & { readonly host: string },
): string | undefined {
  const { host, port, allowList } = options;
  const verdict = judgeAddress(address);
  if (verdict.kind === "public") return undefined;
  if (verdict.kind === "not_an_address") return "no known form";
  return isAllowed(allowList, { host, port, address })
    ? undefined
    : verdict.use;
}

interface Answer {
  readonly host: string;
  readonly asked: LookupOptions;
  readonly found: readonly ResolvedAddress[];
  readonly callback: Parameters<LookupFunction>[2];
}

function answer({ host, asked, found, callback }: Answer): void {
  const wanted = familyOf(asked.family);
  const fitting: LookupAddress[] = found
    .filter(({ family }) => wanted === undefined || family === wanted)
    .slice(0, MAX_ADDRESSES)
    .map(({ address, family }) => ({ address, family }));
  const [first] = fitting;
  if (first === undefined) {
    const message = `Cannot resolve ${quote(host)}: it has no address`;
    callback(new LookupError("DNS_FAILED", message), "", 0);
  } else if (asked.all) callback(null, fitting);
  else callback(null, first.address, first.family);
}

function familyOf(family: LookupOptions["family"]): 4 | 6 | undefined {
  if (family === 4 || family === "IPv4") return 4;
  if (family === 6 || family === "IPv6") return 6;
  return undefined;
}
