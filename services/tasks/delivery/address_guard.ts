/**
 * Decides which addresses push calls may reach: public ones, and those on the
 * operator's allow list. Its DNS lookup refuses all others, so that a call that
 * a tenant asks for cannot reach what only this machine or its network can
 * (server-side request forgery).
 *
 * @module
 */

import type { LookupAddress, LookupOptions } from "node:dns";
import type { LookupFunction } from "node:net";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import {
  type IpAddress,
  isWithin,
  type Network,
  parseIpAddress,
  parseIpNetwork,
  toNetwork,
} from "../../shared/ip_network.ts";

interface Range {
  readonly network: Network;
  readonly use: string;
}

/** The "use" of a text that is no address in its strict form. */
const NO_ADDRESS = "no known form";
const METADATA = "the platform's metadata service";
const DOCUMENTATION = "documentation";
const RESERVED = "a reserved range";
const EMBEDDED = "a range that embeds IPv4 addresses";

/**
 * The networks that are not public: the special-purpose registries of RFC 6890,
 * and the metadata addresses of clouds. The first match names the use.
 */
const NOT_PUBLIC: readonly (readonly [network: string, use: string])[] = [
  ["169.254.169.254/32", METADATA],
  ["100.100.100.200/32", METADATA],
  ["168.63.129.16/32", METADATA], // from a public range
  ["0.0.0.0/8", "this network"],
  ["10.0.0.0/8", "a private network"],
  ["100.64.0.0/10", "a provider's shared range"],
  ["127.0.0.0/8", "the loopback"],
  ["169.254.0.0/16", "the local link"],
  ["172.16.0.0/12", "a private network"],
  ["192.0.0.0/24", RESERVED],
  ["192.0.2.0/24", DOCUMENTATION],
  ["192.88.99.0/24", EMBEDDED], // relays of 6to4
  ["192.168.0.0/16", "a private network"],
  ["198.18.0.0/15", "benchmarks"],
  ["198.51.100.0/24", DOCUMENTATION],
  ["203.0.113.0/24", DOCUMENTATION],
  ["224.0.0.0/4", "multicast"],
  ["255.255.255.255/32", "broadcast"],
  ["240.0.0.0/4", RESERVED],
  ["fd00:ec2::254/128", METADATA],
  ["fd20:ce::254/128", METADATA],
  ["::/128", "no interface"],
  ["::1/128", "the loopback"],
  ["::ffff:0:0/96", EMBEDDED], // IPv4-mapped
  ["::/96", EMBEDDED], // IPv4-compatible
  ["::ffff:0:0:0/96", EMBEDDED], // IPv4-translated
  ["64:ff9b::/96", EMBEDDED], // NAT64
  ["64:ff9b:1::/48", EMBEDDED], // local NAT64
  ["fc00::/7", "a private network"], // unique local
  ["fe80::/10", "the local link"],
  ["fec0::/10", "a private network"], // site-local
  ["ff00::/8", "multicast"],
  ["2001::/32", EMBEDDED], // Teredo
  ["2001:2::/48", "benchmarks"],
  ["2001:db8::/32", DOCUMENTATION],
  ["2001::/23", RESERVED], // protocol assignments
  ["2002::/16", EMBEDDED], // 6to4
  ["3fff::/20", DOCUMENTATION],
];

/** Global unicast; no other IPv6 address is public. */
const GLOBAL_UNICAST = "2000::/3";

/** The tables above, parsed when the first address is looked up. */
class Ranges {
  #notPublic: readonly Range[] | undefined;
  #globalUnicast: Network | undefined;

  /**
   * The use of an address that is not public; undefined for other addresses.
   */
  findUse(address: IpAddress): string | undefined {
    this.#notPublic ??= NOT_PUBLIC.map(([text, use]) => ({
      network: networkOfText(text),
      use,
    }));
    return this.#notPublic.find(({ network }) => isWithin(address, network))
      ?.use;
  }

  /** Tells whether an IPv6 address is in the range of public networks. */
  isGlobalUnicast(address: IpAddress): boolean {
    this.#globalUnicast ??= networkOfText(GLOBAL_UNICAST);
    return isWithin(address, this.#globalUnicast);
  }
}

const RANGES = new Ranges();

