/**
 * Owner tokens, with which another service reads an owner's listings for some
 * minutes. Tokens are not stored: each contains its owner and its expiry, and a
 * code (HMAC) that only this service can make.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import type { HttpHeaders } from "../../shared/http/exchange.ts";
import { normalizeLedgerId } from "../ledger/ledger_id.ts";
import { readBearer } from "./bearer.ts";

/** A token that was made. */
interface IssuedToken {
  /** The token. */
  readonly token: string;
  /** The owner's address, in its normal form. */
  readonly owner: string;
  /** When the token expires, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** What the token permits. */
  readonly permissions: readonly string[];
}

/** The outcome of asking for a token. */
type IssueOutcome =
  | { readonly kind: "ok"; readonly issued: IssuedToken }
  /** The credential is missing or wrong: answer 401. */
  | { readonly kind: "refused" }
  /** The owner is not an address: answer 400. */
  | { readonly kind: "bad_owner" };

/** Options of {@linkcode OwnerTokens}. */
interface OwnerTokensOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /** The secret that services send to be issued tokens. */
  readonly credential: string;
}

/** How long a token is valid, in milliseconds. */
const LIFETIME_MS = 900_000;
/** Fewest characters of a credential: 128 bits as base64. */
const MIN_CREDENTIAL_LENGTH = 22;
/** What every token permits. */
const PERMISSIONS: readonly string[] = [
  "agents:read",
  "memories:read",
  "namespaces:read",
];
/**
 * The form of a token: version, owner without prefix, expiry in seconds, code.
 */
const TOKEN = /^ot1\.([0-9a-f]{64})\.([0-9]{1,12})\.([A-Za-z0-9_-]{43})$/;

/**
 * Checks whether a credential can be used.
 *
 * @returns What is wrong, without the credential; undefined when nothing is.
 */
export function serviceCredentialFault(credential: string): string | undefined {
  if (credential.length < MIN_CREDENTIAL_LENGTH) {
    return `Cannot use service credential: it has ${credential.length} ` +
      `characters, ${MIN_CREDENTIAL_LENGTH} are the fewest; make one with ` +
      '"openssl rand -hex 32"';
  }
  return /^[!-~]+$/.test(credential)
    ? undefined
    : "Cannot use service credential: it has characters that a header cannot " +
      'have; make one with "openssl rand -hex 32"';
}

/**
 * Issues and verifies owner tokens. The key of the codes is derived from the
 * credential: a restart leaves tokens valid, a new credential ends them all.
 */
export class OwnerTokens {
  readonly #clock: Clock;
  readonly #credentialDigest: Uint8Array;
  readonly #key: Uint8Array;

  /**
   * Makes tokens for services that know the credential.
   *
   * @throws {TypeError} when the credential cannot be used
   */
  constructor(options: OwnerTokensOptions) {
    const fault = serviceCredentialFault(options.credential);
    if (fault !== undefined) throw new TypeError(fault);
    this.#clock = options.clock;
    this.#credentialDigest = hashCredential(options.credential);
    this.#key = createHmac("sha256", options.credential)
      .update("owner tokens, version 1").digest();
  }

  /**
   * Issues a token for the listings of an owner.
   *
   * @param headers The request's headers; `x-service-credential` is checked.
   * @param owner The owner as the request names it, unchecked.
   */
  issue(headers: HttpHeaders, owner: unknown): IssueOutcome {
    const credential = headers.get("x-service-credential") ?? "";
    // Both digests have the same length, so the comparison reveals nothing.
    if (!timingSafeEqual(hashCredential(credential), this.#credentialDigest)) {
      return { kind: "refused" };
    }
    const id = typeof owner === "string" ? normalizeLedgerId(owner) : undefined;
    if (id === undefined) return { kind: "bad_owner" };
    const endS = Math.floor((this.#clock.nowMs() + LIFETIME_MS) / 1_000);
    const claims = `ot1.${id.slice(2)}.${endS}`;
    const token = `${claims}.${
      this.#computeCode(claims).toString("base64url")
    }`;
    return {
      kind: "ok",
      issued: {
        token,
        owner: id,
        expiresAtMs: endS * 1_000,
        permissions: PERMISSIONS,
      },
    };
  }

  /**
   * Returns the owner of the token in a request's `Authorization` header.
   *
   * @returns undefined when there is no token, or it is invalid or expired
   */
  findBearer(headers: HttpHeaders): string | undefined {
    const [, owner, endS, code] = TOKEN.exec(readBearer(headers) ?? "") ?? [];
    if (owner === undefined || code === undefined) return undefined;
    const expected = this.#computeCode(`ot1.${owner}.${endS}`);
    const given = Buffer.from(code, "base64url");
    const isOurs = given.byteLength === expected.byteLength &&
      timingSafeEqual(given, expected);
    const isOver = this.#clock.nowMs() >= Number(endS) * 1_000;
    if (!isOurs || isOver) return undefined;
    return `0x${owner}`;
  }

  #computeCode(claims: string): Buffer {
    return createHmac("sha256", this.#key).update(claims).digest();
  }
}

function hashCredential(credential: string): Uint8Array {
  return createHash("sha256").update(credential).digest();
}
