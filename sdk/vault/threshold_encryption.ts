/**
 * Encryption for an identity by a threshold of key servers, byte for byte as
 * the public client of these key servers does it. A random secret is split into
 * shares, each share is encrypted to the identity for one key server, and the
 * data is encrypted under a key that is computed from the secret and all
 * encrypted shares. To decrypt, the encryption is computed again from the
 * secret and compared, so that an object that was not made correctly cannot be
 * decrypted (Fujisaki and Okamoto, 1999).
 *
 * @module
 */

import { randomBytes, subtleCrypto } from "../memory/cryptography.ts";
import { hmac } from "@noble/hashes/hmac.js";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { addressBytes, BcsWriter } from "./bcs.ts";
import {
  g2Generator,
  type G2Point,
  pairing,
  pairingBytes,
  type PairingResult,
  randomScalar,
  readG1,
  readG2,
  readScalar,
} from "./curve.ts";
import {
  type EncryptedObject,
  type SealedData,
  type ShareHolder,
  writeEncryptedObject,
} from "./encrypted_object.ts";
import { identityPoint, toFullId } from "./identity_encryption.ts";
import {
  combineShares,
  type SecretShare,
  shareAt,
  splitSecret,
} from "./shamir.ts";

const SHARE_TAG = new TextEncoder().encode("SUI-SEAL-IBE-BLS12381-H2-00");
const KEY_TAG = new TextEncoder().encode("SUI-SEAL-IBE-BLS12381-H3-00");
const STREAM_TAG = new TextEncoder().encode("HMAC-CTR-ENC");
const MAC_TAG = new TextEncoder().encode("HMAC-CTR-MAC");
const SECRET_BYTES = 32;
const TAG_BYTES = 16;
/**
 * The nonce of AES. It can be the same for all objects, because each key
 * encrypts only one.
 */
const AES_IV = Uint8Array.of(
  ...[0x8a, 0x37, 0x99, 0xfd, 0xc6, 0x2e, 0x79, 0xdb],
  ...[0xa0, 0x80, 0x59, 0x07, 0xd6, 0x9c, 0x94, 0xdc],
);

/** What a key that is computed from the secret is used for. */
type KeyPurpose = "randomness" | "data";
const PURPOSES: Readonly<Record<KeyPurpose, number>> = {
  randomness: 0,
  data: 1,
};

/** A key server that data is encrypted for. */
interface EncryptionServer {
  /** Its object on the ledger. */
  readonly objectId: string;
  /** Its public key, 96 bytes. */
  readonly publicKey: Uint8Array;
}

/** Options of {@linkcode encryptForIdentity}. */
interface EncryptOptions {
  /** The key servers; one with more weight is listed more than once. */
  readonly keyServers: readonly EncryptionServer[];
  /** How many shares are needed to decrypt. */
  readonly threshold: number;
  /** The package whose function decides who may decrypt. */
  readonly packageId: string;
  /** The identity, without the package's id before it. */
  readonly id: Uint8Array;
  /** The data to encrypt. */
  readonly data: Uint8Array;
  /**
   * Data that is authenticated together with the ciphertext; it is part of the
   * object, not encrypted.
   *
   * @default nothing
   */
  readonly aad?: Uint8Array | undefined;
}

/**
 * Encrypts data for an identity: the identity's keys from `threshold` of the
 * key servers decrypt it. No request to a key server is made.
 *
 * @returns The encrypted object's bytes.
 * @throws {RangeError} When the threshold cannot be met, or a public key is not valid.
 */
