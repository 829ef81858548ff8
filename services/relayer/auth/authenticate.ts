/**
 * Lets signed requests in. The order of what is checked is part of the protocol:
 * the head, the body's size, the signature, and only then anything that leaves a
 * trace, so that unsigned requests can neither fill memory nor burn a nonce.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { BodyOutcome, HttpRequest } from "../../shared/http/exchange.ts";
import { describeError, settle } from "../../shared/settled.ts";
import type { AccountOutcome, Ledger } from "../ledger/ledger.ts";
import type { Nonces } from "./nonces.ts";
import { type Refusal, refusal } from "./refusal.ts";
import {
  canonicalRequest,
  isWithinWindow,
  readSignedHead,
  type SignatureVerifier,
  type SignedHead,
} from "./signed_request.ts";

/** A client whose signature was checked against an account. */
export interface Caller {
  /** The account object's id. */
  readonly accountId: string;
  /** The owner's address: what is kept is kept by it. */
  readonly owner: string;
  /** The delegate's public key, 64 hexadecimal digits. */
  readonly publicKey: string;
}

/** The outcome of finding an account. */
type ResolveOutcome =
  | { readonly kind: "ok"; readonly caller: Caller }
  | Refusal;

/** Options of {@linkcode AccountResolver}. */
interface AccountResolverOptions {
  /** Has the accounts. */
  readonly ledger: Ledger;
  /** Measures the time. */
  readonly clock: Clock;
}

/** Most keys whose account is remembered. */
const MAX_KEYS = 100_000;
/** How long a key's account is remembered. */
const REMEMBER_MS = 86_400_000;

interface Remembered {
  readonly accountId: string;
  readonly untilMs: number;
}

/**
 * Finds accounts and checks that the key may speak for them. Which account a key
 * named last is remembered; whether it still may is asked of the ledger each
 * time, so a key is out with the request after it was removed.
 */
export class AccountResolver {
  readonly #options: AccountResolverOptions;
  readonly #accounts = new BoundedMap<string, Remembered>({
    maxEntries: MAX_KEYS,
  });

  /** Remembers nothing yet. */
  constructor(options: AccountResolverOptions) {
    this.#options = options;
  }

  /**
   * The caller with a key whose signature was checked, and the account that the
   * signed request names.
   */
  async resolve(
    publicKey: string,
    accountId: string | undefined,
  ): Promise<ResolveOutcome> {
    const { ledger, clock } = this.#options;
    if (accountId !== undefined) return await this.#check(publicKey, accountId);
    const known = this.#accounts.get(publicKey);
    let first: Refusal | undefined;
    if (known !== undefined && clock.nowMs() < known.untilMs) {
      const outcome = await this.#check(publicKey, known.accountId);
      if (outcome.kind === "ok" || outcome.status === 503) return outcome;
      if (outcome.code !== "ERR_ACCOUNT_UNKNOWN") first = outcome;
    }
    const read = await ask(() => ledger.accountOfKey(publicKey));
    const outcome = this.#judge(publicKey, read);
    const isUnknown = outcome.kind !== "ok" &&
      outcome.code === "ERR_ACCOUNT_UNKNOWN";
    return isUnknown ? first ?? outcome : outcome;
  }

  async #check(publicKey: string, accountId: string): Promise<ResolveOutcome> {
    const { ledger } = this.#options;
    const outcome = this.#judge(
      publicKey,
      await ask(() => ledger.account(accountId)),
    );
    const known = this.#accounts.get(publicKey);
    if (
      outcome.kind === "refused" && outcome.status === 401 &&
      known?.accountId === accountId
    ) {
      this.#accounts.delete(publicKey);
    }
    return outcome;
  }

  #judge(publicKey: string, read: AccountOutcome): ResolveOutcome {
    if (read.kind === "unavailable") {
      return refusal("AUTH_UPSTREAM_UNAVAILABLE", read.reason);
    }
    if (read.kind === "missing") return refusal("ERR_ACCOUNT_UNKNOWN");
    const { accountId, owner, isActive, delegateKeys } = read.account;
    // Before anything else is said of the account: whose key it is not is not
    // told how it stands with it.
    if (!delegateKeys.some((key) => key.publicKey === publicKey)) {
      return refusal("ERR_KEY_NOT_DELEGATE");
    }
    if (!isActive) return refusal("ERR_ACCOUNT_INACTIVE");
    const untilMs = this.#options.clock.nowMs() + REMEMBER_MS;
    this.#accounts.set(publicKey, { accountId, untilMs });
    return { kind: "ok", caller: { accountId, owner, publicKey } };
  }
}

