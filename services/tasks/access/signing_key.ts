/**
 * Public keys out of a key set (RFC 7517), fit for verifying.
 *
 * @module
 */

import { settle } from "../../shared/settled.ts";
import {
  asJsonObject,
  type JsonObject,
  parseJsonObject,
} from "./json_object.ts";
import {
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  parseJwtAlgorithm,
} from "./jwt_algorithm.ts";
import { isKeyId } from "./jwt_parts.ts";

/** Fewest bits of an RSA key (RFC 7518, 3.3), and the most we calculate with. */
const RSA_BITS = { min: 2_048, max: 8_192 };

/** Most keys of a set that are looked at. */
const MAX_KEYS = 100;

/** A public key that verifies signatures. */
export class SigningKey {
  /** Its id; absent when the set gives it none. */
  readonly id: string | undefined;
  /** The algorithms it may be used with. */
  readonly algorithms: readonly JwtAlgorithm[];
  readonly #jwk: JsonWebKey;
  readonly #imported = new Map<JwtAlgorithm, Promise<CryptoKey | undefined>>();

  /** A key of a set, which has been found to fit the algorithms. */
  constructor(
    jwk: JsonWebKey,
    options: {
      readonly id: string | undefined;
      readonly algorithms: readonly JwtAlgorithm[];
    },
  ) {
    this.#jwk = jwk;
    this.id = options.id;
    this.algorithms = options.algorithms;
  }

  /**
   * Tells whether a signature is this key's. A key that is no point of its
   * curve, or otherwise unusable, has signed nothing.
   */
  async verify(
    algorithm: JwtAlgorithm,
    signed: {
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly signature: Uint8Array<ArrayBuffer>;
    },
  ): Promise<boolean> {
    if (!this.algorithms.includes(algorithm)) return false;
    const key = await this.#import(algorithm);
    if (key === undefined) return false;
    // A signature of a length that no key makes may be an error to WebCrypto.
    const verified = await settle(() =>
      crypto.subtle.verify(
        JWT_ALGORITHMS[algorithm].verifyParams,
        key,
        signed.signature,
        signed.bytes,
      )
    );
    return verified.kind === "ok" && verified.value;
  }

  #import(algorithm: JwtAlgorithm): Promise<CryptoKey | undefined> {
    let imported = this.#imported.get(algorithm);
    if (imported === undefined) {
      imported = importKey(this.#jwk, algorithm);
      this.#imported.set(algorithm, imported);
    }
    return imported;
  }
}

/**
 * Reads a key set. Keys of other kinds, for other uses or too weak are left
 * out, as RFC 7517, 5 says.
 *
 * @returns `undefined` when it is no key set.
 */
export function parseKeySet(text: string): readonly SigningKey[] | undefined {
  const set = parseJsonObject(text);
  if (!Array.isArray(set?.keys)) return undefined;
  const entries: readonly unknown[] = set.keys.slice(0, MAX_KEYS);
  return entries.map(asJsonObject).map((jwk) =>
    jwk === undefined ? undefined : signingKey(jwk)
  ).filter((key) => key !== undefined);
}

function signingKey(jwk: JsonObject): SigningKey | undefined {
  if (jwk.use !== undefined && jwk.use !== "sig") return undefined;
  if (jwk.key_ops !== undefined) {
    const isForVerifying = Array.isArray(jwk.key_ops) &&
      jwk.key_ops.includes("verify");
    if (!isForVerifying) return undefined;
  }
  const algorithms = algorithmsOf(jwk);
  if (algorithms.length === 0) return undefined;
  const publicJwk = publicPart(jwk);
  if (publicJwk === undefined) return undefined;
  if (jwk.kid !== undefined && !isKeyId(jwk.kid)) return undefined;
  return new SigningKey(publicJwk, { id: jwk.kid, algorithms });
}

/** All that fit the key's type and curve, or the one that it is made for. */
function algorithmsOf(jwk: JsonObject): readonly JwtAlgorithm[] {
  return Object.keys(JWT_ALGORITHMS).map(parseJwtAlgorithm)
    .filter((name) => name !== undefined)
    .filter((name) => jwk.alg === undefined || jwk.alg === name)
    .filter((name) => {
      const { keyType, curve } = JWT_ALGORITHMS[name];
      return jwk.kty === keyType && (curve === undefined || jwk.crv === curve);
    });
}

/** The members that make up the public key, and no others. */
function publicPart(jwk: JsonObject): JsonWebKey | undefined {
  const { kty, crv, n, e, x, y } = jwk;
  if (kty === "RSA") {
    if (typeof n !== "string" || typeof e !== "string") return undefined;
    const bits = bitsOf(n);
    const isFit = bits >= RSA_BITS.min && bits <= RSA_BITS.max &&
      isExponent(e);
    return isFit ? { kty, n, e } : undefined;
  }
  if (typeof crv !== "string" || typeof x !== "string") return undefined;
  if (kty === "OKP") return { kty, crv, x };
  return kty === "EC" && typeof y === "string" ? { kty, crv, x, y } : undefined;
}

function isExponent(text: string): boolean {
  const bytes = decode(text) ?? [];
  const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  return bytes.length <= 4 && value >= 3 && value % 2 === 1;
}

function bitsOf(text: string): number {
  const bytes = decode(text) ?? [];
  const first = bytes.findIndex((byte) => byte !== 0);
  if (first === -1) return 0;
  return (bytes.length - first) * 8 - (Math.clz32(bytes[first] ?? 0) - 24);
}

function decode(text: string): readonly number[] | undefined {
  try {
    return [...Uint8Array.fromBase64(text, { alphabet: "base64url" })];
  } catch {
    // Not base64url; there is no other way to learn it.
    return undefined;
  }
}

async function importKey(
  jwk: JsonWebKey,
  algorithm: JwtAlgorithm,
): Promise<CryptoKey | undefined> {
  const { importParams } = JWT_ALGORITHMS[algorithm];
  const imported = await settle(() =>
    crypto.subtle.importKey("jwk", jwk, importParams, false, ["verify"])
  );
  return imported.kind === "ok" ? imported.value : undefined;
}
