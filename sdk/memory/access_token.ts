/**
 * Makes and reads access tokens, with which clients call a relayer without a
 * delegate's key.
 *
 * A token is a JWS (RFC 7515) that the delegate signs with Ed25519 (RFC 8037).
 * The relayer takes one header and one spelling of the claims only.
 *
 * @module
 */

import { optionalNumber, requireText } from "./arguments.ts";
import { type ClientClock, machineClock } from "./client_clock.ts";
import { type Ed25519Keys, importSeed, randomUuid } from "./cryptography.ts";
import { decodeUtf8, encodeBase64, encodeHex } from "./encodings.ts";
import { parsePrivateKey } from "./private_key.ts";
import type { DelegateSigner } from "./signer.ts";

/** What a token says. */
export interface AccessTokenClaims {
  /** The token's id, which is no secret. */
  readonly id: string;
  /** The account's object id on the ledger. */
  readonly accountId: string;
  /** The public key of the delegate that signed, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** What the token permits; `write` includes `read`. */
  readonly access: "read" | "write";
  /**
   * The namespaces that the token is for.
   *
   * @default all
   */
  readonly namespaces?: readonly string[];
  /** When the token was made, in milliseconds since the Unix epoch. */
  readonly issuedAtMs: number;
  /** When the token expires, in milliseconds since the Unix epoch. */
  readonly expiresAtMs: number;
}

/** A token that was made. */
export interface AccessToken extends AccessTokenClaims {
  /** The token; keep it secret. */
  readonly token: string;
}

/** Options of {@linkcode createAccessToken}. */
export interface AccessTokenOptions {
  /**
   * The delegate's private key: hexadecimal, `suiprivkey…`, or 32 bytes; or what
   * signs with it.
   */
  readonly key: string | Uint8Array | DelegateSigner;
  /** The account's object id on the ledger. */
  readonly accountId: string;
  /** What the token permits; `write` includes `read`. */
  readonly access: "read" | "write";
  /**
   * The namespaces that the token is for.
   *
   * @default all
   */
  readonly namespaces?: readonly string[] | undefined;
  /**
   * How long the token is valid, in milliseconds: a second to 400 days.
   *
   * @default {2592000000} 30 days
   */
  readonly expiresInMs?: number | undefined;
  /**
   * Tells the time. Replace it for tests.
   *
   * @default the machine's clock
   */
  readonly clock?: ClientClock | undefined;
}

const HEADER = '{"alg":"EdDSA","typ":"tercet-access-1+jwt"}';
const MAX_CHARS = 4_096;
const DAY_MS = 86_400_000;
const DEFAULT_LIFE_MS = 30 * DAY_MS;
const MAX_LIFE_DAYS = 400;
const MAX_NAMESPACE_BYTES = 255;

