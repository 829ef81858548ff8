/**
 * IP addresses from bits, for tests that try many.
 *
 * @module
 */

import type { SeededRandom } from "../../../tests/support/seeded_random.ts";

/** The usual text of an IPv4 address. */
export function ipv4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

/** The text of an IPv6 address with all its groups. */
export function ipv6Text(value: bigint): string {
  return Array.from(
    { length: 8 },
    (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  ).join(":");
}

/** A number of so many random bits. */
export function randomBits(random: SeededRandom, bits: number): bigint {
  let value = 0n;
  for (let bit = 0; bit < bits; bit++) {
    value = (value << 1n) | BigInt(random.below(2));
  }
  return value;
}
