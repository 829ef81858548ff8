/**
 * Base58, in which the ledger writes digests.
 *
 * @module
 */

/** Digits and letters without those that look alike. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Bytes in base58; each zero byte in front becomes a "1". */
export function encodeBase58(bytes: Uint8Array): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = "";
  for (; value > 0n; value /= 58n) text = ALPHABET[Number(value % 58n)] + text;
  const first = bytes.findIndex((byte) => byte !== 0);
  const zeros = first === -1 ? bytes.length : first;
  return "1".repeat(zeros) + text;
}
