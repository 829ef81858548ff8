/**
 * Keeps the time while jobs are waited for: when to look next, how long a look
 * may take, and when the wait is over.
 *
 * @module
 */

import { pause } from "./client_clock.ts";
import type { ClientParts } from "./client_parts.ts";
import type { MemError } from "./errors.ts";
import type { WaitOptions } from "./remember_types.ts";

const TOO_MANY_REQUESTS = 429;
/** The most that relayers hold an answer back. */
const MAX_WAIT_SECONDS = 20;
/** What of a request's time is not for holding the answer back. */
const WAIT_MARGIN_MS = 2_000;
/** What is kept for the last look; of a short wait it is a quarter. */
const LAST_LOOK_MS = 1_000;
/** A delay grows by half each time, up to the longest one. */
const GROWTH = 1.5;
const MAX_DELAY_MS = 5_000;
const MIN_JITTER = 0.75;
const JITTER_SPAN = 0.5;
/** The shortest first delay that a caller may ask for. */
const MIN_INTERVAL_MS = 100;
/** The first delay when the caller does not say. */
const DEFAULT_INTERVAL_MS = 1_500;

/** Options of {@linkcode Poller}. */
interface PollerOptions extends WaitOptions {
  /** How long to wait when the caller does not say, in milliseconds. */
  readonly defaultTimeoutMs: number;
  /** Whether the relayer can hold answers back until there is news. */
  readonly canAwaitStatus: boolean;
}

/** The time of one wait. */
export class Poller {
  /** Milliseconds of the whole wait. */
  readonly timeoutMs: number;
  readonly #parts: ClientParts;
  readonly #canAwaitStatus: boolean;
  readonly #baseMs: number;
  readonly #endMs: number;
  #lookedAtMs: number;
  #looks = 1;
  #retryAfterMs = 0;
  #wasLimited = false;

  /** A wait that begins now. */
  constructor(parts: ClientParts, options: PollerOptions) {
    const { canAwaitStatus, timeoutMs, defaultTimeoutMs } = options;
    this.#parts = parts;
    this.#canAwaitStatus = canAwaitStatus;
    this.timeoutMs = timeoutMs !== undefined && timeoutMs > 0
      ? timeoutMs
      : defaultTimeoutMs;
    // Who tells when there is news is asked soon after: little is left to do.
    this.#baseMs = intervalMs(
      options.pollIntervalMs,
      canAwaitStatus ? MIN_INTERVAL_MS : DEFAULT_INTERVAL_MS,
    );
    this.#lookedAtMs = parts.clock.nowMs();
    this.#endMs = this.#lookedAtMs + this.timeoutMs;
  }

  /** Whether the relayer took fewer looks than it was asked for. */
  get wasLimited(): boolean {
    return this.#wasLimited;
  }

  /** Milliseconds that a look may take. */
  get lookTimeoutMs(): number {
    const leftMs = this.#endMs - this.#parts.clock.nowMs();
    return Math.max(1, Math.min(this.#parts.requestTimeoutMs, leftMs));
  }

  /** Seconds that the relayer may hold an answer back; 0 for not at all. */
  get waitSeconds(): number {
    if (!this.#canAwaitStatus) return 0;
    const seconds = Math.floor((this.lookTimeoutMs - WAIT_MARGIN_MS) / 1_000);
    return Math.max(0, Math.min(MAX_WAIT_SECONDS, seconds));
  }

  /** Notes that a look met trouble that passes. */
  note(trouble: MemError): void {
    this.#wasLimited ||= trouble.status === TOO_MANY_REQUESTS;
    this.#retryAfterMs = (trouble.retryAfterSeconds ?? 0) * 1_000;
  }

  /**
   * Waits until it is time for the next look. Time that a look took counts. True
   * when there is one, false when the wait is over.
   *
   * @throws {unknown} When the client ends.
   */
  async next(): Promise<boolean> {
    const { clock, random, signal } = this.#parts;
    const delayMs = this.#delayMs(clock.nowMs(), random());
    if (delayMs === undefined) return false;
    if (delayMs > 0) await pause(delayMs, { clock, signal });
    signal.throwIfAborted();
    this.#looks++;
    this.#retryAfterMs = 0;
    this.#lookedAtMs = clock.nowMs();
    return true;
  }

  /** The last look is early enough for its answer to arrive in time. */
  #delayMs(nowMs: number, random: number): number | undefined {
    const usualMs = usualDelayMs(this.#looks, this.#baseMs, random) -
      (nowMs - this.#lookedAtMs);
    const delayMs = Math.max(usualMs, this.#retryAfterMs, 0);
    const lastLookMs = Math.min(LAST_LOOK_MS, this.timeoutMs / 4);
    const roomMs = this.#endMs - nowMs - lastLookMs;
    if (delayMs <= roomMs) return delayMs;
    const isUseful = roomMs >= MIN_INTERVAL_MS &&
      roomMs >= this.#retryAfterMs;
    return isUseful ? roomMs : undefined;
  }
}

/**
 * Milliseconds before look number `attempt` + 1, where the first look is number
 * 1: the delay grows by half each time up to 5 s, or up to the first one
 * when that is longer, and is then spread by a quarter to both sides, so that
 * clients that began together do not stay together.
 */
function usualDelayMs(attempt: number, baseMs: number, random: number): number {
  const grown = Math.min(
    baseMs * GROWTH ** (attempt - 1),
    Math.max(MAX_DELAY_MS, baseMs),
  );
  return grown * (MIN_JITTER + JITTER_SPAN * random);
}

/** The caller's first delay, or the usual one where it gives none that is one. */
function intervalMs(givenMs: number | undefined, defaultMs: number): number {
  return givenMs === undefined || !Number.isFinite(givenMs)
    ? defaultMs
    : Math.max(MIN_INTERVAL_MS, givenMs);
}
