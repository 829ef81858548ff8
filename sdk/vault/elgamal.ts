/**
 * ElGamal encryption in the first group of BLS12-381. A key server encrypts the
 * user key in its answer to the public key of the request, so that the answer
 * is of no use to an eavesdropper, or to an attacker who replays the request.
 *
 * @module
 */

import {
  arePairingsEqual,
  g1Generator,
  g2Generator,
  randomScalar,
  readG1,
  readG2,
  readScalar,
} from "./curve.ts";

/** The key pair of one request. */
export interface RequestKey {
  /** The secret that decrypts, 32 bytes. */
  readonly secret: Uint8Array;
  /** The public key that encrypts, 48 bytes. */
  readonly publicKey: Uint8Array;
  /**
   * The public key in the second group, 96 bytes. It shows that both public
   * keys have the same secret.
   */
  readonly verificationKey: Uint8Array;
}

/** An encrypted key: two points of 48 bytes. */
type EncryptedKey = readonly [Uint8Array, Uint8Array];

/** Creates the key pair of one request. */
export function newRequestKey(): RequestKey {
  const secret = randomScalar();
  const scalar = demandScalar(secret);
  return {
    secret,
    publicKey: g1Generator().multiply(scalar).toBytes(),
    verificationKey: g2Generator().multiply(scalar).toBytes(),
  };
}

/** Tells whether a request's two public keys have the same secret. */
export function isRequestKeyPair(
  publicKey: Uint8Array,
  verificationKey: Uint8Array,
): boolean {
  const [left, right] = [readG1(publicKey), readG2(verificationKey)];
  return left !== undefined && right !== undefined &&
    arePairingsEqual([left, g2Generator()], [g1Generator(), right]);
}

/**
 * Encrypts a user key to the key of a request; undefined when either is not a
 * point of the group.
 */
export function elgamalEncrypt(
  userKey: Uint8Array,
  publicKey: Uint8Array,
): EncryptedKey | undefined {
  const [message, key] = [readG1(userKey), readG1(publicKey)];
  if (message === undefined || key === undefined) return undefined;
  const scalar = demandScalar(randomScalar());
  return [
    g1Generator().multiply(scalar).toBytes(),
    key.multiply(scalar).add(message).toBytes(),
  ];
}

/** Decrypts a user key; undefined when the points are not in the group. */
export function elgamalDecrypt(
  secret: Uint8Array,
  [first, second]: EncryptedKey,
): Uint8Array | undefined {
  const [left, right] = [readG1(first), readG1(second)];
  if (left === undefined || right === undefined) return undefined;
  const message = right.subtract(left.multiply(demandScalar(secret)));
  return message.is0() ? undefined : message.toBytes();
}

function demandScalar(bytes: Uint8Array): bigint {
  const scalar = readScalar(bytes);
  if (scalar !== undefined) return scalar;
  throw new RangeError("Cannot use the request's secret: it is not a scalar");
}
