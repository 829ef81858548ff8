/**
 * Lets signed requests in. The order of what is checked is part of the protocol:
 * the head, the body's size, the signature, and only then anything that leaves a
 * trace, so that strangers can neither fill what is remembered nor burn a nonce.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import type { BodyOutcome } from "../../shared/http/body.ts";
import type { HttpRequest } from "../../shared/http/exchange.ts";
import type { AccountResolver } from "./account_resolver.ts";
import type { Caller } from "./caller.ts";
import {
  canonicalRequest,
  legacyCanonicalRequest,
} from "./canonical_request.ts";
import type { Nonces } from "./nonces.ts";
import { type Refusal, refusal } from "./refusal.ts";
import type { SignatureVerifier } from "./signature.ts";
import {
  isWithinWindow,
  readSignedHead,
  type SignedHead,
} from "./signed_head.ts";

/** What of a request is looked at. */
export type AuthRequest = Pick<
  HttpRequest,
  "method" | "target" | "headers" | "body"
>;

/** What came of a request. */
export type AuthOutcome =
  /** It is let in. */
  | {
    readonly kind: "ok";
    /** Who asks. */
    readonly caller: Caller;
    /** The body whose bytes were signed. */
    readonly body: Uint8Array<ArrayBuffer>;
  }
  /** It is not; see `refusalResponse()`. */
  | Refusal
  /** Its body could not be taken in; there was nothing to check. */
  | { readonly kind: "no_body"; readonly body: FailedBody };

/** What became of a body that is not there. */
export type FailedBody = Exclude<BodyOutcome, { readonly kind: "ok" }>;

/** Options of {@linkcode Authenticator}. */
export interface AuthenticatorOptions {
  /** Says what the time is. */
  readonly clock: Clock;
  /** Checks signatures. */
  readonly signatures: SignatureVerifier;
  /**
   * Remembers what was let in. It has to remember for at least twice the window;
   * see {@linkcode nonceTtlMs}.
   */
  readonly nonces: Nonces;
  /** Finds accounts. */
  readonly accounts: AccountResolver;
  /**
   * Milliseconds that the client's clock may be off, either way.
   *
   * @default {300000}
   */
  readonly windowMs?: number;
  /**
   * Most bytes of a body.
   *
   * @default {2097152}
   */
  readonly maxBodyBytes?: number;
  /**
   * Whether the oldest released SDK is served, whose requests have neither nonce
   * nor account. What it sends as `x-delegate-key` is its private key; nothing
   * here reads that field.
   *
   * @default {false}
   */
  readonly isLegacyAllowed?: boolean;
}

/** What was read of a request. */
interface Received {
  readonly head: SignedHead;
  readonly bytes: Uint8Array;
}

/** Milliseconds that a nonce is remembered at least. */
const LEAST_NONCE_TTL_MS = 600_000;

/**
 * How long claims have to be remembered: from the earliest moment a request can
 * come, a window before the time it names, to the latest, a window after it.
 */
export function nonceTtlMs(windowMs: number): number {
  return Math.max(LEAST_NONCE_TTL_MS, 2 * windowMs) + 1_000;
}

/** Checks signed requests. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #windowMs: number;
  readonly #maxBodyBytes: number;

  /** One that is ready. */
  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#windowMs = options.windowMs ?? 300_000;
    this.#maxBodyBytes = options.maxBodyBytes ?? 2_097_152;
  }

  /** Checks a request, of which nobody has asked for the body before. */
  async authenticate(request: AuthRequest): Promise<AuthOutcome> {
    const read = readSignedHead(request.headers, {
      nowMs: this.#options.clock.nowMs(),
      windowMs: this.#windowMs,
      isLegacyAllowed: this.#options.isLegacyAllowed ?? false,
    });
    if (read.kind === "refused") return read;
    const body = await request.body(this.#maxBodyBytes);
    if (body.kind !== "ok") return { kind: "no_body", body };
    const admitted = await this.#admit(request, {
      head: read.head,
      bytes: body.bytes,
    });
    return admitted.kind === "ok"
      ? { kind: "ok", caller: admitted.caller, body: body.bytes }
      : admitted;
  }

  async #admit(
    request: AuthRequest,
    received: Received,
  ): Promise<Refusal | { readonly kind: "ok"; readonly caller: Caller }> {
    const { clock, signatures, nonces, accounts } = this.#options;
    const { head } = received;
    const { publicKey, signature, nonce } = head;
    const text = signedText(request, received);
    const message = new TextEncoder().encode(text);
    if (!signatures.verify({ publicKey, message, signature })) {
      return refusal("ERR_SIGNATURE");
    }
    // Once more: a body that trickles in must not carry a repetition beyond the
    // time that its nonce is remembered.
    const window = { nowMs: clock.nowMs(), windowMs: this.#windowMs };
    if (!isWithinWindow(head.timestampMs, window)) {
      return refusal("ERR_TIMESTAMP_OUT_OF_BOUNDS");
    }
    // Without a nonce it is the text that must not come again. A signature could
    // be written in another way, the text cannot.
    const claimed = nonces.claim(publicKey, nonce?.toLowerCase() ?? text);
    if (claimed.kind === "seen") return refusal("ERR_REPLAY");
    if (claimed.kind === "full") return refusal("AUTH_NONCES_EXHAUSTED");
    const resolved = await accounts.resolve(publicKey, head.accountId);
    // A request that came to nothing may come again, as a proxy may send it; and
    // who has no account does not fill what is remembered for those who have.
    if (resolved.kind === "ok") claimed.claim.keep();
    else claimed.claim.release();
    return resolved;
  }
}

function signedText(request: AuthRequest, received: Received): string {
  const { head, bytes } = received;
  const { timestamp, nonce, accountHeader } = head;
  const parts = {
    timestamp,
    method: request.method,
    target: request.target,
    bodyDigest: createHash("sha256").update(bytes).digest("hex"),
  };
  return nonce === undefined
    ? legacyCanonicalRequest(parts)
    : canonicalRequest({ ...parts, nonce, accountId: accountHeader });
}
