/**
 * Error answers over HTTP as RFC 9457 problem details.
 *
 * @module
 */

import { STATUS_TEXT } from "@std/http/status";

/** What a problem answer says. */
interface ProblemOptions {
  /** The HTTP status code, 400 to 599. */
  readonly status: number;
  /**
   * A short summary of the kind of problem, the same each time it occurs.
   * @default the reason phrase of the status
   */
  readonly title?: string;
  /** What went wrong this time, for the person who reads it. */
  readonly detail?: string;
  /**
   * A URI that names the kind of problem.
   * @default "about:blank", which is not written out (RFC 9457, 3.1.1)
   */
  readonly type?: string;
  /**
   * Further headers of the answer.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Further members of the body; none of them replaces a standard one.
   * @default none
   */
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** The media type of a problem (RFC 9457, 3). */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";

// Statuses without a phrase are allowed, so the table is read as a sparse one.
const REASON_PHRASES: Readonly<Record<number, string | undefined>> =
  STATUS_TEXT;

/**
 * Makes an answer that says what went wrong.
 *
 * @throws {RangeError} when the status is not between 200 and 599
 */
export function problem(options: ProblemOptions): Response {
  const { status, detail, type } = options;
  const title = options.title ?? REASON_PHRASES[status];
  const body = {
    ...options.extensions,
    // JSON leaves undefined members out; naming them here keeps an extension
    // from taking the place of a standard member.
    type,
    title,
    status,
    detail,
  };
  const headers = new Headers(options.headers);
  headers.set("content-type", PROBLEM_MEDIA_TYPE);
  return new Response(JSON.stringify(body), { status, headers });
}
