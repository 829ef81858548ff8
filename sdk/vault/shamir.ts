/**
 * Secret sharing by Shamir (1979), each byte of a secret on its own, over the field of
 * 256 elements that AES has (FIPS 197, section 4). Share number `i` is the value of a
 * random polynomial at `i`, the secret its value at 0.
 *
 * @module
 */

import { randomBytes } from "../memory/cryptography.ts";

/** One of the points from which a secret is found again. */
export interface SecretShare {
  /** The point at which the polynomial was evaluated, 1 to 255. */
  readonly index: number;
  /** The polynomial's value there, as long as the secret. */
  readonly share: Uint8Array;
}

/** Most shares that a secret can be split into. */
export const MAX_SHARES = 254;

/**
 * Splits a secret into `total` shares. Any `threshold` of them give the secret
 * back, and fewer tell nothing about it.
 *
 * @throws {RangeError} When the threshold is not 1 to `total`, or there are too many.
 */
export function splitSecret(
  secret: Uint8Array,
  { threshold, total }: { readonly threshold: number; readonly total: number },
): readonly SecretShare[] {
  const isPossible = Number.isInteger(threshold) && Number.isInteger(total) &&
    threshold >= 1 && threshold <= total && total <= MAX_SHARES;
  if (!isPossible) {
    throw new RangeError(
      `Cannot split a secret: ${threshold} of ${total} shares is not possible`,
    );
  }
  const coefficients = randomBytes(secret.length * (threshold - 1));
  const shares = Array.from({ length: total }, (_, at) => {
    const index = at + 1;
    const share = secret.map((byte, position) => {
      // Horner's rule, from the highest coefficient down.
      let value = 0;
      for (let degree = threshold - 2; degree >= 0; degree--) {
        const at = degree * secret.length + position;
        value = multiply(value ^ (coefficients[at] ?? 0), index);
      }
      return value ^ byte;
    });
    return { index, share };
  });
  coefficients.fill(0);
  return shares;
}

/**
 * Combines shares with different indexes into the secret. Too few or false
 * shares give bytes that tell nothing about it, so the caller has to check the
 * result.
 *
 * @throws {RangeError} When there are no shares, or their indexes or lengths do
 * not fit together.
 */
export function combineShares(shares: readonly SecretShare[]): Uint8Array {
  return shareAt(0, shares);
}

/**
 * Returns the share at `index` that lies on the same polynomial as the given
 * shares; at 0 this is the secret.
 *
 * @throws {RangeError} When there are no shares, or their indexes or lengths do
 * not fit together.
 */
export function shareAt(
  index: number,
  shares: readonly SecretShare[],
): Uint8Array {
  const [first] = shares;
  const belong = new Set(shares.map((share) => share.index)).size ===
      shares.length &&
    shares.every(({ index, share }) =>
      share.length === first?.share.length && Number.isInteger(index) &&
      index >= 1 && index <= 255
    );
  if (first === undefined || !belong) {
    throw new RangeError("Cannot combine shares: they do not belong together");
  }
  const secret = new Uint8Array(first.share.length);
  for (const { index: own, share } of shares) {
    let weight = 1;
    for (const { index: other } of shares) {
      if (other === own) continue;
      weight = multiply(weight, divide(other ^ index, other ^ own));
    }
    share.forEach((byte, at) => {
      secret[at] = (secret[at] ?? 0) ^ multiply(byte, weight);
    });
  }
  return secret;
}

/**
 * Multiplies modulo x⁸ + x⁴ + x³ + x + 1. It always takes the same steps and
 * uses no table, so that its duration tells nothing about the factors.
 */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = a;
  for (let bit = 0; bit < 8; bit++) {
    product ^= shifted & -((b >>> bit) & 1);
    shifted = ((shifted << 1) & 0xff) ^ (0x1b & -(shifted >>> 7));
  }
  return product;
}

/**
 * Divides by multiplying with the inverse, which is the 254th power. Indexes
 * differ, so the divisor is never 0.
 */
function divide(a: number, b: number): number {
  let inverse = 1;
  for (let step = 0; step < 254; step++) inverse = multiply(inverse, b);
  return multiply(a, inverse);
}
