/**
 * The header `grpc-timeout` (PROTOCOL-HTTP2.md of gRPC, "Timeout").
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";

const MAX_DIGITS = 8;

/**
 * Reads a value such as `20m`: up to eight digits and a unit.
 *
 * @returns Whole milliseconds, rounded up; -1 when it is no such value.
 */
export function grpcTimeoutMs({ bytes, start, end }: ByteSpan): number {
  const digitsEnd = end - 1;
  if (digitsEnd <= start || digitsEnd - start > MAX_DIGITS) return -1;
  let number = 0;
  for (let at = start; at < digitsEnd; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  switch (bytes[digitsEnd]) {
    case 0x48: // H
      return number * 3_600_000;
    case 0x4d: // M
      return number * 60_000;
    case 0x53: // S
      return number * 1_000;
    case 0x6d: // m
      return number;
    case 0x75: // u
      return Math.ceil(number / 1_000);
    case 0x6e: // n
      return Math.ceil(number / 1_000_000);
    default:
      return -1;
  }
}
