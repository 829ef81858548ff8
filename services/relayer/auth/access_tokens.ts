/**
 * Verifies access tokens, with which clients call without signing: curl, scripts
 * in other languages, agents that are not to have the key. A delegate signs a
 * token on its own machine, so the relayer stores none and issues none.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { AccountResolver, Caller } from "./authenticate.ts";
import { type Refusal, refusal } from "./refusal.ts";
import type { SignatureVerifier } from "./signed_request.ts";
import {
  MAX_TOKEN_LIFE_S,
  readToken,
  type TokenClaims,
} from "./token_claims.ts";

/** Options of {@linkcode AccessTokens}. */
interface AccessTokensOptions {
  /** The time. */
  readonly clock: Clock;
  /** Checks signatures. */
  readonly signatures: Pick<SignatureVerifier, "verify">;
  /** Finds the account of a key. */
  readonly accounts: Pick<AccountResolver, "resolve">;
  /** Milliseconds that clocks may differ, as with signed requests. */
  readonly windowMs: number;
}

/** The outcome of verifying a token. */
type TokenOutcome =
  | { readonly kind: "ok"; readonly caller: Caller }
  | Refusal;

/**
 * Verifies access tokens. Whether the key that signed is a delegate is read
 * from the ledger for each request, so that removing the key revokes its tokens
 * from the next request on.
 */
export class AccessTokens {
  readonly #options: AccessTokensOptions;

  /** Makes a verifier. */
  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  /** Verifies a bearer token, and finds the caller that it stands for. */
  async verify(token: string): Promise<TokenOutcome> {
    const outcome = await this.#verify(token);
    return outcome.kind === "refused" ? { ...outcome, isToken: true } : outcome;
  }

  async #verify(token: string): Promise<TokenOutcome> {
    const { signatures, accounts } = this.#options;
    const read = readToken(token);
    if (read === undefined) return refusal("ERR_TOKEN_FORMAT");
    const { claims, message, signature } = read;
    const { publicKey, accountId, id, scope, namespaces } = claims;
    if (!signatures.verify({ publicKey, message, signature })) {
      return refusal("ERR_TOKEN_SIGNATURE");
    }
    const untimely = this.#judgeTimes(claims);
    if (untimely !== undefined) return untimely;
    const resolved = await accounts.resolve(publicKey, accountId);
    if (resolved.kind !== "ok") return resolved;
    const grant = { id, scope, namespaces };
    return { kind: "ok", caller: { ...resolved.caller, grant } };
  }

  #judgeTimes({ issuedAtS, expiresAtS }: TokenClaims): Refusal | undefined {
    const { clock, windowMs } = this.#options;
    const lifeS = expiresAtS - issuedAtS;
    if (lifeS <= 0 || lifeS > MAX_TOKEN_LIFE_S) {
      return refusal("ERR_TOKEN_LIFETIME");
    }
    const nowMs = clock.nowMs();
    if (nowMs < issuedAtS * 1_000 - windowMs) {
      return refusal("ERR_TOKEN_TOO_EARLY");
    }
    return nowMs >= expiresAtS * 1_000 + windowMs
      ? refusal("ERR_TOKEN_EXPIRED")
      : undefined;
  }
}
