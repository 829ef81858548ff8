/**
 * Addresses and hosts that may be called although they are not public.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import {
  isWithin,
  type Network,
  networkOf,
  parseIpAddress,
  parseIpNetwork,
} from "../../shared/ip_network.ts";

const LABEL = /^[a-z0-9_-]{1,63}$/;

/** What URL parsers take for the last part of an IPv4 address. */
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;

const MAX_CHARS = 253;

/**
 * The name in lower case and without the dot that may end it; `undefined` when
 * it is no host name or could be read as an IP address. International names
 * have their `xn--` form. Underscores are accepted, since names of containers
 * have them.
 */
export function normalizeHostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.length > MAX_CHARS) return undefined;
  const labels = name.split(".");
  if (!labels.every((label) => LABEL.test(label))) return undefined;
  return NUMBER.test(labels.at(-1) ?? "") ? undefined : name;
}

/** One entry of the list. */
type AllowListEntry =
  | {
    readonly kind: "network";
    /** Addresses that may be called. */
    readonly network: Network;
    /** The one port of them; any when left out. */
    readonly port?: number | undefined;
  }
  | {
    readonly kind: "host";
    /** A name that may be called, whatever address it has. */
    readonly host: string;
    /** The one port of it; any when left out. */
    readonly port?: number | undefined;
  };

/** What may be called besides public addresses. */
export type AllowList = readonly AllowListEntry[];

/** The outcome of reading the list. */
type AllowListOutcome =
  | { readonly kind: "ok"; readonly allowList: AllowList }
  | {
    readonly kind: "invalid";
    /** One message for each invalid entry. */
    readonly problems: readonly string[];
  };

/** What is about to be called. */
interface CallPoint {
  /** The host of the URL: a name in its normal form, or an address. */
  readonly host: string;
  /** The TCP port. */
  readonly port: number;
  /** The address of the host; left out as long as it is not known. */
  readonly address?: string;
}

/** An address in brackets, or what holds no colon; a port may follow. */
const FORM = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;

const EXPECTED = 'it is no IP address, network ("10.0.0.0/8") or host name, ' +
  'with or without a port ("worker:8080", "[::1]:8080")';

/**
 * Reads the entries of the list: IP addresses, networks such as `10.0.0.0/8`,
 * and host names; addresses and names with a port or without.
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

/** Reads an entry, or tells what is wrong with it. */
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
  if (bare !== undefined) return { kind: "network", network: networkOf(bare) };
  const [, bracketed, plain, digits] = FORM.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) {
    return "a port lies between 1 and 65535";
  }
  const address = parseIpAddress(bracketed ?? plain ?? "");
  if (address !== undefined) {
    return { kind: "network", network: networkOf(address), port };
  }
  const host = plain === undefined ? undefined : normalizeHostName(plain);
  return host === undefined ? EXPECTED : { kind: "host", host, port };
}
