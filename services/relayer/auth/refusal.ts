/**
 * Refusals of requests that cannot be authenticated: a status for the client's
 * code, and a word in the header `x-auth-error` for the person who looks for
 * the fault.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";

/** The reason of a refusal, in one word. */
type RefusalCode =
  /** The key, the signature or the timestamp is missing. */
  | "ERR_MISSING_HEADERS"
  /** A field that must be single was sent more than once. */
  | "ERR_REPEATED_HEADERS"
  /** The nonce is missing: the client is older than this protocol. */
  | "ERR_CLIENT_TOO_OLD"
  /** The nonce is not a UUID. */
  | "ERR_NONCE_FORMAT"
  /** The timestamp is not a whole number of seconds. */
  | "ERR_TIMESTAMP_FORMAT"
  /** The client's clock is off, or the request was under way for too long. */
  | "ERR_TIMESTAMP_OUT_OF_BOUNDS"
  /** The public key is not 64 hexadecimal digits. */
  | "ERR_PUBLIC_KEY_FORMAT"
  /** The signature is not 128 hexadecimal digits. */
  | "ERR_SIGNATURE_FORMAT"
  /** The account's id is not hexadecimal. */
  | "ERR_ACCOUNT_FORMAT"
  /** The signature does not fit this key and this request. */
  | "ERR_SIGNATURE"
  /** The same request was accepted before. */
  | "ERR_REPLAY"
  /** There is no such account, or no account has the key. */
  | "ERR_ACCOUNT_UNKNOWN"
  /** Its owner has switched the account off. */
  | "ERR_ACCOUNT_INACTIVE"
  /** The key is not a delegate of the account, or not any longer. */
  | "ERR_KEY_NOT_DELEGATE"
  /** The text is no access token of a known version. */
  | "ERR_TOKEN_FORMAT"
  /** The access token was changed, or signed with another key. */
  | "ERR_TOKEN_SIGNATURE"
  /** The access token is valid for longer than tokens may be, or never. */
  | "ERR_TOKEN_LIFETIME"
  /** The access token was made later than now. */
  | "ERR_TOKEN_TOO_EARLY"
  /** The access token has expired. */
  | "ERR_TOKEN_EXPIRED"
  /** The ledger does not answer. */
  | "AUTH_UPSTREAM_UNAVAILABLE"
  /** The memory for nonces is full for now. */
  | "AUTH_NONCES_EXHAUSTED";

/** A request that is not let in. */
export interface Refusal {
  /** Tells refusals from other outcomes. */
  readonly kind: "refused";
  /** The HTTP status of the answer. */
  readonly status: 401 | 426 | 503;
  /** The word for the header `x-auth-error`. */
  readonly code: RefusalCode;
  /**
   * The cause, for the log only.
   *
   * @default the code says enough
   */
  readonly reason?: string | undefined;
  /**
   * Whether the request came from the oldest client, where it is served.
   *
   * @default {false}
   */
  readonly isLegacy?: boolean;
  /**
   * Whether the request had an access token in place of a signature.
   *
   * @default {false}
   */
  readonly isToken?: boolean;
}

/**
 * Seconds after which a client may retry a request that failed without its
 * fault.
 */
const RETRY_AFTER_SECONDS = 5;

/** Makes a refusal; its status follows from the code. */
export function refusal(code: RefusalCode, reason?: string): Refusal {
  return { kind: "refused", status: toStatus(code), code, reason };
}

function toStatus(code: RefusalCode): Refusal["status"] {
  if (code === "ERR_CLIENT_TOO_OLD") return 426;
  return code.startsWith("AUTH_") ? 503 : 401;
}

/**
 * Makes the answer to a refused request: the reason is in a header, and the
 * body is empty, as released clients expect. The oldest client shows its user
 * the body and no header, so its answer has one; so has that to a token, whose
 * bearer may be a person with curl.
 */
export function refusalResponse(refusal: Refusal): HttpResponse {
  const { status, code } = refusal;
  const headers: Record<string, string> = {
    "cache-control": "no-store",
    "x-auth-error": code,
  };
  const retrySeconds = retryAfter(refusal);
  if (retrySeconds !== undefined) {
    headers["retry-after"] = String(retrySeconds);
  }
  const { isLegacy = false, isToken = false } = refusal;
  if (!isLegacy && !isToken) return { status, headers, body: "" };
  headers["content-type"] = "application/json";
  const subject = isToken ? "access token" : "request";
  const error = `Cannot accept the ${subject}: ${REASONS[code]}`;
  if (isToken && status === 401) {
    headers["www-authenticate"] = bearerChallenge("invalid_token", error);
  }
  return { status, headers, body: JSON.stringify({ error, code }) };
}

