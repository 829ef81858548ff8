/**
 * Hashes, signs and verifies (SHA-256, HMAC, Ed25519 of RFC 8032) by WebCrypto.
 * Where a runtime has none, as React Native, or an old browser's has no
 * Ed25519, packages in JavaScript are loaded in its place.
 *
 * @module
 */

import { encodeHex } from "./encodings.ts";
import { MemError } from "./errors.ts";
import type { Ed25519Keys, SignedBytes } from "./spare_cryptography.ts";

export type { Ed25519Keys } from "./spare_cryptography.ts";

/** The bytes before the seed in PKCS #8 (RFC 8410, section 7). */
const PKCS8_PREFIX: readonly number[] = [
  ...[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06],
  ...[0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20],
];

/** Computes the SHA-256 hash, 32 bytes. */
export async function sha256(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const subtle = subtleCrypto();
  return subtle === undefined
    ? (await spare()).sha256(bytes)
    : new Uint8Array(await subtle.digest("SHA-256", bytes));
}

/** Computes the HMAC with SHA-256 (RFC 2104), 32 bytes. */
export async function hmacSha256(
  key: Uint8Array<ArrayBuffer>,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const subtle = subtleCrypto();
  if (subtle === undefined) return (await spare()).hmacSha256(key, bytes);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const used = await subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", used, bytes));
}

/** Imports the key pair of a seed of 32 bytes, which is not overwritten. */
export async function importSeed(seed: Uint8Array): Promise<Ed25519Keys> {
  const subtle = subtleCrypto();
  // The copy is made before anything is awaited, as the caller may overwrite
  // the seed meanwhile.
  const pkcs8 = Uint8Array.from([...PKCS8_PREFIX, ...seed]);
  try {
    if (subtle !== undefined) return await importPkcs8(pkcs8, subtle);
  } catch {
    // The bytes are always in the right form, so this WebCrypto lacks Ed25519.
  }
  // The package takes random bytes, too, and would not say what to install.
  randomBytes(0);
  try {
    return (await spare()).importSeed(pkcs8.slice(PKCS8_PREFIX.length));
  } finally {
    pkcs8.fill(0);
  }
}

/**
 * Tells whether the signature was made with the private key of the public key.
 * A public key that is no point of the curve has made none.
 */
export async function isSignedBy(signed: SignedBytes): Promise<boolean> {
  const { publicKey, signature, bytes } = signed;
  const subtle = subtleCrypto();
  if (subtle === undefined) return (await spare()).isSignedBy(signed);
  try {
    const key = await subtle.importKey("raw", publicKey, "Ed25519", false, [
      "verify",
    ]);
    return await subtle.verify("Ed25519", key, signature, bytes);
  } catch (error) {
    // WebCrypto reports a wrong key as well as an algorithm that it lacks.
    return Object(error).name !== "DataError" &&
      (await spare()).isSignedBy(signed);
  }
}

/**
 * The runtime's WebCrypto; undefined when it has none.
 *
 * @throws {MemError} In a page that was loaded over plain HTTP: browsers take
 * WebCrypto from it, since it may have been changed on the way.
 */
export function subtleCrypto(): SubtleCrypto | undefined {
  const found: Crypto | undefined = globalThis.crypto;
  const subtle: SubtleCrypto | undefined = found?.subtle;
  const isPlainHttp = Reflect.get(globalThis, "isSecureContext") === false;
  if (subtle === undefined && isPlainHttp) {
    throw new MemError(
      "Cannot sign: this page has no WebCrypto; it must be served over " +
        "HTTPS or from localhost",
    );
  }
  return subtle;
}

/**
 * Returns random bytes that cannot be guessed.
 *
 * @throws {Error} When the runtime has no source of them.
 */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  const found: Partial<Crypto> | undefined = globalThis.crypto;
  if (typeof found?.getRandomValues === "function") {
    return found.getRandomValues(new Uint8Array(length));
  }
  throw new Error(
    "Cannot create random numbers: this runtime has no " +
      'crypto.getRandomValues; in React Native, run "npm install ' +
      'react-native-get-random-values" and import that package before ' +
      "everything else",
  );
}

/** Returns a random UUID (RFC 9562, version 4), also where WebCrypto has none. */
export function randomUuid(): string {
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6] ?? 0) & 0x0f | 0x40;
  bytes[8] = (bytes[8] ?? 0) & 0x3f | 0x80;
  return encodeHex(bytes)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Loads the packages that do what WebCrypto does. */
function spare(): Promise<typeof import("./spare_cryptography.ts")> {
  return import("./spare_cryptography.ts");
}

async function importPkcs8(
  pkcs8: Uint8Array<ArrayBuffer>,
  subtle: SubtleCrypto,
): Promise<Ed25519Keys> {
  // WebCrypto gives the public key only by exporting the private key. The
  // exportable key and its text are used here alone.
  const imported = (isReadable: boolean) =>
    subtle.importKey("pkcs8", pkcs8, "Ed25519", isReadable, ["sign"]);
  const readable = await imported(true);
  const { x } = await subtle.exportKey("jwk", readable);
  if (x === undefined) throw new TypeError("the key has no public part");
  const text = atob(x.replaceAll("-", "+").replaceAll("_", "/"));
  const signingKey = await imported(false);
  // The key's bytes cannot be exported, so there is nothing to overwrite.
  pkcs8.fill(0);
  return {
    publicKey: Uint8Array.from(text, (letter) => letter.charCodeAt(0)),
    ...signWithKey(signingKey, subtle),
    signingKey,
  };
}

/** Signs with a key of WebCrypto, which need not be exportable. */
export function signWithKey(
  key: CryptoKey,
  subtle: SubtleCrypto,
): Pick<Ed25519Keys, "sign" | "wipe"> {
  return {
    sign: async (bytes) =>
      new Uint8Array(await subtle.sign("Ed25519", key, bytes)),
    wipe: () => {},
  };
}
