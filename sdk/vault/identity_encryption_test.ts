import { assert, assertEquals, assertThrows } from "@std/assert";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { decodeHex, encodeHex } from "../memory/encodings.ts";
import { readG1, readG2, readScalar } from "./curve.ts";
import {
  elgamalDecrypt,
  elgamalEncrypt,
  isRequestKeyPair,
  newRequestKey,
} from "./elgamal.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
  deriveUserKey,
  isPossessionProof,
  isUserKeyOf,
  newMasterSecret,
  provePossession,
  toFullId,
} from "./identity_encryption.ts";

const SECRET = new Uint8Array(32).fill(3);
const PACKAGE_ID = `0x${"ab".repeat(32)}`;
const OBJECT_ID = `0x${"cd".repeat(32)}`;
const FULL_ID = toFullId(PACKAGE_ID, Uint8Array.of(1, 2, 3));

Deno.test("a user key is right for its identity and its key server alone", () => {
  const publicKey = derivePublicKey(SECRET);
  const userKey = deriveUserKey(SECRET, FULL_ID);
  assert(isUserKeyOf(userKey, { fullId: FULL_ID, publicKey }));
  const otherId = toFullId(PACKAGE_ID, Uint8Array.of(1, 2, 4));
  assert(!isUserKeyOf(userKey, { fullId: otherId, publicKey }));
  const other = derivePublicKey(newMasterSecret());
  assert(!isUserKeyOf(userKey, { fullId: FULL_ID, publicKey: other }));
  assert(!isUserKeyOf(new Uint8Array(48), { fullId: FULL_ID, publicKey }));
});

Deno.test("a proof of possession is right for its key and its object alone", () => {
  const publicKey = derivePublicKey(SECRET);
  const proof = provePossession(SECRET, OBJECT_ID);
  assert(isPossessionProof(proof, { publicKey, objectId: OBJECT_ID }));
  assert(!isPossessionProof(proof, { publicKey, objectId: PACKAGE_ID }));
  const other = derivePublicKey(newMasterSecret());
  assert(!isPossessionProof(proof, { publicKey: other, objectId: OBJECT_ID }));
});

Deno.test("user keys and proofs of a known secret stay the same", () => {
  const objectId = deriveKeyServerId(derivePublicKey(SECRET));
  assertEquals(
    objectId,
    "0x7989a024ea44fd46fe3936d681963ae7ac3abf323a3bdcd566c77e7eeae42c70",
  );
  // The public client has decrypted an object with this key and accepted this
  // proof.
  assertEquals(
    encodeHex(deriveUserKey(SECRET, FULL_ID)),
    "810f663b173831573d7ecd55fc5e4ae9df3b800b171120d57fc8c2fea830723c" +
      "79e761f90c6fda9f1754f64f0eef2dd4",
  );
  assertEquals(
    encodeHex(provePossession(SECRET, objectId)),
    "875c43150797f13b6fde1eefc0b05c579ea7a9c55f99d1fbd9f6c199ad4e340a" +
      "1150fada46d51a6afb8689fd353a3090",
  );
});

Deno.test("deriveKeyServerId() gives another id for another key", () => {
  const id = deriveKeyServerId(derivePublicKey(SECRET));
  assert(/^0x[0-9a-f]{64}$/.test(id));
  assert(id !== deriveKeyServerId(derivePublicKey(newMasterSecret())));
});

Deno.test("derivePublicKey() refuses zero, the group's order and what is longer", () => {
  const order = bls12_381.fields.Fr.ORDER.toString(16);
  for (
    const hex of ["00".repeat(32), order, "ff".repeat(32), "01".repeat(31)]
  ) {
    const secret = decodeHex(hex) ?? new Uint8Array();
    assertThrows(() => derivePublicKey(secret), RangeError);
    assertEquals(readScalar(secret), undefined);
  }
});

Deno.test("derivePublicKey() of one is the generator of the second group", () => {
  const one = new Uint8Array(32);
  one[31] = 1;
  assertEquals(
    encodeHex(derivePublicKey(one)),
    // From the curve's definition (draft-irtf-cfrg-bls-signature, 4.2.2).
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049" +
      "334cf11213945d57e5ac7d055d042b7e024aa2b2f08f0a91260805272dc51051" +
      "c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
  );
});

Deno.test("elgamalDecrypt() gives back what was encrypted to a request's key", () => {
  const key = newRequestKey();
  const userKey = deriveUserKey(SECRET, FULL_ID);
  const encrypted = elgamalEncrypt(userKey, key.publicKey);
  assert(encrypted !== undefined);
  assertEquals(elgamalDecrypt(key.secret, encrypted), userKey);
  const other = elgamalDecrypt(newRequestKey().secret, encrypted);
  assert(other !== undefined && encodeHex(other) !== encodeHex(userKey));
  assert(isRequestKeyPair(key.publicKey, key.verificationKey));
  assert(!isRequestKeyPair(key.publicKey, newRequestKey().verificationKey));
});

Deno.test("points outside the groups are refused everywhere", () => {
  const infinity = (length: number) => {
    const bytes = new Uint8Array(length);
    bytes[0] = 0xc0;
    return bytes;
  };
  assertEquals(readG1(infinity(48)), undefined);
  assertEquals(readG2(infinity(96)), undefined);
  assertEquals(readG1(new Uint8Array(48).fill(0xff)), undefined);
  assertEquals(readG2(new Uint8Array(95)), undefined);
  const outside = pointOutsideTheGroup();
  assertEquals(readG1(outside), undefined);
  assertEquals(
    elgamalEncrypt(deriveUserKey(SECRET, FULL_ID), outside),
    undefined,
  );
  assertEquals(elgamalDecrypt(SECRET, [outside, outside]), undefined);
  const { verificationKey } = newRequestKey();
  assert(!isRequestKeyPair(outside, verificationKey));
  const publicKey = derivePublicKey(SECRET);
  assert(!isUserKeyOf(outside, { fullId: FULL_ID, publicKey }));
});

/**
 * A point of the curve that is not in the first group, because its order is not
 * the group's.
 */
function pointOutsideTheGroup(): Uint8Array {
  const { Fp } = bls12_381.fields;
  for (let x = 1n;; x++) {
    const right = Fp.add(Fp.mul(x, Fp.mul(x, x)), 4n);
    let y: bigint;
    try {
      y = Fp.sqrt(right);
    } catch {
      continue;
    }
    const point = bls12_381.G1.Point.fromAffine({ x, y });
    if (point.isTorsionFree()) continue;
    const bytes = decodeHex(x.toString(16).padStart(96, "0"));
    if (bytes === undefined) continue;
    bytes[0] = 0x80;
    return bytes;
  }
}