/**
 * The use of an address that is not public, to stand after "an address of",
 * such as `the loopback`; `undefined` when the address is public. Forms of IPv6
 * that embed an IPv4 address are never public, whichever address they embed: a
 * gateway turns them into calls that were never checked.
 *
 * @param text the address as resolvers write it, without brackets and zone id;
 * any other text counts as not public
 */
export function findClosedUse(text: string): string | undefined {
  const address = parseIpAddress(text);
  if (address === undefined) return NO_ADDRESS;
  const use = RANGES.findUse(address);
  if (use !== undefined) return use;
  const isPublic = address.family === 4 || RANGES.isGlobalUnicast(address);
  return isPublic ? undefined : RESERVED;
}

/** Reads a network of the tables above. */
function networkOfText(text: string): Network {
  const network = parseIpNetwork(text);
  if (network === undefined) throw new TypeError(`Cannot read "${text}"`);
  return network;
}

const LABEL = /^[a-z0-9_-]{1,63}$/;

/** What URL parsers accept as the last part of an IPv4 address. */
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;

const MAX_CHARS = 253;

/**
 * Normalizes a host name: lower case, without the dot that may end it;
 * `undefined` when the text is no host name or could be read as an IP address.
 * International names have their `xn--` form. Underscores are accepted, since
 * names of containers have them.
 */
export function normalizeHostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.length > MAX_CHARS) return undefined;
  const labels = name.split(".");
  if (!labels.every((label) => LABEL.test(label))) return undefined;
  return NUMBER.test(labels.at(-1) ?? "") ? undefined : name;
}

/** An entry of the allow list. */
type AllowListEntry =
  | {
    readonly kind: "network";
    /** Addresses that may be called. */
    readonly network: Network;
    /** The only allowed port; any port when absent. */
    readonly port?: number | undefined;
  }
  | {
    readonly kind: "host";
    /** A host name that may be called, whatever its address. */
    readonly host: string;
    /** The only allowed port; any port when absent. */
    readonly port?: number | undefined;
  };

/** What may be called besides public addresses. */
export type AllowList = readonly AllowListEntry[];

/** The outcome of parsing the allow list. */
type AllowListOutcome =
  | { readonly kind: "ok"; readonly allowList: AllowList }
  | {
    readonly kind: "invalid";
    /** One message for each invalid entry. */
    readonly problems: readonly string[];
  };

/** The host and port of a call, as the allow list judges them. */
interface CallPoint {
  /** The host of the URL: a name in its normal form, or an address. */
  readonly host: string;
  /** The TCP port. */
  readonly port: number;
  /** The address of the host; absent until it is resolved. */
  readonly address?: string;
}

/**
 * An address in brackets, or a text without colon, each with an optional port.
 */
const FORM = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;

const EXPECTED = 'it is no IP address, network ("10.0.0.0/8") or host name, ' +
  'with or without a port ("worker:8080", "[::1]:8080")';

/**
 * Parses the entries of the allow list: IP addresses, networks such as
 * `10.0.0.0/8`, and host names; addresses and names may have a port.
 */
export function parseAllowList(entries: readonly string[]): AllowListOutcome {
  const allowList: AllowListEntry[] = [];
  const problems: string[] = [];
  for (const text of entries) {
    const entry = parseEntry(text.trim());
    if (typeof entry === "string") {
      problems.push(`Cannot allow calls to ${quote(text)}: ${entry}`);
    } else allowList.push(entry);
  }
  return problems.length > 0
    ? { kind: "invalid", problems }
    : { kind: "ok", allowList };
}

/** Tells whether the list allows a call, public or not. */
export function isAllowed(list: AllowList, point: CallPoint): boolean {
  const address = parseIpAddress(point.address ?? "");
  return list.some((entry) => {
    if (entry.port !== undefined && entry.port !== point.port) return false;
    if (entry.kind === "host") return entry.host === point.host;
    return address !== undefined && isWithin(address, entry.network);
  });
}