export async function encryptForIdentity(
  options: EncryptOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const { keyServers, threshold, packageId, id, data } = options;
  const { aad = new Uint8Array() } = options;
  const secret = randomBytes(SECRET_BYTES);
  const randomness = randomScalar();
  try {
    const shares = splitSecret(secret, { threshold, total: keyServers.length });
    const services = keyServers.map(({ objectId }, at) => ({
      objectId,
      index: shares[at]?.index ?? 0,
    }));
    const fullId = toFullId(packageId, id);
    const nonce = g2Generator().multiply(demandScalar(randomness)).toBytes();
    const pads = computePads(randomness, {
      publicKeys: keyServers.map(({ publicKey }) => demandPoint(publicKey)),
      services,
      nonce,
      fullId,
    });
    const encryptedShares = shares.map(({ share }, at) => xor(share, pads[at]));
    const derivation = { services, threshold, encryptedShares };
    const key = deriveKey("data", secret, derivation);
    const ciphertext: SealedData = {
      kind: "aes-256-gcm",
      blob: await (await createCipher(key, aad)).encrypt(data),
      aad,
    };
    key.fill(0);
    return writeEncryptedObject({
      packageId,
      id,
      services,
      threshold,
      nonce,
      encryptedShares,
      encryptedRandomness: xor(
        randomness,
        deriveKey("randomness", secret, derivation),
      ),
      ciphertext,
    });
  } finally {
    secret.fill(0);
    randomness.fill(0);
  }
}

/** Options of {@linkcode decryptWithKeys}. */
interface DecryptOptions {
  /** The identity's keys by the key server's object id, 48 bytes each. */
  readonly userKeys: ReadonlyMap<string, Uint8Array>;
  /**
   * The public keys of all the object's key servers by object id. With them
   * every share is compared, so that the outcome does not depend on which
   * servers have answered.
   *
   * @default only the shares whose keys are given are used
   */
  readonly publicKeys?: ReadonlyMap<string, Uint8Array> | undefined;
}

/** The outcome of decrypting. */
type DecryptOutcome =
  | { readonly kind: "ok"; readonly data: Uint8Array<ArrayBuffer> }
  | {
    /** There are too few keys. */
    readonly kind: "locked";
    /** The number of shares for which keys were given. */
    readonly shares: number;
    /** Shares that are needed. */
    readonly threshold: number;
  }
  /**
   * The object was changed or was not made correctly, or a key is not this
   * identity's.
   */
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Decrypts an object with the keys of its identity. With keys of too few key
 * servers the outcome is `locked`; with a key of another identity or a changed
 * byte it is `invalid`.
 */
export async function decryptWithKeys(
  object: EncryptedObject,
  { userKeys, publicKeys }: DecryptOptions,
): Promise<DecryptOutcome> {
  const { services, threshold, encryptedShares } = object;
  const known = services.filter(({ objectId }) => userKeys.has(objectId));
  if (known.length < threshold) {
    return { kind: "locked", shares: known.length, threshold };
  }
  const nonce = readG2(object.nonce);
  if (nonce === undefined) return invalid("its nonce is no point");
  const fullId = toFullId(object.packageId, object.id);
  const shares = decryptShares(object, { userKeys, nonce, fullId });
  if (shares === undefined) return invalid("a key is no point");
  const secret = combineShares(shares.slice(0, threshold));
  const randomness = xor(
    object.encryptedRandomness,
    deriveKey("randomness", secret, object),
  );
  const scalar = readScalar(randomness);
  if (
    scalar === undefined || !g2Generator().multiply(scalar).equals(nonce)
  ) return invalid("its nonce is not that of its secret");
  if (publicKeys !== undefined) {
    const points = services.map(({ objectId }) =>
      readG2(publicKeys.get(objectId) ?? new Uint8Array())
    );
    if (!points.every((point) => point !== undefined)) {
      return invalid("the public key of a key server is missing");
    }
    const pads = computePads(randomness, {
      publicKeys: points,
      services,
      nonce: object.nonce,
      fullId,
    });
    const chosen = shares.slice(0, threshold);
    const areAllRight = services.every(({ index }, at) =>
      isEqual(shareAt(index, chosen), xor(encryptedShares[at], pads[at]))
    );
    if (!areAllRight) return invalid("its shares are not of one secret");
  }
  const key = deriveKey("data", secret, object);
  secret.fill(0);
  try {
    return await openData(key, object.ciphertext);
  } finally {
    key.fill(0);
  }
}