/**
 * Returns the header `www-authenticate` of an answer that refuses a bearer
 * (RFC 6750, 3).
 *
 * @param description A sentence in ASCII without quotes and backslashes.
 */
export function bearerChallenge(
  error: "insufficient_scope" | "invalid_token",
  description: string,
): string {
  return `Bearer realm="relayer", error="${error}", ` +
    `error_description="${description}"`;
}

function retryAfter(
  { status, code, isLegacy = false }: Refusal,
): number | undefined {
  if (status === 503) return RETRY_AFTER_SECONDS;
  // A second later the oldest client signs another text.
  return isLegacy && code === "ERR_REPLAY" ? 1 : undefined;
}

const FAULTY = "a header of its signature is malformed; report it to the " +
  "client's maker";

/** What the user of the oldest client, and the bearer of a token, are told. */
const REASONS: Readonly<Record<RefusalCode, string>> = {
  ERR_MISSING_HEADERS: "the key, the signature or the timestamp is missing",
  ERR_REPEATED_HEADERS: FAULTY,
  ERR_CLIENT_TOO_OLD: "the client signs without a nonce; take a newer version",
  ERR_NONCE_FORMAT: FAULTY,
  ERR_TIMESTAMP_FORMAT: FAULTY,
  ERR_TIMESTAMP_OUT_OF_BOUNDS:
    "it was signed too long ago, or the clock of its machine is wrong",
  ERR_PUBLIC_KEY_FORMAT: FAULTY,
  ERR_SIGNATURE_FORMAT: FAULTY,
  ERR_ACCOUNT_FORMAT: "the account's id is not hexadecimal",
  ERR_SIGNATURE: "the signature does not fit the key and the request",
  ERR_REPLAY: "the same was stored in this second already; clients without a " +
    "nonce can repeat it a second later",
  ERR_ACCOUNT_UNKNOWN: "no account has the key",
  ERR_ACCOUNT_INACTIVE: "its owner has switched the account off",
  ERR_KEY_NOT_DELEGATE: "the key is not, or no longer, one of the account's",
  ERR_TOKEN_FORMAT:
    "it is of no known version, or only a part; make one with " +
    "tercet mcp token",
  ERR_TOKEN_SIGNATURE: "its signature is wrong, so it was changed; copy it " +
    "again, or make another",
  ERR_TOKEN_LIFETIME: "it is made for more than 400 days, or for none; make " +
    "another with a shorter life",
  ERR_TOKEN_TOO_EARLY: "it is made later than now; set the clock of the " +
    "machine that makes tokens, and make another",
  ERR_TOKEN_EXPIRED: "it has expired; make another",
  AUTH_UPSTREAM_UNAVAILABLE: "the ledger does not answer; try again",
  AUTH_NONCES_EXHAUSTED: "too many requests came at once; try again",
};

/** Options of {@linkcode RefusalDelay}. */
interface RefusalDelayOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * How long an answer is delayed, in milliseconds.
   *
   * @default {100}
   */
  readonly delayMs?: number;
  /**
   * Most answers that are delayed at a time; further ones are sent at once.
   *
   * @default {1000}
   */
  readonly maxHeld?: number;
}

/**
 * Delays refusals for a moment, so that guessing is slow. The number of delayed
 * answers is bounded: a flood must not fill the memory with them.
 */
export class RefusalDelay {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #maxHeld: number;
  readonly #held = new Map<() => void, Timer>();

  /** Makes a delay that holds no answers yet. */
  constructor(options: RefusalDelayOptions) {
    this.#clock = options.clock;
    this.#delayMs = options.delayMs ?? 100;
    this.#maxHeld = options.maxHeld ?? 1_000;
  }

  /** The number of answers that are delayed now. */
  get held(): number {
    return this.#held.size;
  }

  /** Resolves when the answer may be sent. */
  wait(): Promise<void> {
    if (this.#held.size >= this.#maxHeld) return Promise.resolve();
    return new Promise((resolve) => {
      const release = (): void => {
        this.#held.delete(release);
        resolve();
      };
      this.#held.set(
        release,
        this.#clock.setTimer(release, this.#delayMs),
      );
    });
  }

  /** Releases all delayed answers; called when the server stops. */
  releaseAll(): void {
    for (const [release, timer] of [...this.#held]) {
      timer.cancel();
      release();
    }
  }
}
