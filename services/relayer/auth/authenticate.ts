/**
 * Authenticates signed requests. The order of the checks is part of the
 * protocol: the head, the body's size, the signature, and only then anything
 * that leaves a trace, so that unsigned requests can neither fill memory nor
 * use up a nonce.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { BodyOutcome, HttpRequest } from "../../shared/http/exchange.ts";
import { describeError, settle } from "../../shared/settled.ts";
import type { AccountOutcome, Ledger } from "../ledger/ledger.ts";
import { normalizeLedgerId } from "../ledger/ledger_id.ts";
import type { Nonces } from "./nonces.ts";
import { type Refusal, refusal } from "./refusal.ts";
import {
  canonicalRequest,
  isWithinWindow,
  readSignedHead,
  type SignatureVerifier,
  type SignedHead,
} from "./signed_request.ts";
import type { TokenGrant } from "./token_claims.ts";

/** A client whose signature or access token is valid for an account. */
export interface Caller {
  /** The account object's id. */
  readonly accountId: string;
  /**
   * The owner's address; everything that the caller stores is kept under it.
   */
  readonly owner: string;
  /** The delegate's public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /**
   * What the caller's access token permits.
   *
   * @default undefined the caller signed, or is not bounded otherwise
   */
  readonly grant?: TokenGrant | undefined;
}

/** The outcome of finding an account. */
type ResolveOutcome =
  | { readonly kind: "ok"; readonly caller: Caller }
  | Refusal;

/** Options of {@linkcode AccountResolver}. */
interface AccountResolverOptions {
  /** Reads the accounts. */
  readonly ledger: Ledger;
  /** Measures the time. */
  readonly clock: Clock;
}

/** Most keys whose account is remembered. */
const MAX_KEYS = 100_000;
/** How long a key's account is remembered, in milliseconds: a day. */
const REMEMBER_MS = 86_400_000;

interface Remembered {
  readonly accountId: string;
  readonly untilMs: number;
}

/**
 * Finds a key's account and checks that the key is one of the account's
 * delegates. Only the account's id is remembered; whether the key still is a
 * delegate is read from the ledger for each request, so a removed key is
 * refused from the next request on.
 */
export class AccountResolver {
  readonly #options: AccountResolverOptions;
  readonly #accounts = new BoundedMap<string, Remembered>({
    maxEntries: MAX_KEYS,
  });

  /** Makes a resolver that remembers no accounts yet. */
  constructor(options: AccountResolverOptions) {
    this.#options = options;
  }

  /**
   * Finds the account of a key whose signature is valid: the account that the
   * request names, or else the one the key belongs to.
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
    const id = normalizeLedgerId(accountId);
    // Anyone can make keys and sign with them, so those that no account is
    // known to trust must not use up the calls of those that one does.
    const asker = this.#accounts.get(publicKey)?.accountId === id
      ? "owner"
      : "newcomer";
    const outcome = this.#judge(
      publicKey,
      await ask(() => ledger.account(accountId, asker)),
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
    // Checked first: a caller whose key is not a delegate must not learn
    // anything about the account.
    if (!delegateKeys.some((key) => key.publicKey === publicKey)) {
      return refusal("ERR_KEY_NOT_DELEGATE");
    }
    if (!isActive) return refusal("ERR_ACCOUNT_INACTIVE");
    const untilMs = this.#options.clock.nowMs() + REMEMBER_MS;
    this.#accounts.set(publicKey, { accountId, untilMs });
    return { kind: "ok", caller: { accountId, owner, publicKey } };
  }
}

/** Reads an account; a ledger that throws counts as unavailable. */
async function ask(
  read: () => Promise<AccountOutcome>,
): Promise<AccountOutcome> {
  const settled = await settle(read);
  return settled.kind === "ok"
    ? settled.value
    : { kind: "unavailable", reason: describeError(settled.error) };
}

/** The parts of a request that authentication reads. */
interface AuthRequest
  extends Pick<HttpRequest, "method" | "target" | "headers" | "body"> {
  /** Most bytes of a body. */
  readonly maxBodyBytes: number;
  /**
   * Whether the request changes nothing.
   *
   * @default {false} GET and HEAD requests count as read-only in any case
   */
  readonly onlyReads?: boolean | undefined;
  /**
   * Decides whether an authentic request is taken, by the caller's limits for
   * example. The nonce of one that is not taken may be used again, so that it
   * fills neither the memory for nonces nor the disk.
   *
   * @default all are taken
   */
  readonly takes?:
    | ((caller: Caller, body: Uint8Array<ArrayBuffer>) => boolean)
    | undefined;
}

/** The outcome of authenticating a request. */
type AuthOutcome =
  /** The request is authentic. */
  | {
    readonly kind: "ok";
    /** The caller that signed. */
    readonly caller: Caller;
    /** The body; its bytes were part of what was signed. */
    readonly body: Uint8Array<ArrayBuffer>;
    /**
     * Resolves with the refusal where another instance has taken the request
     * before. It has to be awaited before anything is changed or answered;
     * rejects when the store does not answer.
     *
     * @default undefined nothing is left to be found out
     */
    readonly late?: LateRefusal | undefined;
  }
  /** The request is authentic, and was not taken. */
  | { readonly kind: "not_taken" }
  /** The request is refused; `refusalResponse()` makes the answer. */
  | Refusal
  /** The body could not be read, so there was nothing to check. */
  | {
    readonly kind: "no_body";
    readonly body: Exclude<BodyOutcome, { readonly kind: "ok" }>;
  };

