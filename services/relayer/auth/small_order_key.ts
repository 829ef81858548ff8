/**
 * Public keys under which anybody can sign: points of the curve whose order
 * divides 8. A signature check multiplies the key by a hash, and with these there
 * are at most eight results, so a signature can be guessed; for the neutral point
 * one and the same is good for everything. Who registered such a key for an
 * account would let everybody in.
 *
 * @module
 */

/** The prime of the field, 2^255 − 19. */
const PRIME = 2n ** 255n - 19n;

/** The y of the four points of order 8 is this or its negative. */
const ORDER_8_Y =
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;

/** y of all points whose order divides 8. */
const SMALL_ORDER_YS: ReadonlySet<bigint> = new Set([
  0n, // order 4
  1n, // the neutral point
  PRIME - 1n, // order 2
  ORDER_8_Y,
  PRIME - ORDER_8_Y,
]);

/**
 * Tells whether a key of 32 bytes is such a point, in whatever way it is
 * written: with either sign, and with y as it is or with the prime added.
 */
export function isSmallOrderKey(bytes: Uint8Array): boolean {
  let y = 0n;
  for (const byte of [...bytes].reverse()) y = (y << 8n) | BigInt(byte);
  // The highest bit is the sign of x.
  return SMALL_ORDER_YS.has((y & (2n ** 255n - 1n)) % PRIME);
}
