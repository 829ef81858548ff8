/**
 * Bytes as Base64 (RFC 4648, section 4).
 *
 * @module
 */

/** Bytes that become one string at a time: arguments of a call are limited. */
const CHUNK = 8_192;

/** Writes bytes as Base64. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}
