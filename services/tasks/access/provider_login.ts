/**
 * Signs people in at the identity provider: the authorization code flow of
 * OpenID Connect with PKCE (RFC 7636), a state and a nonce.
 *
 * @module
 */

import { hash } from "node:crypto";
import { decodeJwt } from "jose";
import type { Clock } from "../../shared/clock.ts";
import { randomBytes } from "../../shared/random_bytes.ts";
import { type Fetch, fetchText, parseJsonObject } from "./bounded_fetch.ts";
import type { JwtVerifier, TokenSubject } from "./jwt.ts";

/** Options of {@linkcode ProviderLogin}. */
interface ProviderLoginOptions {
  /** The issuer, exactly as tokens write it. */
  readonly issuer: string;
  /** The name of the console at the provider. */
  readonly clientId: string;
  /** Its secret; empty for a public client. */
  readonly clientSecret: string;
  /** Verifies the provider's tokens for that client. */
  readonly tokens: Pick<JwtVerifier, "verify">;
  /** Makes the calls. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
}

/** A sign-in that has begun; the browser keeps it in a cookie meanwhile. */
export interface PendingLogin {
  /** What the provider sends back, so that the answer is one to this request. */
  readonly state: string;
  /** What the token has to repeat. */
  readonly nonce: string;
  /** What proves that the code is redeemed by who has asked for it. */
  readonly verifier: string;
}

/** The provider is not of use now. */
interface Unavailable {
  readonly kind: "unavailable";
  /** Why, for a log. */
  readonly reason: string;
}

/** Where the provider's pages and tokens are. */
interface Endpoints {
  readonly authorize: string;
  readonly token: string;
}

/** For how long the provider's endpoints are remembered, in milliseconds. */
const MAX_AGE_MS = 3_600_000;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 262_144;

/** Sends people to the provider, and learns who they are when they return. */
export class ProviderLogin {
  readonly #options: ProviderLoginOptions;
  #known: { readonly endpoints: Endpoints; readonly atMs: number } | undefined;

  /** Nothing is asked before the first sign-in. */
  constructor(options: ProviderLoginOptions) {
    this.#options = options;
  }

  /**
   * Begins a sign-in.
   *
   * @param redirectUri where the provider sends the person back to
   */
  async begin(redirectUri: string): Promise<
    | {
      readonly kind: "ok";
      /** The provider's page. */
      readonly url: string;
      readonly pending: PendingLogin;
    }
    | Unavailable
  > {
    const endpoints = await this.#endpoints();
    if ("kind" in endpoints) return endpoints;
    const pending: PendingLogin = {
      state: randomText(),
      nonce: randomText(),
      verifier: randomText(),
    };
    const url = new URL(endpoints.authorize);
    const parameters: Readonly<Record<string, string>> = {
      response_type: "code",
      client_id: this.#options.clientId,
      redirect_uri: redirectUri,
      scope: "openid email profile",
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: hash("sha256", pending.verifier, "base64url"),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) {
      url.searchParams.set(name, value);
    }
    return { kind: "ok", url: url.href, pending };
  }

  /** Redeems the code that the provider has sent a person back with. */
  async finish(
    code: string,
    { pending, redirectUri }: {
      readonly pending: PendingLogin;
      /** The same as at the beginning. */
      readonly redirectUri: string;
    },
  ): Promise<
    | { readonly kind: "ok"; readonly subject: TokenSubject }
    | { readonly kind: "refused"; readonly reason: string }
    | Unavailable
  > {
    const endpoints = await this.#endpoints();
    if ("kind" in endpoints) return endpoints;
    const { clientId, clientSecret, tokens } = this.#options;
    const answer = await this.#fetch(endpoints.token, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri: redirectUri,
        client_id: clientId,
        code_verifier: pending.verifier,
        ...(clientSecret === "" ? {} : { client_secret: clientSecret }),
      }).toString(),
    });
    if (answer.kind !== "ok") return answer;
    const token = answer.body.id_token;
    if (typeof token !== "string") {
      return refused("the provider does not accept the code");
    }
    const verified = await tokens.verify(token);
    if (verified.kind === "unavailable") {
      return { kind: "unavailable", reason: "its keys cannot be read" };
    }
    if (verified.kind !== "ok") return refused(verified.reason);
    // The signature was checked, so the token is what the provider wrote.
    return decodeJwt(token).nonce === pending.nonce
      ? { kind: "ok", subject: verified.subject }
      : refused("the token answers another sign-in");
  }

  /** The provider's endpoints, by its own description (Discovery 1.0, 4). */
  async #endpoints(): Promise<Endpoints | Unavailable> {
    const { issuer, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (this.#known !== undefined && nowMs - this.#known.atMs < MAX_AGE_MS) {
      return this.#known.endpoints;
    }
    const path = "/.well-known/openid-configuration";
    const answer = await this.#fetch(issuer.replace(/\/+$/, "") + path);
    if (answer.kind !== "ok") return answer;
    const { authorization_endpoint: authorize, token_endpoint: token } =
      answer.body;
    if (
      answer.body.issuer !== issuer || !this.#isUsable(authorize) ||
      !this.#isUsable(token)
    ) {
      return {
        kind: "unavailable",
        reason: `${path} names another issuer, or no endpoints`,
      };
    }
    const endpoints = { authorize, token };
    this.#known = { endpoints, atMs: nowMs };
    return endpoints;
  }

  /** Whether an endpoint is an address by a scheme as safe as the issuer's. */
  #isUsable(endpoint: unknown): endpoint is string {
    const { protocol } = URL.parse(String(endpoint)) ?? {};
    return typeof endpoint === "string" &&
      (protocol === "https:" ||
        protocol === "http:" && this.#options.issuer.startsWith("http:"));
  }

  async #fetch(
    url: string,
    init: Pick<RequestInit, "method" | "headers" | "body"> = {},
  ): Promise<
    | { readonly kind: "ok"; readonly body: Readonly<Record<string, unknown>> }
    | Unavailable
  > {
    const { fetch, clock } = this.#options;
    const outcome = await fetchText(url, {
      fetch,
      clock,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      init: {
        ...init,
        headers: { accept: "application/json", ...init.headers },
      },
    });
    if (outcome.kind === "failed") {
      return { kind: "unavailable", reason: outcome.reason };
    }
    const body = parseJsonObject(outcome.text);
    return body === undefined || outcome.status >= 500
      ? { kind: "unavailable", reason: `it answers ${outcome.status}` }
      : { kind: "ok", body };
  }
}

function refused(
  reason: string,
): { readonly kind: "refused"; readonly reason: string } {
  return { kind: "refused", reason: `Cannot sign in: ${reason}` };
}

/** 32 random bytes, as many as PKCE asks for (RFC 7636, 4.1). */
function randomText(): string {
  return randomBytes(32).toBase64({ alphabet: "base64url", omitPadding: true });
}

const PENDING = /^[\w-]{43}$/;

/** A pending login as the value of a cookie. */
export function formatPending(
  { state, nonce, verifier }: PendingLogin,
): string {
  return [state, nonce, verifier].join(".");
}

/** Reads what {@linkcode formatPending} wrote; undefined for other text. */
export function parsePending(text: string): PendingLogin | undefined {
  const [state = "", nonce = "", verifier = "", ...rest] = text.split(".");
  return rest.length === 0 &&
      [state, nonce, verifier].every((part) => PENDING.test(part))
    ? { state, nonce, verifier }
    : undefined;
}
