/**
 * Which failures are worth another try.
 *
 * @module
 */

/** One kind of failure. */
export type RetryCondition =
  | {
    /** Answers whose status has this first digit. */
    readonly kind: "status_class";
    /** From 1 to 5. */
    readonly hundreds: number;
  }
  | {
    /** Answers of this status. */
    readonly kind: "status";
    /** From 100 to 599. */
    readonly status: number;
  }
  | {
    /** Errors of this code. */
    readonly kind: "code";
    /** Such as `timed_out`. */
    readonly code: string;
  };

/** Why an attempt failed. */
export interface Failure {
  /** The error's code, such as `timed_out`. */
  readonly code: string;
  /** The status of the answer, when there was one. */
  readonly httpStatus?: number;
  /** Whether the worker said that another try is useless. */
  readonly isFinal?: boolean;
}

/**
 * Answers that no repetition changes, Gone and Not Implemented: RFC 9110,
 * sections 15.5.11 and 15.6.2.
 */
const LASTING_STATUSES: readonly number[] = [410, 501];

/**
 * Reads a condition: a status such as `429` (a number or text), a class of them
 * such as `"5xx"`, or an error code such as `"timed_out"`; undefined when it is
 * none of these.
 */
export function parseRetryCondition(
  input: unknown,
): RetryCondition | undefined {
  if (typeof input === "number") return parseStatus(input);
  if (typeof input !== "string") return undefined;
  const hundreds = /^([1-5])xx$/i.exec(input)?.[1];
  if (hundreds !== undefined) {
    return { kind: "status_class", hundreds: Number(hundreds) };
  }
  if (/^\d{3}$/.test(input)) return parseStatus(Number(input));
  return /^[a-z][a-z0-9_]{0,63}$/.test(input)
    ? { kind: "code", code: input }
    : undefined;
}

/**
 * Tells whether a failure is worth another try. One that the worker calls final
 * never is. Without conditions all others are but 410 and 501; with conditions,
 * those that meet one of them, where 410 and 501 have to be named themselves.
 */
export function isRetryable(
  failure: Failure,
  conditions?: readonly RetryCondition[],
): boolean {
  if (failure.isFinal) return false;
  const status = failure.httpStatus ?? 0;
  const isLasting = LASTING_STATUSES.includes(status);
  if (conditions === undefined) return !isLasting;
  return conditions.some((condition) => {
    switch (condition.kind) {
      case "status_class":
        return !isLasting && Math.floor(status / 100) === condition.hundreds;
      case "status":
        return status === condition.status;
      case "code":
        return failure.code === condition.code;
    }
  });
}

function parseStatus(status: number): RetryCondition | undefined {
  return Number.isInteger(status) && status >= 100 && status <= 599
    ? { kind: "status", status }
    : undefined;
}
