/**
 * Why a request is not let in: a status for the client's code, and a word for
 * the person who looks for the fault, in the header `x-auth-error`.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";

/** Why, in one word. */
type RefusalCode =
  /** Key, signature or timestamp is not there. */
  | "ERR_MISSING_HEADERS"
  /** A field that must be single was sent more than once. */
  | "ERR_REPEATED_HEADERS"
  /** There is no nonce: a client older than this protocol. */
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
  /** The signature is not that key's for this request. */
  | "ERR_SIGNATURE"
  /** The same request was let in before. */
  | "ERR_REPLAY"
  /** There is no such account, or none for the key. */
  | "ERR_ACCOUNT_UNKNOWN"
  /** Its owner has switched the account off. */
  | "ERR_ACCOUNT_INACTIVE"
  /** The key may not speak for the account, or no longer. */
  | "ERR_KEY_NOT_DELEGATE"
  /** The ledger does not answer. */
  | "AUTH_UPSTREAM_UNAVAILABLE"
  /** No more nonces can be remembered for now. */
  | "AUTH_NONCES_EXHAUSTED";

/** A request that is not let in. */
export interface Refusal {
  /** What it is. */
  readonly kind: "refused";
  /** The status to answer with. */
  readonly status: 401 | 426 | 503;
  /** The word for the header `x-auth-error`. */
  readonly code: RefusalCode;
  /**
   * What happened, for the log.
   *
   * @default what the code says
   */
  readonly reason?: string | undefined;
}

/** Seconds after which a client may try what failed for no fault of its own. */
const RETRY_AFTER_SECONDS = 5;

/** A refusal whose status follows from its code. */
export function refusal(code: RefusalCode, reason?: string): Refusal {
  return { kind: "refused", status: statusOf(code), code, reason };
}

function statusOf(code: RefusalCode): Refusal["status"] {
  if (code === "ERR_CLIENT_TOO_OLD") return 426;
  return code.startsWith("AUTH_") ? 503 : 401;
}

/** The answer to a request that is not let in. */
export function refusalResponse(refusal: Refusal): HttpResponse {
  const { status, code } = refusal;
  const fields = { "cache-control": "no-store", "x-auth-error": code };
  const headers = status === 503
    ? { ...fields, "retry-after": String(RETRY_AFTER_SECONDS) }
    : fields;
  return { status, headers, body: "" };
}

/** Options of {@linkcode RefusalDelay}. */
interface RefusalDelayOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Milliseconds that an answer is held back.
   *
   * @default {100}
   */
  readonly delayMs?: number;
  /**
   * Most answers that are held back at a time; the next ones go at once.
   *
   * @default {1000}
   */
  readonly maxHeld?: number;
}

/**
 * Holds refusals back for a moment, so that guessing is slow. There is a bound on
 * how many: a flood is not to fill the memory with answers that wait.
 */
export class RefusalDelay {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #maxHeld: number;
  readonly #held = new Map<() => void, Timer>();

  /** Nothing is held back yet. */
  constructor(options: RefusalDelayOptions) {
    this.#clock = options.clock;
    this.#delayMs = options.delayMs ?? 100;
    this.#maxHeld = options.maxHeld ?? 1_000;
  }

  /** How many answers are held back. */
  get held(): number {
    return this.#held.size;
  }

  /** Resolves when the answer may go. */
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

  /** Lets everything go that is held back; a server that stops calls it. */
  releaseAll(): void {
    for (const [release, timer] of [...this.#held]) {
      timer.cancel();
      release();
    }
  }
}
