/**
 * IP addresses and networks as values, read from their strict text forms.
 *
 * `BlockList` of `node:net` is not used: to it an IPv4 address lies in IPv6
 * networks too, in its mapped form, and the guard of push calls has to tell
 * them apart.
 *
 * @module
 */

import { isIP } from "node:net";
import { quote } from "./quote.ts";

/** An IP address. */
export interface IpAddress {
  /** The version of the protocol. */
  readonly family: 4 | 6;
  /** All its bits as one number. */
  readonly value: bigint;
}

/** All addresses that begin with the same bits. */
export interface Network extends IpAddress {
  /** How many bits they share. */
  readonly prefixBits: number;
}

/** The outcome of reading a network. */
type NetworkOutcome =
  | {
    readonly kind: "ok";
    /** The network. */
    readonly network: Network;
    /** The network in its canonical form: `10.0.0.0/8`. */
    readonly text: string;
  }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** The longest spelling of an address, with room for a zone. */
const MAX_TEXT_LENGTH = 100;

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** The 96 bits before an IPv4 address in its IPv6 form (RFC 4291, 2.5.5.2). */
const MAPPED_PREFIX = 0xffffn;

/**
 * Reads an address: four decimal numbers without leading zeros, or IPv6 text
 * (RFC 4291, 2.2).
 *
 * @returns `undefined` for other spellings, such as `0x7f.1`, brackets and zone
 * ids.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > MAX_TEXT_LENGTH || text.includes("%")) return undefined;
  // `isIP` takes 30 ms to load, and most addresses are IPv4.
  if (IPV4.test(text)) return { family: 4, value: ipv4Value(text) };
  return isIP(text) === 6 ? { family: 6, value: ipv6Value(text) } : undefined;
}

/**
 * Reads the address of a client. An IPv4 address in its IPv6 form
 * (`::ffff:192.0.2.1`) is the IPv4 address, as a socket that serves both
 * reports it so. A zone (`%eth0`) is dropped.
 *
 * @returns `undefined` when the text is no address.
 */
export function parseClientAddress(text: string): IpAddress | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const zoneAt = text.includes(":") ? text.indexOf("%") : -1;
  const address = parseIpAddress(zoneAt === -1 ? text : text.slice(0, zoneAt));
  return address && withoutMapping(address);
}

/**
 * Reads a network of clients; an address alone is the network of that address,
 * and an IPv4 network in its IPv6 form is the IPv4 network.
 */
export function parseNetwork(text: string): NetworkOutcome {
  const [addressText = "", prefixText, ...more] = text.split("/");
  const written = parseIpAddress(addressText);
  if (written === undefined || more.length > 0) {
    return invalid(
      text,
      'it is neither an address nor a network such as "10.0.0.0/8"',
    );
  }
  const address = withoutMapping(written);
  const prefixBits = prefixText === undefined
    ? getWidth(address)
    : parsePrefix(prefixText) - (getWidth(written) - getWidth(address));
  if (!(prefixBits >= 0 && prefixBits <= getWidth(address))) {
    return invalid(text, "the number of bits behind the slash is out of range");
  }
  const network = {
    ...address,
    prefixBits,
    value: toFirstAddress(address, prefixBits),
  };
  const shown = `${formatAddress(network)}/${prefixBits}`;
  return network.value === address.value
    ? { kind: "ok", network, text: shown }
    : invalid(
      text,
      `the address has bits behind the prefix, did you mean ${quote(shown)}?`,
    );
}

/**
 * Reads a network such as `10.0.0.0/8` (RFC 4632, RFC 4291) of the family it is
 * written in.
 *
 * @returns `undefined` when the text is no network, or has bits behind the
 * prefix.
 */
export function parseIpNetwork(text: string): Network | undefined {
  const [addressText = "", prefixText = "", ...more] = text.split("/");
  const address = parseIpAddress(addressText);
  const prefixBits = parsePrefix(prefixText);
  if (address === undefined || more.length > 0) return undefined;
  return prefixBits <= getWidth(address) &&
      toFirstAddress(address, prefixBits) === address.value
    ? { ...address, prefixBits }
    : undefined;
}

/** The network of one address. */
export function toNetwork(address: IpAddress): Network {
  return { ...address, prefixBits: getWidth(address) };
}

/** Tells whether an address lies in one of the networks. */
export function isInNetworks(
  networks: readonly Network[],
  address: IpAddress,
): boolean {
  return networks.some((network) => isWithin(address, network));
}

/** Tells whether an address lies in a network. */
export function isWithin(address: IpAddress, network: Network): boolean {
  if (address.family !== network.family) return false;
  const hostBits = BigInt(getWidth(address) - network.prefixBits);
  return address.value >> hostBits === network.value >> hostBits;
}

/**
 * The key under which a client's address is counted: an IPv6 address counts as
 * its /64, which is what a provider gives to one customer; all texts that are
 * not addresses share the empty key.
 */
export function addressGroup(text: string): string {
  const address = parseClientAddress(text);
  if (address === undefined) return "";
  return address.family === 4
    ? String(address.value)
    : `${address.value >> 64n}/64`;
}

function withoutMapping(address: IpAddress): IpAddress {
  return address.family === 6 && address.value >> 32n === MAPPED_PREFIX
    ? { family: 4, value: address.value & 0xffff_ffffn }
    : address;
}

function getWidth({ family }: IpAddress): number {
  return family === 4 ? 32 : 128;
}

/** The first address of a network. */
function toFirstAddress(address: IpAddress, prefixBits: number): bigint {
  const hostBits = BigInt(getWidth(address) - prefixBits);
  return (address.value >> hostBits) << hostBits;
}

/** The number behind the slash; NaN when it is not valid. */
function parsePrefix(text: string): number {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : NaN;
}

/** The bits of what is known to be an IPv4 address. */
function ipv4Value(text: string): bigint {
  const value = text.split(".")
    .reduce((sum, part) => sum * 256 + Number(part), 0);
  return BigInt(value);
}

/** The bits of what is known to be an IPv6 address. */
function ipv6Value(text: string): bigint {
  const [head = "", tail = ""] = text.split("::");
  const front = toHexDigits(head);
  return BigInt(
    `0x${front}${toHexDigits(tail).padStart(32 - front.length, "0")}`,
  );
}

/**
 * The hexadecimal digits of groups; an IPv4 address at the end is two groups.
 */
function toHexDigits(text: string): string {
  if (text === "") return "";
  return text.split(":").map((group) =>
    group.includes(".")
      ? ipv4Value(group).toString(16).padStart(8, "0")
      : group.padStart(4, "0")
  ).join("");
}

/** The canonical text of an address (RFC 5952), which is also that of URLs. */
function formatAddress({ family, value }: IpAddress): string {
  if (family === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => value >> shift & 0xffn).join(".");
  }
  const groups = value.toString(16).padStart(32, "0").match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

function invalid(text: string, why: string): NetworkOutcome {
  return {
    kind: "invalid",
    reason: `Cannot use network ${quote(text)}: ${why}`,
  };
}

/** Tells whether what this peer says in `X-Forwarded-…` headers counts. */
export function isTrustedProxy(
  peerAddress: string | undefined,
  trustedProxies: readonly Network[],
): boolean {
  if (peerAddress === undefined || trustedProxies.length === 0) return false;
  const address = parseClientAddress(peerAddress);
  return address !== undefined && isInNetworks(trustedProxies, address);
}