/** A ledger that fails is one that does not answer. */
async function ask(
  read: () => Promise<AccountOutcome>,
): Promise<AccountOutcome> {
  const settled = await settle(read);
  return settled.kind === "ok"
    ? settled.value
    : { kind: "unavailable", reason: describeError(settled.error) };
}

/** What of a request is looked at. */
interface AuthRequest
  extends Pick<HttpRequest, "method" | "target" | "headers" | "body"> {
  /** Most bytes of a body. */
  readonly maxBodyBytes: number;
  /**
   * Whether it changes nothing.
   *
   * @default {false} for GET and HEAD it is so whatever stands here
   */
  readonly onlyReads?: boolean | undefined;
}

/** The outcome of a request. */
type AuthOutcome =
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
  | {
    readonly kind: "no_body";
    readonly body: Exclude<BodyOutcome, { readonly kind: "ok" }>;
  };

/** Options of {@linkcode Authenticator}. */
interface AuthenticatorOptions {
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
  /** Milliseconds that the client's clock may be off, either way. */
  readonly windowMs: number;
  /**
   * Whether the oldest released SDK is served, whose requests have neither nonce
   * nor account. What it sends as `x-delegate-key` is its private key; nothing
   * here reads that field.
   */
  readonly isLegacyAllowed: boolean;
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

  /** One that is ready. */
  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Checks a request whose body was not read yet. */
  async authenticate(request: AuthRequest): Promise<AuthOutcome> {
    const { clock, windowMs, isLegacyAllowed } = this.#options;
    const read = readSignedHead(request.headers, {
      nowMs: clock.nowMs(),
      windowMs,
      isLegacyAllowed,
    });
    if (read.kind === "refused") return read;
    const body = await request.body(request.maxBodyBytes);
    if (body.kind !== "ok") return { kind: "no_body", body };
    const admitted = await this.#admit(request, read.head, body.bytes);
    return admitted.kind === "ok"
      ? { kind: "ok", caller: admitted.caller, body: body.bytes }
      : admitted;
  }

  async #admit(
    request: AuthRequest,
    head: SignedHead,
    bytes: Uint8Array,
  ): Promise<ResolveOutcome> {
    const { clock, signatures, nonces, accounts, windowMs } = this.#options;
    const { publicKey, signature, nonce } = head;
    const text = signedText(request, head, bytes);
    const message = new TextEncoder().encode(text);
    if (!signatures.verify({ publicKey, message, signature })) {
      return refusal("ERR_SIGNATURE");
    }
    // Once more: a body that trickles in must not carry a repetition beyond the
    // time that its nonce is remembered.
    const nowMs = clock.nowMs();
    if (!isWithinWindow(head.timestampMs, { nowMs, windowMs })) {
      return refusal("ERR_TIMESTAMP_OUT_OF_BOUNDS");
    }
    // Without a nonce it is the text that must not come again. A signature could
    // be written in another way, the text cannot.
    const claimed = nonces.claim(publicKey, nonce?.toLowerCase() ?? text);
    if (claimed.kind === "seen") return refusal("ERR_REPLAY");
    if (claimed.kind === "full") return refusal("AUTH_NONCES_EXHAUSTED");
    const resolved = await accounts.resolve(publicKey, head.accountId);
    // A request that was not let in may be sent again, as proxies do; and
    // who has no account does not fill what is remembered for those who have.
    if (resolved.kind === "ok") {
      // What a repetition of these would do is read once more, should the process
      // be killed in that moment.
      const { method, onlyReads = false } = request;
      const canWait = onlyReads || method === "GET" || method === "HEAD";
      claimed.claim.keep({ canWait });
    } else claimed.claim.release();
    return resolved;
  }
}

function signedText(
  request: AuthRequest,
  head: SignedHead,
  bytes: Uint8Array,
): string {
  const { timestamp, nonce, accountHeader: accountId } = head;
  const { method, target } = request;
  const bodyDigest = createHash("sha256").update(bytes).digest("hex");
  const parts = { timestamp, method, target, bodyDigest, nonce, accountId };
  return canonicalRequest(parts);
}
