/**
 * Decides which failures are retried, when, and when retrying ends.
 *
 * @module
 */

/** Why an attempt failed. */
export interface Failure {
  /** The error's code, such as `timed_out`. */
  readonly code: string;
  /** The status of the answer, when there was one. */
  readonly httpStatus?: number | undefined;
  /** Whether the worker said that another try is useless. */
  readonly isFinal?: boolean | undefined;
}

/**
 * Answers that no repetition changes, Gone and Not Implemented: RFC 9110,
 * sections 15.5.11 and 15.6.2.
 */
const LASTING_STATUSES: readonly number[] = [410, 501];

/**
 * Reads a condition: a status such as `429` (a number or text), a class of them
 * such as `"5xx"`, or an error code such as `"timed_out"`. Returns the
 * condition in its one canonical form; undefined for anything else.
 */
export function parseRetryCondition(input: unknown): string | undefined {
  if (typeof input !== "string" && typeof input !== "number") return undefined;
  const text = String(input);
  if (/^[1-5]xx$/i.test(text)) return text.toLowerCase();
  return /^[1-5]\d\d$|^[a-z][a-z0-9_]{0,63}$/.test(text) ? text : undefined;
}

/**
 * Tells whether a failure is worth another try. A failure that the worker calls
 * final never is. Without conditions, all other failures are, except the
 * statuses 410 and 501. With conditions, a failure has to meet one of them, and
 * 410 and 501 have to be named themselves.
 */
function isRetryable(
  { code, httpStatus = 0, isFinal }: Failure,
  conditions: readonly string[] | undefined,
): boolean {
  if (isFinal) return false;
  const isLasting = LASTING_STATUSES.includes(httpStatus);
  if (conditions === undefined) return !isLasting;
  const statusClass = `${Math.floor(httpStatus / 100)}xx`;
  return conditions.includes(code) || conditions.includes(`${httpStatus}`) ||
    !isLasting && conditions.includes(statusClass);
}

/** How the delay grows from one retry to the next. */
export type Backoff =
  | { readonly kind: "fixed"; readonly intervalMs: number }
  /** Each delay is longer than the one before it by the length of the first. */
  | { readonly kind: "linear"; readonly intervalMs: number }
  /** Each delay is `factor` times the one before it. */
  | {
    readonly kind: "exponential";
    readonly intervalMs: number;
    readonly factor: number;
  }
  /** The delays one by one; the last one applies to all further retries. */
  | { readonly kind: "list"; readonly intervalsMs: readonly number[] };

/**
 * How a delay is randomized, so that runs that failed together are not tried
 * again together: not at all, over its second half, or over all of it.
 */
type Jitter = "none" | "equal" | "full";

/** When failed runs are tried again. */
export interface RetryPolicy {
  /** The most retries after the first try; no limit when absent. */
  readonly limit?: number | undefined;
  /** How the delay grows. */
  readonly backoff: Backoff;
  /** The longest delay, before jitter shortens it; no limit when absent. */
  readonly maxIntervalMs?: number | undefined;
  /** How the delay is randomized. */
  readonly jitter: Jitter;
  /**
   * How many milliseconds after the first try a retry may begin; no limit when
   * absent.
   */
  readonly forMs?: number | undefined;
  /**
   * Which failures are retried, in the form of {@linkcode parseRetryCondition};
   * when absent, all but final ones and the statuses 410 and 501.
   */
  readonly on?: readonly string[] | undefined;
}

/** What is known about a failure. */
interface NextRetryOptions {
  /** Retries of this run so far; 0 when the first try failed. */
  readonly retries: number;
  /** When the attempt failed, in milliseconds since the epoch. */
  readonly failedAtMs: number;
  /** When the run was tried first, in milliseconds since the epoch. */
  readonly firstTriedAtMs: number;
  /** Why it failed. */
  readonly failure: Failure;
  /**
   * How many milliseconds the worker asked to wait before the next try, as with
   * `Retry-After`.
   */
  readonly retryAfterMs?: number | undefined;
  /** Returns a random number from 0 to before 1. */
  readonly random: () => number;
}

/** What happens after a failure. */
export type RetryDecision =
  | {
    readonly kind: "retry";
    /** When to try again, in whole milliseconds since the epoch. */
    readonly atMs: number;
  }
  | {
    readonly kind: "stop";
    /**
     * Why there is no retry: the failure is not worth one, all retries are used
     * up, or the next one would begin too long after the first try.
     */
    readonly reason: "not_retryable" | "limit" | "for";
  };

/**
 * The longest wait that a worker can ask for, unless the policy's own delays
 * are longer.
 */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * Decides whether and when a failed attempt is retried. The delay counts from
 * the failure. A wait that the worker asked for can make the delay longer, up
 * to a day or the policy's longest delay, whichever is more; it never makes the
 * delay shorter.
 */
export function nextRetry(
  policy: RetryPolicy,
  options: NextRetryOptions,
): RetryDecision {
  if (!isRetryable(options.failure, policy.on)) {
    return { kind: "stop", reason: "not_retryable" };
  }
  if (options.retries >= (policy.limit ?? Infinity)) {
    return { kind: "stop", reason: "limit" };
  }
  const cappedMs = retryDelayMs(policy, options.retries);
  const delayMs = Math.max(
    spread(cappedMs, policy.jitter, options.random),
    Math.min(
      Math.max(0, options.retryAfterMs ?? 0),
      Math.max(MAX_RETRY_AFTER_MS, cappedMs),
    ),
  );
  const atMs = options.failedAtMs + Math.round(delayMs);
  return atMs > options.firstTriedAtMs + (policy.forMs ?? Infinity)
    ? { kind: "stop", reason: "for" }
    : { kind: "retry", atMs };
}

/**
 * The delay before a retry in milliseconds, before jitter shortens it.
 *
 * @param retries the number of retries before this one
 */
function retryDelayMs(policy: RetryPolicy, retries: number): number {
  return Math.min(
    rawDelayMs(policy.backoff, retries),
    policy.maxIntervalMs ?? LONGEST_DELAY_MS,
  );
}

/** Without a bound of its own, a growing delay stops at a hundred years. */
const LONGEST_DELAY_MS = 36_525 * 86_400_000;

function rawDelayMs(backoff: Backoff, retries: number): number {
  switch (backoff.kind) {
    case "fixed":
      return backoff.intervalMs;
    case "linear":
      return backoff.intervalMs * (retries + 1);
    case "exponential":
      return backoff.intervalMs === 0
        ? 0
        : backoff.intervalMs * backoff.factor ** retries;
    case "list":
      return backoff.intervalsMs[retries] ?? backoff.intervalsMs.at(-1) ?? 0;
  }
}

function spread(delayMs: number, jitter: Jitter, random: () => number): number {
  switch (jitter) {
    case "none":
      return delayMs;
    case "equal":
      return delayMs / 2 + random() * delayMs / 2;
    case "full":
      return random() * delayMs;
  }
}