/**
 * Makes an access token, without a request: the delegate signs it here. Removing
 * the delegate's key from the account revokes the token, and nothing else does
 * before it expires.
 *
 * @example
 * ```ts
 * import { createAccessToken } from "@tercet/sdk/account";
 *
 * const { token } = await createAccessToken({
 *   key: "07".repeat(32), // the delegate's private key
 *   accountId: "0xa11ce",
 *   access: "read",
 *   namespaces: ["habits"],
 *   expiresInMs: 86_400_000,
 * });
 * console.log(token.split(".").length); // 3
 * ```
 *
 * @throws {TypeError} When an option is not what it must be.
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function createAccessToken(
  options: AccessTokenOptions,
): Promise<AccessToken> {
  const { key, access, clock = machineClock } = options;
  const accountId = requireText(options.accountId, "accountId").trim();
  if (!/^(?:0x)?[0-9a-f]{1,64}$/i.test(accountId)) {
    throw fault("accountId is not an object id, such as 0x and 64 digits");
  }
  if (access !== "read" && access !== "write") {
    throw fault('access is neither "read" nor "write"');
  }
  const lifeS = readLife(options.expiresInMs);
  const namespaces = readNamespaces(options.namespaces);
  const signer = typeof key === "object" && "sign" in key
    ? {
      publicKey: key.publicKey,
      sign: (bytes: Uint8Array<ArrayBuffer>) => key.sign(bytes),
      wipe: () => {},
    }
    : await importKey(key);
  try {
    const publicKey = encodeHex(signer.publicKey);
    const issuedAtS = Math.floor(clock.nowMs() / 1_000);
    const id = randomUuid();
    const claims = {
      ...{ iss: publicKey, sub: accountId, jti: id },
      ...{ iat: issuedAtS, exp: issuedAtS + lifeS },
      ...{ scope: access, namespaces },
    };
    const text = `${encodeText(HEADER)}.${encodeText(JSON.stringify(claims))}`;
    const signature = await signer.sign(new TextEncoder().encode(text));
    const token = `${text}.${encodeUrl(signature)}`;
    if (token.length > MAX_CHARS) {
      throw fault(
        `it would have more than ${MAX_CHARS} characters; name fewer namespaces`,
      );
    }
    return {
      ...{ token, id, accountId, publicKey, access },
      ...(namespaces === undefined ? {} : { namespaces }),
      issuedAtMs: claims.iat * 1_000,
      expiresAtMs: claims.exp * 1_000,
    };
  } finally {
    signer.wipe();
  }
}

/**
 * Reads what an access token says. Whether its signature is valid, only the
 * relayer knows.
 *
 * @example
 * ```ts
 * import { createAccessToken, readAccessToken } from "@tercet/sdk/account";
 *
 * const { token } = await createAccessToken({
 *   key: "07".repeat(32),
 *   accountId: "0xa11ce",
 *   access: "write",
 * });
 * console.log(readAccessToken(token).access); // write
 * ```
 *
 * @throws {TypeError} When it is no access token; the message does not show it.
 */
export function readAccessToken(token: string): AccessTokenClaims {
  const [header, payload, ...rest] = requireText(token, "accessToken").trim()
    .split(".").map(decodeText);
  const { iss, sub, jti, iat, exp, scope, namespaces } = Object(parse(payload));
  const names: unknown = namespaces ?? [];
  const texts: readonly unknown[] = [iss, sub, jti, names].flat();
  if (
    Array.isArray(names) && header === HEADER && rest.length === 1 &&
    texts.every((one) => typeof one === "string") &&
    [iat, exp].every(Number.isSafeInteger) && /^(?:read|write)$/.test(scope)
  ) {
    return {
      ...{ id: jti, accountId: sub, publicKey: iss, access: scope },
      ...(namespaces === undefined ? {} : { namespaces }),
      issuedAtMs: iat * 1_000,
      expiresAtMs: exp * 1_000,
    };
  }
  throw new TypeError(
    "Cannot read the access token: it is of no version that is known here",
  );
}

async function importKey(key: string | Uint8Array): Promise<Ed25519Keys> {
  const seed = parsePrivateKey(key);
  try {
    return await importSeed(seed);
  } finally {
    seed.fill(0);
  }
}

function readLife(expiresInMs: unknown): number {
  const ms = optionalNumber(expiresInMs, "expiresInMs") ?? DEFAULT_LIFE_MS;
  const seconds = Math.floor(ms / 1_000);
  if (seconds >= 1 && ms <= MAX_LIFE_DAYS * DAY_MS) return seconds;
  throw fault(`expiresInMs is not from a second to ${MAX_LIFE_DAYS} days`);
}

function readNamespaces(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length === 0) {
    throw fault("namespaces is not a list with at least one name");
  }
  const names = value.map((name: unknown) => {
    const isName = typeof name === "string" && name.trim() !== "" &&
      !/\p{Cc}|\p{Surrogate}/u.test(name) &&
      new TextEncoder().encode(name).length <= MAX_NAMESPACE_BYTES;
    if (isName) return name;
    throw fault(`${JSON.stringify(name)} is no name of a namespace`);
  });
  return [...new Set(names)];
}

function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    // The caller reports that it is no token.
    return undefined;
  }
}

function encodeText(text: string): string {
  return encodeUrl(new TextEncoder().encode(text));
}

function encodeUrl(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}

function decodeText(text: string): string | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return decodeUtf8(Uint8Array.from(binary, (one) => one.charCodeAt(0)));
  } catch {
    // It is not Base64, which the caller reports.
    return undefined;
  }
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot make an access token: ${state}`);
}
