/**
 * Verifying the tokens of the identity provider.
 *
 * @module
 */

import { hash } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Jwks } from "./jwks.ts";
import {
  addressFault,
  checkClaims,
  type JwtExpectations,
  type TokenSubject,
} from "./jwt_claims.ts";
import { type JwtParts, parseJwt } from "./jwt_parts.ts";
import type { SigningKey } from "./signing_key.ts";

/** Options of {@linkcode JwtVerifier}. */
export interface JwtVerifierOptions extends JwtExpectations {
  /** The keys of the issuer. */
  readonly keys: Pick<Jwks, "find" | "generation">;
  /** Tells the time. */
  readonly clock: Clock;
  /**
   * Most verified tokens that are remembered.
   *
   * @default {10000}
   */
  readonly maxRemembered?: number;
  /**
   * For how many milliseconds a verified token is remembered at most; it is
   * forgotten earlier when it ends or the keys change.
   *
   * @default {300000}
   */
  readonly maxRememberedMs?: number;
}

/** What a token comes to. */
export type JwtOutcome =
  | { readonly kind: "ok"; readonly subject: TokenSubject }
  | {
    readonly kind: "refused";
    /** Which problem to answer with. */
    readonly code: "invalid_credentials" | "token_expired";
    /** Why, as a message for the client; holds nothing secret. */
    readonly reason: string;
  }
  | {
    /** The keys cannot be had: neither good nor bad, worth another try. */
    readonly kind: "unavailable";
    /** After how many milliseconds. */
    readonly retryAfterMs: number;
  };

interface Remembered {
  readonly subject: TokenSubject;
  readonly generation: number;
  readonly verifiedAtMs: number;
}

/**
 * Verifies tokens of one issuer, and remembers those that were good, by their
 * digest, so that the next request with the same token costs a hash.
 */
export class JwtVerifier {
  readonly #options: JwtVerifierOptions;
  readonly #maxRememberedMs: number;
  readonly #remembered: BoundedMap<string, Remembered>;

  /**
   * A verifier that has seen no token.
   *
   * @throws {RangeError} When there is no issuer or no audience: every token
   * of the provider, whoever it is for, would be let in.
   */
  constructor(options: JwtVerifierOptions) {
    if (options.issuer === "" || options.audiences.length === 0) {
      throw new RangeError(
        "Cannot verify tokens: issuer and audience are not both configured",
      );
    }
    this.#options = options;
    this.#maxRememberedMs = options.maxRememberedMs ?? 300_000;
    this.#remembered = new BoundedMap({
      maxEntries: options.maxRemembered ?? 10_000,
    });
  }

  /**
   * Tells whether a token is good, and who it names.
   *
   * @returns A value at once where the token is remembered.
   */
  verify(token: string): JwtOutcome | Promise<JwtOutcome> {
    const digest = digestOf(token);
    const subject = this.#recall(digest);
    return subject === undefined
      ? this.#verify(token, digest)
      : { kind: "ok", subject };
  }

  /** Who a token names that was good and is remembered. */
  recall(token: string): TokenSubject | undefined {
    return this.#recall(digestOf(token));
  }

  #recall(digest: string): TokenSubject | undefined {
    const remembered = this.#remembered.get(digest);
    if (remembered === undefined) return undefined;
    const { clock, keys } = this.#options;
    const nowMs = clock.nowMs();
    const { subject, generation, verifiedAtMs } = remembered;
    const ageMs = nowMs - verifiedAtMs;
    const isFresh = generation === keys.generation && ageMs >= 0 &&
      ageMs < this.#maxRememberedMs && nowMs < subject.expiresAtMs;
    if (isFresh) return subject;
    this.#remembered.delete(digest);
    return undefined;
  }

  async #verify(token: string, digest: string): Promise<JwtOutcome> {
    const { clock, keys } = this.#options;
    const parsed = parseJwt(token);
    if (parsed.kind !== "ok") return invalid(parsed.reason);
    const { parts } = parsed;
    // First, so that no token of another issuer makes us fetch anything.
    const fault = addressFault(parts.claims, this.#options);
    if (fault !== undefined) return invalid(fault);
    const found = await keys.find(parts);
    if (found.kind === "unavailable") return found;
    // Not asked for later: a change of keys meanwhile must not go unnoticed.
    const generation = keys.generation;
    const isSigned = found.kind === "ok" && await isSignedBy(found.keys, parts);
    if (!isSigned) return UNSIGNED;
    const verifiedAtMs = clock.nowMs();
    const checked = checkClaims(parts.claims, {
      ...this.#options,
      nowMs: verifiedAtMs,
    });
    if (checked.kind !== "ok") return checked;
    const { subject } = checked;
    this.#remembered.set(digest, { subject, generation, verifiedAtMs });
    return { kind: "ok", subject };
  }
}

function digestOf(token: string): string {
  return hash("sha256", token, "base64");
}

const UNSIGNED: JwtOutcome = invalid(
  "Cannot accept token: it is not signed with a key of the identity provider",
);

async function isSignedBy(
  keys: readonly SigningKey[],
  parts: JwtParts,
): Promise<boolean> {
  const { algorithm, signed, signature } = parts;
  for (const key of keys) {
    const isSigned = await key.verify(algorithm, { bytes: signed, signature });
    if (isSigned) return true;
  }
  return false;
}

function invalid(reason: string): JwtOutcome {
  return { kind: "refused", code: "invalid_credentials", reason };
}
