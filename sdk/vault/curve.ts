/**
 * Reads, writes and computes with points of BLS12-381 in the form in which key
 * servers exchange them: compressed, 48 bytes in the first group, 96 in the
 * second. Points from outside are checked to be in the right group and not the
 * point at infinity, so that no peer can force a computation into a small
 * subgroup.
 *
 * @module
 */

import { bls12_381 } from "@noble/curves/bls12-381.js";

/** A point of the first group. */
export type G1Point = InstanceType<typeof bls12_381.G1.Point>;
/** A point of the second group. */
export type G2Point = InstanceType<typeof bls12_381.G2.Point>;
/** What a pairing of two points gives. */
export type PairingResult = ReturnType<typeof bls12_381.pairing>;

/** Bytes of a point of the first group. */
export const G1_BYTES = 48;
/** Bytes of a point of the second group. */
export const G2_BYTES = 96;
/** Bytes of a scalar. */
const SCALAR_BYTES = 32;
const PAIRING_BYTES = 576;

/** Returns the generator of the first group. */
export function g1Generator(): G1Point {
  return bls12_381.G1.Point.BASE;
}

/** Returns the generator of the second group. */
export function g2Generator(): G2Point {
  return bls12_381.G2.Point.BASE;
}

/** Reads a point of the first group; undefined when the bytes are not one. */
export function readG1(bytes: Uint8Array): G1Point | undefined {
  if (bytes.length !== G1_BYTES) return undefined;
  try {
    const point = bls12_381.G1.Point.fromBytes(bytes);
    if (point.is0()) return undefined;
    point.assertValidity();
    return point.isTorsionFree() ? point : undefined;
  } catch {
    // The bytes are not on the curve, not in the only valid form, or not in the
    // group.
    return undefined;
  }
}

/** Reads a point of the second group; undefined when the bytes are not one. */
export function readG2(bytes: Uint8Array): G2Point | undefined {
  if (bytes.length !== G2_BYTES) return undefined;
  try {
    const point = bls12_381.G2.Point.fromBytes(bytes);
    if (point.is0()) return undefined;
    point.assertValidity();
    return point.isTorsionFree() ? point : undefined;
  } catch {
    // The bytes are not on the curve, not in the only valid form, or not in the
    // group.
    return undefined;
  }
}

/** Hashes bytes to a point of the first group (RFC 9380, 8.8.1). */
export function hashToG1(bytes: Uint8Array): G1Point {
  return bls12_381.G1.Point.fromAffine(
    bls12_381.G1.hashToCurve(bytes).toAffine(),
  );
}

/** Computes the pairing of two points. Neither may be the point at infinity. */
export function pairing(left: G1Point, right: G2Point): PairingResult {
  return bls12_381.pairing(left, right);
}

/**
 * Tells whether the pairings of two pairs of points are equal. Both are
 * computed together, which takes little longer than one.
 */
export function arePairingsEqual(
  left: readonly [G1Point, G2Point],
  right: readonly [G1Point, G2Point],
): boolean {
  const { Fp12 } = bls12_381.fields;
  const quotient = bls12_381.pairingBatch([
    { g1: left[0], g2: left[1] },
    { g1: right[0].negate(), g2: right[1] },
  ]);
  return Fp12.eql(quotient, Fp12.ONE);
}

/**
 * For each sixth of a pairing's bytes, its position in the order that key
 * servers use.
 */
const PAIRING_ORDER: readonly number[] = [0, 3, 1, 4, 2, 5];

/**
 * Returns the bytes of a pairing, in the order in which key servers hash them.
 */
export function pairingBytes(value: PairingResult): Uint8Array {
  const bytes = bls12_381.fields.Fp12.toBytes(value);
  const ordered = new Uint8Array(PAIRING_BYTES);
  const sixth = PAIRING_BYTES / PAIRING_ORDER.length;
  PAIRING_ORDER.forEach((from, to) => {
    ordered.set(bytes.subarray(from * sixth, (from + 1) * sixth), to * sixth);
  });
  return ordered;
}

/** Returns a random scalar that is not zero, as 32 bytes in big endian. */
export function randomScalar(): Uint8Array {
  return bls12_381.utils.randomSecretKey();
}

/** Reads a scalar in big endian; undefined when it is zero or too large. */
export function readScalar(bytes: Uint8Array): bigint | undefined {
  if (bytes.length !== SCALAR_BYTES) return undefined;
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value > 0n && value < bls12_381.fields.Fr.ORDER ? value : undefined;
}
