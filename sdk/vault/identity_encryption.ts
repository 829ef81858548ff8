/**
 * Identity-based encryption by Boneh and Franklin (2001) over BLS12-381, as the
 * public client of these key servers does it. A key server has one master
 * secret, from which it computes the user key of any identity, while everybody
 * can encrypt for an identity with the key server's public key alone. This is
 * the basic scheme, which is safe only together with the check of the
 * randomness in `threshold_encryption.ts`.
 *
 * @module
 */

import { bls12_381 } from "@noble/curves/bls12-381.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { encodeHex } from "../memory/encodings.ts";
import { BcsWriter } from "./bcs.ts";
import {
  arePairingsEqual,
  type G1Point,
  g2Generator,
  hashToG1,
  randomScalar,
  readG1,
  readG2,
  readScalar,
} from "./curve.ts";

const IDENTITY_TAG = new TextEncoder().encode("SUI-SEAL-IBE-BLS12381-00");
const POSSESSION_TAG = new TextEncoder().encode("SUI-SEAL-IBE-BLS12381-POP-00");
const KEY_SERVER_TAG = new TextEncoder().encode("key server ");

/**
 * Returns an identity with the package's id before it, which is what data is
 * encrypted to.
 */
export function toFullId(
  packageId: string,
  id: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return new BcsWriter().address(packageId).bytes(id).toBytes();
}

/** Returns a random master secret, 32 bytes. */
export function newMasterSecret(): Uint8Array {
  return randomScalar();
}

/**
 * Returns the public key of a master secret, 96 bytes.
 *
 * @throws {RangeError} When the secret is not a scalar.
 */
export function derivePublicKey(masterSecret: Uint8Array): Uint8Array {
  return g2Generator().multiply(demandScalar(masterSecret)).toBytes();
}

/**
 * Returns the user key of an identity, 48 bytes. It decrypts what was encrypted
 * to the identity for this key server.
 *
 * @throws {RangeError} When the secret is not a scalar.
 */
export function deriveUserKey(
  masterSecret: Uint8Array,
  fullId: Uint8Array,
): Uint8Array {
  return identityPoint(fullId).multiply(demandScalar(masterSecret)).toBytes();
}

/**
 * Tells whether a user key is the one of an identity at the key server with a
 * public key.
 */
export function isUserKeyOf(
  userKey: Uint8Array,
  { fullId, publicKey }: {
    readonly fullId: Uint8Array;
    readonly publicKey: Uint8Array;
  },
): boolean {
  const [key, server] = [readG1(userKey), readG2(publicKey)];
  return key !== undefined && server !== undefined &&
    arePairingsEqual([key, g2Generator()], [identityPoint(fullId), server]);
}

/**
 * Proves that the key server that registers a public key has its secret, too
 * (48 bytes). Without this proof a server could register a key that is computed
 * from others' keys.
 *
 * @param objectId The key server's object on the ledger.
 * @throws {RangeError} When the secret is not a scalar.
 */
export function provePossession(
  masterSecret: Uint8Array,
  objectId: string,
): Uint8Array {
  const secret = demandScalar(masterSecret);
  const point = possessionPoint(derivePublicKey(masterSecret), objectId);
  return point.multiply(secret).toBytes();
}

/** Tells whether a proof of possession is valid. */
export function isPossessionProof(
  proof: Uint8Array,
  { publicKey, objectId }: {
    readonly publicKey: Uint8Array;
    readonly objectId: string;
  },
): boolean {
  const [point, server] = [readG1(proof), readG2(publicKey)];
  return point !== undefined && server !== undefined &&
    arePairingsEqual(
      [point, g2Generator()],
      [possessionPoint(publicKey, objectId), server],
    );
}

/**
 * Returns the object id of a key server of an embedded ledger. The id is
 * computed from the public key, so that a client that knows the id can check
 * the key, whatever the ledger says.
 */
export function deriveKeyServerId(publicKey: Uint8Array): string {
  const hash = sha256.create().update(KEY_SERVER_TAG).update(publicKey);
  return `0x${encodeHex(hash.digest())}`;
}

/** Returns the point that an identity is hashed to. */
export function identityPoint(fullId: Uint8Array): G1Point {
  return hashToG1(Uint8Array.of(...IDENTITY_TAG, ...fullId));
}

function possessionPoint(publicKey: Uint8Array, objectId: string): G1Point {
  const message = new BcsWriter().bytes(POSSESSION_TAG).bytes(publicKey)
    .address(objectId).toBytes();
  return bls12_381.shortSignatures.hash(message);
}

function demandScalar(masterSecret: Uint8Array): bigint {
  const scalar = readScalar(masterSecret);
  if (scalar !== undefined) return scalar;
  throw new RangeError("Cannot use the master secret: it is not a scalar");
}