/** What is known of a request only when the store has answered. */
export type LateRefusal = Promise<Refusal | undefined>;

type AdmitOutcome =
  | (Extract<ResolveOutcome, { readonly kind: "ok" }> & {
    readonly late?: LateRefusal;
  })
  | Refusal
  | { readonly kind: "not_taken" };

/** Options of {@linkcode Authenticator}. */
interface AuthenticatorOptions {
  /** The time. */
  readonly clock: Clock;
  /** Checks signatures. */
  readonly signatures: SignatureVerifier;
  /**
   * Remembers nonces of accepted requests, for at least twice the window; see
   * {@linkcode nonceTtlMs}.
   */
  readonly nonces: Nonces;
  /** Finds the account of a key. */
  readonly accounts: AccountResolver;
  /** Milliseconds that the client's clock may be off, either way. */
  readonly windowMs: number;
  /**
   * Whether the oldest released SDK is accepted, whose requests have neither
   * nonce nor account. Its header `x-delegate-key` is the client's private key;
   * nothing here reads it.
   */
  readonly isLegacyAllowed: boolean;
}

/** The shortest time that a nonce is remembered, in milliseconds. */
const LEAST_NONCE_TTL_MS = 600_000;

/**
 * Returns how long nonces have to be remembered, in milliseconds: from the
 * earliest moment a request can arrive, one window before its timestamp, to the
 * latest, one window after it.
 */
export function nonceTtlMs(windowMs: number): number {
  return Math.max(LEAST_NONCE_TTL_MS, 2 * windowMs) + 1_000;
}

/** Authenticates signed requests. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;

  /** Makes an authenticator. */
  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Authenticates a request whose body was not read yet. */
  async authenticate(request: AuthRequest): Promise<AuthOutcome> {
    const outcome = await this.#authenticate(request);
    const isLegacy = this.#options.isLegacyAllowed &&
      request.headers.get("x-nonce") === undefined;
    return outcome.kind === "refused" && isLegacy
      ? { ...outcome, isLegacy }
      : outcome;
  }

  async #authenticate(request: AuthRequest): Promise<AuthOutcome> {
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
      ? { ...admitted, body: body.bytes }
      : admitted;
  }

  async #admit(
    request: AuthRequest,
    head: SignedHead,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<AdmitOutcome> {
    const { clock, signatures, nonces, accounts, windowMs } = this.#options;
    const { publicKey, signature, nonce } = head;
    const text = signedText(request, head, bytes);
    const message = new TextEncoder().encode(text);
    if (!signatures.verify({ publicKey, message, signature })) {
      return refusal("ERR_SIGNATURE");
    }
    // Checked again after the body was read: a body that arrives slowly must
    // not let a replay through after its nonce was forgotten.
    const nowMs = clock.nowMs();
    if (!isWithinWindow(head.timestampMs, { nowMs, windowMs })) {
      return refusal("ERR_TIMESTAMP_OUT_OF_BOUNDS");
    }
    const { method, onlyReads = false } = request;
    const isReading = onlyReads || method === "GET" || method === "HEAD";
    // The oldest client signs the same text for the same call within a second.
    // A repeated one that reads only reads again.
    if (nonce === undefined && isReading) {
      return await this.#reading(request, head, bytes);
    }
    // Without a nonce, the signed text itself must not be repeated. The same
    // signature can be written in several ways, the text cannot.
    const claimed = nonces.claim(publicKey, nonce?.toLowerCase() ?? text);
    if (claimed.kind === "seen") return refusal("ERR_REPLAY");
    if (claimed.kind === "full") return refusal("AUTH_NONCES_EXHAUSTED");
    const resolved = await accounts.resolve(publicKey, head.accountId);
    // A refused request may be sent again, as proxies do; and callers without
    // an account must not fill the memory for nonces of those that have one.
    if (resolved.kind !== "ok") {
      claimed.claim.release();
      return resolved;
    }
    if (request.takes?.(resolved.caller, bytes) === false) {
      claimed.claim.release();
      return { kind: "not_taken" };
    }
    // A replay of a read-only request only reads again, so its nonce need not
    // reach the disk at once; a killed process may forget it.
    const late = claimed.claim.keep({ canWait: isReading })
      ?.then((isNew) => isNew ? undefined : refusal("ERR_REPLAY"));
    if (late === undefined) return resolved;
    if (!isReading) return await late ?? resolved;
    // It may fail before the handler waits for it.
    late.catch(() => {});
    return { ...resolved, late };
  }

  /** Admits a request that only reads and may be repeated. */
  async #reading(
    request: AuthRequest,
    { publicKey, accountId }: SignedHead,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<AdmitOutcome> {
    const { accounts } = this.#options;
    const resolved = await accounts.resolve(publicKey, accountId);
    const isTaken = resolved.kind !== "ok" ||
      request.takes?.(resolved.caller, bytes) !== false;
    return isTaken ? resolved : { kind: "not_taken" };
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
