/**
 * Ids of jobs, which are those of memories.
 *
 * @module
 */

/**
 * Makes an id that sorts by its time, as a UUID of version 7 (RFC 9562, 5.7):
 * neighbours in time are neighbours in the store, and nobody can guess one.
 *
 * @param random 10 random bytes
 */
export function jobId(nowMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  let left = nowMs;
  for (let index = 5; index >= 0; index--) {
    bytes[index] = left % 256;
    left = Math.floor(left / 256);
  }
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