/** Parses an entry, or returns what is wrong with it. */
function parseEntry(text: string): AllowListEntry | string {
  if (text.includes("/")) {
    const network = parseIpNetwork(text);
    if (network !== undefined) return { kind: "network", network };
    const base = parseIpAddress(text.slice(0, text.indexOf("/")));
    return base === undefined
      ? EXPECTED
      : "its prefix is too long, or the address has bits beyond it";
  }
  const bare = parseIpAddress(text);
  if (bare !== undefined) return { kind: "network", network: toNetwork(bare) };
  const [, bracketed, plain, digits] = FORM.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) {
    return "a port lies between 1 and 65535";
  }
  const address = parseIpAddress(bracketed ?? plain ?? "");
  if (address !== undefined) {
    return { kind: "network", network: toNetwork(address), port };
  }
  const host = plain === undefined ? undefined : normalizeHostName(plain);
  return host === undefined ? EXPECTED : { kind: "host", host, port };
}

/**
 * A resolver that finds all addresses of a host name; rejects when it finds no
 * address.
 */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Resolves a host name by the operating system's resolver. */
export async function systemResolve(
  host: string,
): Promise<readonly LookupAddress[]> {
  const { lookup } = await import("node:dns/promises");
  return await lookup(host, { all: true, order: "verbatim" });
}

/** Why a guarded lookup fails. */
type LookupErrorCode = "ADDRESS_REFUSED" | "DNS_FAILED";

/** The error of a guarded lookup that gives no address. */
export class LookupError extends Error {
  /** Whether an address was refused or no address was found. */
  readonly code: LookupErrorCode;

  /** Takes the code and the message. */
  constructor(code: LookupErrorCode, message: string) {
    super(message);
    this.name = "LookupError";
    this.code = code;
  }
}

/** Options of {@linkcode createGuardedLookup}. */
interface GuardedLookupOptions {
  /**
   * The port that will be called; entries of the allow list may require one.
   */
  readonly port: number;
  /** The addresses and hosts that may be called besides public addresses. */
  readonly allowList: AllowList;
  /** Resolves host names. */
  readonly resolve: Resolve;
}

/**
 * The most addresses of a host that are returned; a socket tries one after the
 * other, so more are of no use.
 */
const MAX_ADDRESSES = 8;

/**
 * Creates the `lookup` option of a single call with `node:http`, `node:https`
 * or `node:net`. A single address that may not be called is enough to refuse
 * the name: no public name needs one. Fails with a {@linkcode LookupError}.
 */
export function createGuardedLookup(
  options: GuardedLookupOptions,
): LookupFunction {
  return (host, asked, callback): void => {
    resolveAddresses(host, options).then(
      (found) => answer({ host, asked, found, callback }),
      (error) => callback(error, "", 0),
    );
  };
}

async function resolveAddresses(
  host: string,
  options: GuardedLookupOptions,
): Promise<readonly LookupAddress[]> {
  let found: readonly LookupAddress[];
  try {
    found = await options.resolve(host);
  } catch (error) {
    const why = quote(describeError(error));
    throw new LookupError(
      "DNS_FAILED",
      `Cannot resolve ${quote(host)}: ${why}`,
    );
  }
  const { port, allowList } = options;
  for (const { address } of found) {
    const use = findClosedUse(address);
    if (use === undefined) continue;
    // A host name on the list may have any address, but it has to be a valid
    // one.
    const isReadable = use !== NO_ADDRESS;
    if (isReadable && isAllowed(allowList, { host, port, address })) continue;
    // The message leaves out the address itself: a caller who tries names must
    // not learn the layout of an internal network.
    throw new LookupError(
      "ADDRESS_REFUSED",
      `Cannot call ${quote(host)}: it has an address of ${use}`,
    );
  }
  return found;
}

interface Answer {
  readonly host: string;
  readonly asked: LookupOptions;
  readonly found: readonly LookupAddress[];
  readonly callback: Parameters<LookupFunction>[2];
}

function answer({ host, asked, found, callback }: Answer): void {
  const wanted = toFamily(asked.family);
  const fitting = found
    .filter(({ family }) => wanted === undefined || family === wanted)
    .slice(0, MAX_ADDRESSES);
  const [first] = fitting;
  if (first === undefined) {
    const message = `Cannot resolve ${quote(host)}: it has no address`;
    callback(new LookupError("DNS_FAILED", message), "", 0);
  } else if (asked.all) callback(null, fitting);
  else callback(null, first.address, first.family);
}

function toFamily(family: LookupOptions["family"]): 4 | 6 | undefined {
  if (family === 4 || family === "IPv4") return 4;
  if (family === 6 || family === "IPv6") return 6;
  return undefined;
}
