/**
 * A seeded hash of short byte ranges, for hash tables whose keys a stranger
 * may choose.
 *
 * @module
 */

const TWO_POW_32 = 0x1_0000_0000;

/**
 * Hashes the bytes from `start` up to, not including, `end` to 32 bits with
 * HalfSipHash-1-3 (J.-P. Aumasson, D. J. Bernstein): who doesn't know the seed
 * can't prepare keys that collide, which plain multiply-and-rotate hashes do
 * not promise whatever their seed.
 *
 * @param seed The key of the hash, a whole number from 0 to
 * `Number.MAX_SAFE_INTEGER`; 0 when absent, for hashes that must not change.
 * @returns A whole number from 0 to 4294967295.
 */
export function hashBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  seed = 0,
): number {
  const key0 = seed | 0;
  const key1 = seed < TWO_POW_32 ? 0 : (seed / TWO_POW_32) | 0;
  let v0 = key0;
  let v1 = key1;
  let v2 = 0x6c796765 ^ key0;
  let v3 = 0x74656462 ^ key1;
  const wordsEnd = start + ((end - start) & ~3);
  let at = start;
  // The round is written out at its two places: a call would have to hand four
  // numbers back, and this loop is on the path of every decision.
  for (; at < wordsEnd; at += 4) {
    const word = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 |
      bytes[at + 3]! << 24;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = (v2 + v3) | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
    v0 ^= word;
  }
  let last = (end - start) << 24;
  for (let shift = 0; at < end; at++, shift += 8) last |= bytes[at]! << shift;
  v3 ^= last;
  for (let round = 0; round < 4; round++) {
    if (round === 1) {
      v0 ^= last;
      v2 ^= 0xff;
    }
    v0 = (v0 + v1) | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = (v2 + v3) | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
  }
  return (v1 ^ v3) >>> 0;
}

/** A seed for {@linkcode hashBytes} that nobody can guess. */
export function randomHashSeed(): number {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return (words[0]! & 0x1fffff) * TWO_POW_32 + words[1]!;
}
