/**
 * Builds wire bytes by hand, for tests with bytes that no library writes.
 *
 * @module
 */

/** Bytes of the parts, one after another; a number is one byte, text is UTF-8. */
export function joinedBytes(
  ...parts: readonly (number | string | Uint8Array | readonly number[])[]
): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => {
    if (typeof part === "number") return [part];
    if (typeof part === "string") return [...new TextEncoder().encode(part)];
    return [...part];
  }));
}

/** A length-delimited field of a message; the number is at most 15. */
export function delimited(
  field: number,
  content: string | Uint8Array | readonly number[],
): Uint8Array {
  const bytes = joinedBytes(content);
  return joinedBytes(field << 3 | 2, encodeVarint(bytes.length), bytes);
}

/** A varint field of a message; the number is at most 15. */
export function varintField(field: number, value: number | bigint): Uint8Array {
  return joinedBytes(field << 3, encodeVarint(value));
}

/** An unsigned integer in base 128, least significant group first. */
export function encodeVarint(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt(value);
  while (rest >= 128n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

/** Bytes as text of hexadecimal pairs. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
