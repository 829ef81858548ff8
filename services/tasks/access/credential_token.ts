/**
 * Tokens of API keys and workers: how they are made and parsed.
 *
 * A token is a prefix, a public id, a secret and a checksum: `dk_…` is an API
 * key, `wk_…` a worker's credential.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { getRandomValues, hash, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

/** The start of a token, which tells its kind. */
type TokenPrefix = "dk" | "wk";

/** A token taken apart. */
export interface CredentialToken {
  /** The kind of the token. */
  readonly prefix: TokenPrefix;
  /** The public part, prefix included: `dk_` and 16 characters. */
  readonly id: string;
  /** The secret part, 43 characters; never to be stored or logged. */
  readonly secret: string;
}

/** A token that was just made. */
interface MintedToken extends CredentialToken {
  /** The whole token, to be shown once. */
  readonly text: string;
  /** The digest to store: see {@linkcode hashSecret}. */
  readonly digest: string;
}

/** Gives random bytes that cannot be guessed. */
type RandomBytes = (length: number) => Uint8Array;

const ALPHABET =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const ID_LENGTH = 16;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

/** Characters of the id with its prefix. */
const FULL_ID_LENGTH = 3 + ID_LENGTH;
/** Characters that the checksum covers. */
const CHECKED_LENGTH = FULL_ID_LENGTH + 1 + SECRET_LENGTH;

/** Characters of a whole token. */
const TOKEN_LENGTH = CHECKED_LENGTH + CHECKSUM_LENGTH;

const SHAPE = new RegExp(
  `^[dw]k_[0-9A-Za-z]{${ID_LENGTH}}_[0-9A-Za-z]{${
    SECRET_LENGTH + CHECKSUM_LENGTH
  }}$`,
);

/**
 * A digest that no secret has, to compare with where no credential is stored.
 */
const NO_DIGEST = "0".repeat(64);

/**
 * Makes a token of an API key (`dk`) or a worker. Its text is shown once; id
 * and digest are stored.
 *
 * @param randomBytes The source of randomness: the system's generator, except
 * in tests.
 */
export function mintToken(
  prefix: TokenPrefix,
  randomBytes: RandomBytes = systemRandomBytes,
): MintedToken {
  const id = `${prefix}_${randomText(ID_LENGTH, randomBytes)}`;
  const secret = randomText(SECRET_LENGTH, randomBytes);
  const checked = `${id}_${secret}`;
  return {
    prefix,
    id,
    secret,
    text: checked + computeChecksum(checked),
    digest: hashSecret(secret),
  };
}

/**
 * Takes a token apart.
 *
 * @returns `undefined` when the text does not have the shape of a token, or its
 * checksum is wrong.
 */
export function parseToken(text: string): CredentialToken | undefined {
  if (text.length !== TOKEN_LENGTH || !SHAPE.test(text)) return undefined;
  const checked = text.slice(0, CHECKED_LENGTH);
  if (computeChecksum(checked) !== text.slice(CHECKED_LENGTH)) return undefined;
  return {
    prefix: text.startsWith("d") ? "dk" : "wk",
    id: text.slice(0, FULL_ID_LENGTH),
    secret: text.slice(FULL_ID_LENGTH + 1, CHECKED_LENGTH),
  };
}

/**
 * The digest of a secret, which is stored: its SHA-256 in hexadecimal. A slow
 * hash would add nothing, since a secret of 256 bits cannot be found by trial.
 */
export function hashSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}

/**
 * Compares a digest with the stored one, in a time that does not depend on how
 * many characters match. Without a stored digest the comparison takes as long
 * and returns false.
 */
export function digestMatches(
  presented: string,
  stored: string | undefined,
): boolean {
  const left = Buffer.from(presented);
  const right = Buffer.from(stored ?? NO_DIGEST);
  return left.length === right.length && timingSafeEqual(left, right) &&
    stored !== undefined;
}

function computeChecksum(checked: string): string {
  let rest = crc32(checked);
  let text = "";
  for (let count = 0; count < CHECKSUM_LENGTH; count++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}

function randomText(length: number, randomBytes: RandomBytes): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // Values of 62 and 63 are skipped, since mapping them or the upper two
      // bits onto letters would favour some.
      const value = byte & 63;
      if (value < ALPHABET.length && text.length < length) {
        text += ALPHABET.charAt(value);
      }
    }
  }
  return text;
}

function systemRandomBytes(length: number): Uint8Array {
  return getRandomValues(new Uint8Array(length));
}

/** A worker's credential that was just made, as it is shown once. */
interface MintedWorkerCredential {
  /** The id: `wk_` and 16 characters. */
  readonly id: string;
  /** The user name: `<tenant>:<id>`. */
  readonly key: string;
  /** The password, which is also the bearer token. */
  readonly secret: string;
  /** The digest to store. */
  readonly digest: string;
}

/** The credential that a worker presents. */
export interface WorkerLogin {
  /** The token. */
  readonly token: CredentialToken;
  /**
   * The tenant that the login names; absent with a bearer token, which names
   * none.
   */
  readonly tenant?: string;
}

/** Makes a credential for a worker of the tenant with that domain. */
export function mintWorkerCredential(
  tenantDomain: string,
  randomBytes?: RandomBytes,
): MintedWorkerCredential {
  const token = mintToken("wk", randomBytes);
  return {
    id: token.id,
    key: `${tenantDomain}:${token.id}`,
    secret: token.text,
    digest: token.digest,
  };
}

/**
 * Reads the decoded text of HTTP Basic: `<tenant>:<id>:<secret>`. RFC 7617 ends
 * the user name at the first colon, so clients differ in which of the three
 * they call the user name; joined, they are the same text.
 *
 * @returns `undefined` when the text has another form, or when id and secret do
 * not belong together.
 */
export function parseWorkerLogin(text: string): WorkerLogin | undefined {
  const [tenant, id, secret, ...more] = text.split(":");
  if (secret === undefined || more.length > 0) return undefined;
  const token = parseToken(secret);
  if (token?.prefix !== "wk" || token.id !== id) return undefined;
  if (tenant === undefined || !/^[A-Za-z0-9-]{1,63}$/.test(tenant)) {
    return undefined;
  }
  return { token, tenant: tenant.toLowerCase() };
}
