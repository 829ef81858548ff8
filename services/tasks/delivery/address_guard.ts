/**
 * Which addresses of the Internet are public, and a DNS lookup that refuses the
 * others, so that a call that a tenant asks for cannot reach what only this machine
 * or its network can.
 *
 * @module
 */

import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { type AllowList, isAllowed } from "./allow_list.ts";
import { type IpAddress, isWithin, parseIpAddress } from "./ip_address.ts";

/** What an address is. */
export type AddressVerdict =
  | { readonly kind: "public" }
  | {
    readonly kind: "not_public";
    /** What the address is for, to stand after "an address of": `the loopback`. */
    readonly use: string;
  }
  | {
    /** The text is no IP address in its strict form. */
    readonly kind: "not_an_address";
  };

type Range = readonly [base: bigint, prefixBits: number, use: string];

const METADATA = "the platform's metadata service";
const DOCUMENTATION = "documentation";
const RESERVED = "a reserved range";
const EMBEDDED = "a range that embeds IPv4 addresses";

/**
 * What is not public within IPv4: the special-purpose registry of RFC 6890, and
 * where clouds keep their metadata. The first match names the use.
 */
const IPV4_RANGES: readonly Range[] = [
  [0xa9_fe_a9_fen, 32, METADATA], // 169.254.169.254
  [0x64_64_64_c8n, 32, METADATA], // 100.100.100.200
  [0xa8_3f_81_10n, 32, METADATA], // 168.63.129.16, from a public range
  [0x00_00_00_00n, 8, "this network"], // 0.0.0.0/8
  [0x0a_00_00_00n, 8, "a private network"], // 10.0.0.0/8
  [0x64_40_00_00n, 10, "a provider's shared range"], // 100.64.0.0/10
  [0x7f_00_00_00n, 8, "the loopback"], // 127.0.0.0/8
  [0xa9_fe_00_00n, 16, "the local link"], // 169.254.0.0/16
  [0xac_10_00_00n, 12, "a private network"], // 172.16.0.0/12
  [0xc0_00_00_00n, 24, RESERVED], // 192.0.0.0/24
  [0xc0_00_02_00n, 24, DOCUMENTATION], // 192.0.2.0/24
  [0xc0_58_63_00n, 24, EMBEDDED], // 192.88.99.0/24, relays of 6to4
  [0xc0_a8_00_00n, 16, "a private network"], // 192.168.0.0/16
  [0xc6_12_00_00n, 15, "benchmarks"], // 198.18.0.0/15
  [0xc6_33_64_00n, 24, DOCUMENTATION], // 198.51.100.0/24
  [0xcb_00_71_00n, 24, DOCUMENTATION], // 203.0.113.0/24
  [0xe0_00_00_00n, 4, "multicast"], // 224.0.0.0/4
  [0xff_ff_ff_ffn, 32, "broadcast"], // 255.255.255.255
  [0xf0_00_00_00n, 4, RESERVED], // 240.0.0.0/4
];

/** The whole of global unicast, 2000::/3; nothing else of IPv6 is public. */
const GLOBAL_UNICAST: Range = [0x2000n << 112n, 3, "global unicast"];

/** What is not public within IPv6 (RFC 6890 and the registry it made). */
const IPV6_RANGES: readonly Range[] = [
  [(0xfd00_0ec2n << 96n) | 0x254n, 128, METADATA], // fd00:ec2::254
  [(0xfd20_00cen << 96n) | 0x254n, 128, METADATA], // fd20:ce::254
  [0n, 128, "no interface"], // ::
  [1n, 128, "the loopback"], // ::1
  [0xffffn << 32n, 96, EMBEDDED], // ::ffff:0:0/96, IPv4-mapped
  [0n, 96, EMBEDDED], // ::/96, IPv4-compatible
  [0xffffn << 48n, 96, EMBEDDED], // ::ffff:0:0:0/96, IPv4-translated
  [0x0064_ff9bn << 96n, 96, EMBEDDED], // 64:ff9b::/96, NAT64
  [0x0064_ff9b_0001n << 80n, 48, EMBEDDED], // 64:ff9b:1::/48, local NAT64
  [0xfc00n << 112n, 7, "a private network"], // fc00::/7, unique local
  [0xfe80n << 112n, 10, "the local link"], // fe80::/10
  [0xfec0n << 112n, 10, "a private network"], // fec0::/10, site-local
  [0xff00n << 112n, 8, "multicast"], // ff00::/8
  [0x2001n << 112n, 32, EMBEDDED], // 2001::/32, Teredo
  [0x2001_0002n << 96n, 48, "benchmarks"], // 2001:2::/48
  [0x2001_0db8n << 96n, 32, DOCUMENTATION], // 2001:db8::/32
  [0x2001n << 112n, 23, RESERVED], // 2001::/23, protocol assignments
  [0x2002n << 112n, 16, EMBEDDED], // 2002::/16, 6to4
  [0x3fffn << 112n, 20, DOCUMENTATION], // 3fff::/20
];

/**
 * Judges an IP address. Forms of IPv6 that carry an IPv4 address are never
 * public, whichever address they carry: a gateway turns them into calls that
 * nobody checked.
 *
 * @param text The address as resolvers write it; without brackets and zone id.
 */
export function judgeAddress(text: string): AddressVerdict {
  const address = parseIpAddress(text);
  if (address === undefined) return { kind: "not_an_address" };
  const use = address.family === 4
    ? useWithin(address, IPV4_RANGES)
    : useWithin(address, IPV6_RANGES) ??
      (isInRange(address, GLOBAL_UNICAST) ? undefined : RESERVED);
  return use === undefined ? { kind: "public" } : { kind: "not_public", use };
}

function useWithin(
  address: IpAddress,
  ranges: readonly Range[],
): string | undefined {
  return ranges.find((range) => isInRange(address, range))?.[2];
}

function isInRange(address: IpAddress, range: Range): boolean {
  const [value, prefixBits] = range;
  return isWithin(address, { family: address.family, value, prefixBits });
}

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
