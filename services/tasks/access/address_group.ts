/**
 * Which addresses are counted as one.
 *
 * @module
 */

import { parseAddress } from "./network.ts";

/** What a provider gives to one customer: a network of 64 bits. */
const IPV6_BYTES = 8;

/**
 * The name that an address is counted by: an IPv6 address counts as its /64, and
 * all that are no addresses as one.
 */
export function addressGroup(address: string): string {
  const bytes = parseAddress(address);
  if (bytes === undefined) return "";
  return bytes.slice(0, IPV6_BYTES).join(".") +
    (bytes.length === 4 ? "" : "/64");
}
