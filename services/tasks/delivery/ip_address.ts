/**
 * IP addresses and networks as values, read from their strict text forms.
 *
 * @module
 */

/** An IP address. */
export interface IpAddress {
  /** The version of the protocol. */
  readonly family: 4 | 6;
  /** All its bits as one number. */
  readonly value: bigint;
}

/** All addresses that begin with the same bits. */
export interface IpNetwork extends IpAddress {
  /** How many bits they share. */
  readonly prefixBits: number;
}

const GROUP = /^[0-9a-f]{1,4}$/i;

/**
 * Reads an address: four decimal numbers without leading zeros, or IPv6 text
 * (RFC 4291, section 2.2). Other spellings, such as `0x7f.1`, brackets and zone
 * ids are not taken; `undefined` then.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.includes(":")) return parseIpv6(text);
  const value = ipv4Value(text);
  return value === undefined ? undefined : { family: 4, value };
}

/**
 * Reads a network such as `10.0.0.0/8` (RFC 4632, RFC 4291). All bits beyond
 * the prefix must be zero; `undefined` otherwise.
 */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  const address = parseIpAddress(match?.[1] ?? "");
  const prefixBits = Number(match?.[2]);
  if (address === undefined || prefixBits > width(address)) return undefined;
  const hostBits = BigInt(width(address) - prefixBits);
  const base = (address.value >> hostBits) << hostBits;
  return base === address.value ? { ...address, prefixBits } : undefined;
}

/** The network of one address. */
export function networkOf(address: IpAddress): IpNetwork {
  return { ...address, prefixBits: width(address) };
}

/** Tells whether an address belongs to a network. */
export function isWithin(address: IpAddress, network: IpNetwork): boolean {
  if (address.family !== network.family) return false;
  const hostBits = BigInt(width(address) - network.prefixBits);
  return address.value >> hostBits === network.value >> hostBits;
}

function width(address: IpAddress): number {
  return address.family === 4 ? 32 : 128;
}

function ipv4Value(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) {
      return undefined;
    }
    value = (value << 8n) | BigInt(part);
  }
  return value;
}

function parseIpv6(text: string): IpAddress | undefined {
  const groups = expand(withoutDots(text));
  if (groups?.length !== 8) return undefined;
  let value = 0n;
  for (const group of groups) {
    if (!GROUP.test(group)) return undefined;
    value = (value << 16n) | BigInt(`0x${group}`);
  }
  return { family: 6, value };
}

/** Turns an IPv4 address at the end into two groups of hexadecimal digits. */
function withoutDots(text: string): string {
  const start = text.lastIndexOf(":") + 1;
  const value = ipv4Value(text.slice(start));
  if (value === undefined) return text;
  const high = (value >> 16n).toString(16);
  const low = (value & 0xffffn).toString(16);
  return `${text.slice(0, start)}${high}:${low}`;
}

/** The groups with those that `::` leaves out; it stands for one at least. */
function expand(text: string): readonly string[] | undefined {
  const [head, tail, ...more] = text.split("::");
  if (head === undefined || more.length > 0) return undefined;
  const front = head === "" ? [] : head.split(":");
  if (tail === undefined) return front;
  const back = tail === "" ? [] : tail.split(":");
  const missing = 8 - front.length - back.length;
  if (missing < 1) return undefined;
  return [...front, ...Array<string>(missing).fill("0"), ...back];
}
