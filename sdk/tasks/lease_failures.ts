/**
 * Decides what follows a failed request for tasks. The status alone tells
 * little: a proxy answers 404 or 401 as well while a service is replaced.
 *
 * @module
 */

import { type ClientClock, steadyMs } from "../memory/client_clock.ts";
import { TasksError, type TasksErrorCode } from "./tasks_error.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** The longest pause that is made because of `Retry-After`. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** The service's codes for a request that is wrong in itself. */
const FINAL_CODES: readonly TasksErrorCode[] = [
  "malformed_json",
  "bad_header",
  "invalid",
];

/**
 * The service's codes for a caller, worker or tenant that it does not know or
 * does not serve. These end by themselves when a backup is restored, a key is
 * replaced, or a tenant is resumed.
 */
const REFUSAL_CODES: readonly TasksErrorCode[] = [
  "missing_credentials",
  "invalid_credentials",
  "token_expired",
  "forbidden",
  "tenant_suspended",
  "not_found",
  "tenant_not_found",
];

/** The failed requests of one loop that asks for tasks. */
export class LeaseFailures {
  readonly #clock: ClientClock;
  readonly #refusedForMs: number;
  #inRow = 0;
  #refusedSinceMs: number | undefined;

  /** Begins without failures. */
  constructor({ clock, refusedForMs }: {
    /** Tells the time. */
    readonly clock: ClientClock;
    /** Milliseconds for which refusals of the service are tried again. */
    readonly refusedForMs: number;
  }) {
    this.#clock = clock;
    this.#refusedForMs = refusedForMs;
  }

  /** Whether the last request failed. */
  get hasFailed(): boolean {
    return this.#inRow > 0;
  }

  /** Notes that a request succeeded. */
  clear(): void {
    this.#inRow = 0;
    this.#refusedSinceMs = undefined;
  }

  /**
   * Notes a failure. Returns the milliseconds until the next request, or
   * undefined when no further request can succeed.
   */
  add(error: unknown): number | undefined {
    if (this.#isFinal(error)) return undefined;
    const longestMs = Math.min(
      FIRST_PAUSE_MS * 2 ** this.#inRow++,
      LONGEST_PAUSE_MS,
    );
    const retryAfterMs = error instanceof TasksError
      ? error.retryAfterMs
      : undefined;
    return retryAfterMs === undefined
      ? longestMs * (0.5 + Math.random() / 2)
      : Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS);
  }

  #isFinal(error: unknown): boolean {
    // Only a problem document of the service has one of these codes.
    const code = error instanceof TasksError ? error.code : undefined;
    if (code !== undefined && FINAL_CODES.includes(code)) return true;
    if (code === undefined || !REFUSAL_CODES.includes(code)) {
      this.#refusedSinceMs = undefined;
      return false;
    }
    const nowMs = steadyMs(this.#clock);
    this.#refusedSinceMs ??= nowMs;
    return nowMs - this.#refusedSinceMs >= this.#refusedForMs;
  }
}
