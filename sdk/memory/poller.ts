/**
 * Decides when a waiting client asks for the status of jobs again, how long one
 * request may take, and when the wait is over.
 *
 * @module
 */

import { throwIfEnded } from "./life.ts";
import { pause, steadyMs } from "./client_clock.ts";
import type { ClientParts } from "./client_parts.ts";
import type { MemError } from "./errors.ts";
import type { WaitOptions } from "./remember_types.ts";

const TOO_MANY_REQUESTS = 429;
/** Longest time for which relayers delay an answer. */
const MAX_WAIT_SECONDS = 20;
/**
 * Part of a request's timeout that is left for the answer to arrive, after the
 * relayer has delayed it.
 */
const WAIT_MARGIN_MS = 2_000;
/** Time that is left for the last request; of a short wait it is a quarter. */
const LAST_LOOK_MS = 1_000;
/** The pause grows by this factor each time, up to the longest one. */
const GROWTH = 1.5;
const MAX_DELAY_MS = 5_000;
const MIN_JITTER = 0.75;
const JITTER_SPAN = 0.5;
/** The shortest first pause that a caller may ask for. */
const MIN_INTERVAL_MS = 100;
/** The first pause when the caller gives none. */
const DEFAULT_INTERVAL_MS = 1_500;

/** Options of {@linkcode Poller}. */
interface PollerOptions extends WaitOptions {
  /** Timeout of the wait in milliseconds when the caller gives none. */
  readonly defaultTimeoutMs: number;
  /** Whether the relayer can delay answers until a job's status changes. */
  readonly canAwaitStatus: boolean;
}

/** The schedule of one wait for jobs. */
export class Poller {
  /** Timeout of the whole wait in milliseconds. */
  readonly timeoutMs: number;
  readonly #parts: ClientParts;
  readonly #canAwaitStatus: boolean;
  readonly #baseMs: number;
  readonly #endMs: number;
  #lookedAtMs: number;
  #looks = 1;
  #retryAfterMs = 0;
  #wasLimited = false;

  /** Creates the schedule of a wait that begins now. */
  constructor(parts: ClientParts, options: PollerOptions) {
    const { canAwaitStatus, timeoutMs, defaultTimeoutMs } = options;
    this.#parts = parts;
    this.#canAwaitStatus = canAwaitStatus;
    this.timeoutMs = timeoutMs !== undefined && timeoutMs > 0
      ? timeoutMs
      : defaultTimeoutMs;
    // A relayer that delays its answers is asked again soon after one: the job
    // is then nearly done.
    this.#baseMs = intervalMs(
      options.pollIntervalMs,
      canAwaitStatus ? MIN_INTERVAL_MS : DEFAULT_INTERVAL_MS,
    );
    this.#lookedAtMs = steadyMs(parts.clock);
    this.#endMs = this.#lookedAtMs + this.timeoutMs;
  }

  /**
   * Whether the relayer refused a request for the status because of a rate
   * limit.
   */
  get wasLimited(): boolean {
    return this.#wasLimited;
  }

  /** Timeout of the next request for the status in milliseconds. */
  get lookTimeoutMs(): number {
    const leftMs = this.#endMs - steadyMs(this.#parts.clock);
    return Math.max(1, Math.min(this.#parts.requestTimeoutMs, leftMs));
  }

  /**
   * Seconds for which the relayer may delay the next answer; 0 for not at all.
   */
  get waitSeconds(): number {
    if (!this.#canAwaitStatus) return 0;
    const seconds = Math.floor((this.lookTimeoutMs - WAIT_MARGIN_MS) / 1_000);
    return Math.max(0, Math.min(MAX_WAIT_SECONDS, seconds));
  }

  /** Notes that a request for the status failed with an error that passes. */
  note(trouble: MemError): void {
    this.#wasLimited ||= trouble.status === TOO_MANY_REQUESTS;
    this.#retryAfterMs = (trouble.retryAfterSeconds ?? 0) * 1_000;
  }

  /**
   * Waits until it is time for the next request; the time that the last request
   * took counts towards the pause. Returns true when there is a next request,
   * false when the wait is over.
   *
   * @throws {unknown} When the client is destroyed.
   */
  async next(): Promise<boolean> {
    const { clock, random, signal } = this.#parts;
    const delayMs = this.#delayMs(steadyMs(clock), random());
    if (delayMs === undefined) return false;
    if (delayMs > 0) await pause(delayMs, { clock, signal });
    throwIfEnded(signal);
    this.#looks++;
    this.#retryAfterMs = 0;
    this.#lookedAtMs = steadyMs(clock);
    return true;
  }

  /**
   * Returns the pause before the next request in milliseconds; undefined when
   * the wait is over. The last request is made early enough for its answer to
   * arrive in time.
   */
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
 * Returns the milliseconds before request number `attempt` + 1, where the first
 * request is number 1: the pause grows by half each time up to 5 s, or up to
 * the first pause when that is longer. Then it is changed by up to a quarter at
 * random, so that clients that began together do not ask at the same time.
 */
function usualDelayMs(attempt: number, baseMs: number, random: number): number {
  const grown = Math.min(
    baseMs * GROWTH ** (attempt - 1),
    Math.max(MAX_DELAY_MS, baseMs),
  );
  return grown * (MIN_JITTER + JITTER_SPAN * random);
}

/**
 * Returns the caller's first pause, or the default when the caller gives no
 * valid one.
 */
function intervalMs(givenMs: number | undefined, defaultMs: number): number {
  return givenMs === undefined || !Number.isFinite(givenMs)
    ? defaultMs
    : Math.max(MIN_INTERVAL_MS, givenMs);
}