/**
 * Decrypts the shares for which there are keys; undefined when a key is not a
 * point.
 */
function decryptShares(
  { services, encryptedShares, nonce: nonceBytes }: EncryptedObject,
  { userKeys, nonce, fullId }: {
    readonly userKeys: ReadonlyMap<string, Uint8Array>;
    readonly nonce: G2Point;
    readonly fullId: Uint8Array;
  },
): readonly SecretShare[] | undefined {
  const identity = identityPoint(fullId).toBytes();
  const paired = new Map<string, PairingResult>();
  const shares: SecretShare[] = [];
  for (const [at, service] of services.entries()) {
    const userKey = userKeys.get(service.objectId);
    if (userKey === undefined) continue;
    let pair = paired.get(service.objectId);
    if (pair === undefined) {
      const point = readG1(userKey);
      if (point === undefined) return undefined;
      pair = pairing(point, nonce);
      paired.set(service.objectId, pair);
    }
    const pad = computePad(pair, { nonce: nonceBytes, identity, service });
    shares.push({
      index: service.index,
      share: xor(encryptedShares[at], pad),
    });
  }
  return shares;
}

/** Computes from the randomness the bytes that each share is encrypted with. */
function computePads(
  randomness: Uint8Array,
  { publicKeys, services, nonce, fullId }: {
    readonly publicKeys: readonly G2Point[];
    readonly services: readonly ShareHolder[];
    readonly nonce: Uint8Array;
    readonly fullId: Uint8Array;
  },
): readonly Uint8Array[] {
  const point = identityPoint(fullId);
  const identity = point.toBytes();
  const hidden = point.multiply(demandScalar(randomness));
  const paired = new Map<string, PairingResult>();
  return services.map((service, at) => {
    const publicKey = publicKeys[at];
    if (publicKey === undefined) {
      throw new RangeError("a public key is missing");
    }
    const pair = paired.get(service.objectId) ?? pairing(hidden, publicKey);
    paired.set(service.objectId, pair);
    return computePad(pair, { nonce, identity, service });
  });
}

function computePad(
  pair: PairingResult,
  { nonce, identity, service }: {
    readonly nonce: Uint8Array;
    readonly identity: Uint8Array;
    readonly service: ShareHolder;
  },
): Uint8Array {
  return sha3_256.create().update(SHARE_TAG).update(pairingBytes(pair))
    .update(nonce).update(identity).update(addressBytes(service.objectId))
    .update(Uint8Array.of(service.index)).digest();
}

/** Computes a key from the secret and all encrypted shares. */
function deriveKey(
  purpose: KeyPurpose,
  secret: Uint8Array,
  { services, threshold, encryptedShares }: Pick<
    EncryptedObject,
    "services" | "threshold" | "encryptedShares"
  >,
): Uint8Array<ArrayBuffer> {
  const hash = sha3_256.create().update(KEY_TAG).update(secret)
    .update(Uint8Array.of(PURPOSES[purpose], threshold));
  for (const share of encryptedShares) hash.update(share);
  for (const { objectId } of services) hash.update(addressBytes(objectId));
  return Uint8Array.from(hash.digest());
}

