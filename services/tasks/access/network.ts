/**
 * IP addresses and networks in CIDR notation (RFC 4632, RFC 4291), for lists
 * of proxies to trust and of places a credential may be used from.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";

/** An IP address: 4 bytes, or 16. */
export type AddressBytes = readonly number[];

/** A range of addresses. */
export interface Network {
  /** The first address of the range. */
  readonly address: AddressBytes;
  /** How many leading bits all its addresses share. */
  readonly prefixBits: number;
  /** The range as it is shown: `10.0.0.0/8`. */
  readonly text: string;
}

/** What reading a network comes to. */
export type NetworkOutcome =
  | { readonly kind: "ok"; readonly network: Network }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** The longest spelling of an address, with room for a zone. */
const MAX_TEXT_LENGTH = 100;

/** How IPv4 addresses are written in IPv6 (RFC 4291, 2.5.5.2). */
const MAPPED_PREFIX: AddressBytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];

/**
 * Reads an IP address. An IPv4 address in its IPv6 form (`::ffff:192.0.2.1`)
 * is the IPv4 address, as a socket that serves both reports it so. A zone
 * (`%eth0`) is dropped.
 *
 * @returns `undefined` when it is none; IPv4 has four decimal numbers without
 * leading zeros, and no shorter forms.
 */
export function parseAddress(text: string): AddressBytes | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  if (!text.includes(":")) return parseIpv4(text);
  const zoneAt = text.indexOf("%");
  const bytes = parseIpv6(zoneAt === -1 ? text : text.slice(0, zoneAt));
  return bytes !== undefined && isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** Reads a network; an address alone is the network of that address. */
export function parseNetwork(text: string): NetworkOutcome {
  const [addressText = "", prefixText, ...more] = text.split("/");
  const address = addressText.includes("%")
    ? undefined
    : parseAddress(addressText);
  if (address === undefined || more.length > 0) {
    return invalid(
      text,
      'it is no address and no network such as "10.0.0.0/8"',
    );
  }
  const addressBits = address.length * 8;
  const prefixBits = prefixText === undefined
    ? addressBits
    : parsePrefix(prefixText, {
      addressBits,
      mapped: addressText.includes(":") && addressBits === 32,
    });
  if (prefixBits === undefined) {
    return invalid(text, "the number of bits behind the slash is out of range");
  }
  const first = firstOf(address, prefixBits);
  const shown = `${formatAddress(first)}/${prefixBits}`;
  if (first.some((byte, index) => byte !== address[index])) {
    return invalid(
      text,
      `the address has bits behind the prefix, did you mean ${quote(shown)}?`,
    );
  }
  return { kind: "ok", network: { address: first, prefixBits, text: shown } };
}

/** Tells whether an address lies in one of the networks. */
export function isInNetworks(
  networks: readonly Network[],
  address: AddressBytes,
): boolean {
  return networks.some((network) => contains(network, address));
}

function contains(network: Network, address: AddressBytes): boolean {
  if (network.address.length !== address.length) return false;
  const wholeBytes = network.prefixBits >> 3;
  for (let index = 0; index < wholeBytes; index++) {
    if (network.address[index] !== address[index]) return false;
  }
  const mask = maskOf(network.prefixBits & 7);
  return mask === 0 ||
    ((network.address[wholeBytes] ?? 0) & mask) ===
      ((address[wholeBytes] ?? 0) & mask);
}

/** A byte whose first `bits` are set. */
function maskOf(bits: number): number {
  return 0xff00 >> bits & 0xff;
}

function firstOf(address: AddressBytes, prefixBits: number): AddressBytes {
  return address.map((byte, index) =>
    byte & maskOf(Math.min(8, Math.max(0, prefixBits - index * 8)))
  );
}

interface PrefixOptions {
  readonly addressBits: number;
  /** The address is IPv4 and was written as IPv6. */
  readonly mapped: boolean;
}

function parsePrefix(text: string, options: PrefixOptions): number | undefined {
  if (!/^(?:0|[1-9]\d{0,2})$/.test(text)) return undefined;
  const bits = Number(text) - (options.mapped ? 96 : 0);
  return bits >= 0 && bits <= options.addressBits ? bits : undefined;
}

function parseIpv4(text: string): AddressBytes | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes: number[] = [];
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) {
      return undefined;
    }
    bytes.push(Number(part));
  }
  return bytes;
}

function parseIpv6(text: string): AddressBytes | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(parseGroups);
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  // A dotted quad ends the address, so it cannot stand before "::".
  if (tail === undefined || halves[0]?.includes(".")) return undefined;
  const zeros = 16 - head.length - tail.length;
  // "::" stands for at least one group (RFC 4291, 2.2).
  return zeros >= 2
    ? [...head, ...new Array<number>(zeros).fill(0), ...tail]
    : undefined;
}

/** Reads `1:2:3`, the last of which may be a dotted quad. */
function parseGroups(text: string): AddressBytes | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 255);
      continue;
    }
    const quad = index === groups.length - 1 ? parseIpv4(group) : undefined;
    if (quad === undefined) return undefined;
    bytes.push(...quad);
  }
  return bytes.length <= 16 ? bytes : undefined;
}

function isMapped(bytes: AddressBytes): boolean {
  return MAPPED_PREFIX.every((byte, index) => bytes[index] === byte);
}

/** The canonical text of an address (RFC 5952). */
function formatAddress(bytes: AddressBytes): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from(
    { length: 8 },
    (_, index) =>
      (((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0))
        .toString(16),
  );
  const { start, length } = longestZeros(groups);
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, start).join(":")}::${
    groups.slice(start + length).join(":")
  }`;
}

function longestZeros(
  groups: readonly string[],
): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let index = 0; index <= groups.length; index++) {
    if (groups[index] === "0") continue;
    if (index - start > best.length) best = { start, length: index - start };
    start = index + 1;
  }
  return best;
}

function invalid(text: string, why: string): NetworkOutcome {
  return {
    kind: "invalid",
    reason: `Cannot use network ${quote(text)}: ${why}`,
  };
}
