/**
 * The signature algorithms that tokens may have (RFC 7518, RFC 8037). None of
 * them is symmetric, and "none" is none of them.
 *
 * @module
 */

/** A signature algorithm, by its name in JOSE. */
export type JwtAlgorithm = "RS256" | "PS256" | "ES256" | "EdDSA";

/** What WebCrypto and key sets call an algorithm. */
export interface JwtAlgorithmTraits {
  /** The type of its keys. */
  readonly keyType: "RSA" | "EC" | "OKP";
  /** The curve of its keys; absent where keys have none. */
  readonly curve?: string;
  /** How WebCrypto imports a key. */
  readonly importParams:
    | Readonly<RsaHashedImportParams>
    | Readonly<EcKeyImportParams>
    | Readonly<Algorithm>;
  /** How WebCrypto verifies a signature. */
  readonly verifyParams:
    | Readonly<RsaPssParams>
    | Readonly<EcdsaParams>
    | Readonly<Algorithm>;
}

/** All algorithms with what they need. */
export const JWT_ALGORITHMS: Readonly<
  Record<JwtAlgorithm, JwtAlgorithmTraits>
> = {
  RS256: {
    keyType: "RSA",
    importParams: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    verifyParams: { name: "RSASSA-PKCS1-v1_5" },
  },
  PS256: {
    keyType: "RSA",
    importParams: { name: "RSA-PSS", hash: "SHA-256" },
    // The salt is as long as the hash (RFC 7518, 3.5).
    verifyParams: { name: "RSA-PSS", saltLength: 32 },
  },
  ES256: {
    keyType: "EC",
    curve: "P-256",
    importParams: { name: "ECDSA", namedCurve: "P-256" },
    verifyParams: { name: "ECDSA", hash: "SHA-256" },
  },
  EdDSA: {
    keyType: "OKP",
    curve: "Ed25519",
    importParams: { name: "Ed25519" },
    verifyParams: { name: "Ed25519" },
  },
};

/** Reads the name of an algorithm; `undefined` for all that are not taken. */
export function parseJwtAlgorithm(name: unknown): JwtAlgorithm | undefined {
  return typeof name === "string" && Object.hasOwn(JWT_ALGORITHMS, name)
    ? name as JwtAlgorithm
    : undefined;
}