/** AES-256-GCM (NIST SP 800-38D) with one key. */
interface Aes {
  readonly encrypt: (data: Uint8Array) => Promise<Uint8Array>;
  /** Rejects where the tag is wrong. */
  readonly decrypt: (blob: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>;
}

/** Returns the cipher of WebCrypto, or of a package on platforms without it. */
async function createCipher(
  key: Uint8Array<ArrayBuffer>,
  aad: Uint8Array,
): Promise<Aes> {
  const subtle = subtleCrypto();
  if (subtle === undefined) {
    const { gcm } = await import("@noble/ciphers/aes.js");
    const cipher = () => gcm(key, AES_IV, aad);
    return {
      encrypt: async (data) => await cipher().encrypt(data),
      decrypt: async (blob) => Uint8Array.from(await cipher().decrypt(blob)),
    };
  }
  const imported = await subtle.importKey("raw", key, "AES-GCM", false, [
    ...["encrypt", "decrypt"] as const,
  ]);
  const algorithm = {
    name: "AES-GCM",
    iv: AES_IV,
    additionalData: Uint8Array.from(aad),
  };
  return {
    encrypt: async (data) =>
      new Uint8Array(
        await subtle.encrypt(algorithm, imported, Uint8Array.from(data)),
      ),
    decrypt: async (blob) =>
      new Uint8Array(
        await subtle.decrypt(algorithm, imported, Uint8Array.from(blob)),
      ),
  };
}

async function openData(
  key: Uint8Array<ArrayBuffer>,
  sealed: SealedData,
): Promise<DecryptOutcome> {
  switch (sealed.kind) {
    case "aes-256-gcm":
      return await openAes(key, sealed);
    case "hmac-256-ctr":
      return openStream(key, sealed);
    case "plain":
      return invalid("it holds no data");
  }
}

async function openAes(
  key: Uint8Array<ArrayBuffer>,
  { blob, aad = new Uint8Array() }: Extract<
    SealedData,
    { readonly kind: "aes-256-gcm" }
  >,
): Promise<DecryptOutcome> {
  if (blob.length < TAG_BYTES) return invalid("its data is too short");
  const aes = await createCipher(key, aad);
  try {
    return { kind: "ok", data: await aes.decrypt(blob) };
  } catch {
    // The lengths of key and tag are right, so only a wrong tag can be the
    // cause.
    return invalid("its data was changed");
  }
}

function openStream(
  key: Uint8Array,
  { blob, aad = new Uint8Array(), mac }: Extract<
    SealedData,
    { readonly kind: "hmac-256-ctr" }
  >,
): DecryptOutcome {
  const covered = new BcsWriter().bytes(MAC_TAG).u64(BigInt(aad.length))
    .bytes(aad).bytes(blob).toBytes();
  if (!isEqual(hmac(sha3_256, key, covered), mac)) {
    return invalid("its data was changed");
  }
  const data = Uint8Array.from(blob);
  for (let at = 0; at < data.length; at += SECRET_BYTES) {
    const block = BigInt(at / SECRET_BYTES);
    const input = new BcsWriter().bytes(STREAM_TAG).u64(block).toBytes();
    const pad = hmac(sha3_256, key, input);
    data.set(xor(data.subarray(at, at + SECRET_BYTES), pad), at);
  }
  return { kind: "ok", data };
}

function invalid(state: string): DecryptOutcome {
  return { kind: "invalid", reason: `Cannot decrypt: ${state}` };
}

function demandPoint(publicKey: Uint8Array): G2Point {
  const point = readG2(publicKey);
  if (point !== undefined) return point;
  throw new RangeError(
    "Cannot encrypt: the public key of a key server is not valid",
  );
}

function demandScalar(bytes: Uint8Array): bigint {
  const scalar = readScalar(bytes);
  if (scalar !== undefined) return scalar;
  throw new RangeError("Cannot encrypt: the randomness is not a scalar");
}

/**
 * Combines two byte arrays by exclusive or. The result is as long as the first;
 * the second must be at least as long.
 */
function xor(
  left: Uint8Array = new Uint8Array(),
  right: Uint8Array = new Uint8Array(),
): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(left, (byte, at) => byte ^ (right[at] ?? 0));
}

/** Compares without stopping at the first difference. */
function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (const [at, byte] of left.entries()) {
    difference |= byte ^ (right[at] ?? 0);
  }
  return difference === 0;
}
