/**
 * What a push call comes to.
 *
 * @module
 */

import type { TargetRefusalCode } from "./target.ts";

/** The whole answer of a worker has been read, or as much as is wanted of it. */
export interface PushAnswer {
  /** There is an answer, of any status. */
  readonly kind: "answered";
  /** The HTTP status. */
  readonly status: number;
  /** Those of its headers that matter, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text. */
  readonly bodyText: string;
  /** Whether the body was longer than what is kept of it. */
  readonly isTruncated: boolean;
  /** How long the worker wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
  /** How long the worker wants to hold the task, in milliseconds. */
  readonly leaseMs?: number;
  /** Whether the worker said that another try is useless. */
  readonly isFinal: boolean;
  /** Milliseconds from the call's begin to the answer's end. */
  readonly durationMs: number;
}

/** The call was not made, since it is not allowed. */
export interface PushRefusal {
  /** Nothing was sent. */
  readonly kind: "refused";
  /** Why, for programs. */
  readonly code: TargetRefusalCode | "bad_header" | "bad_method";
  /** Why, as a message that holds no secret. */
  readonly reason: string;
}

/** What can go wrong with a call that was allowed. */
export type PushFailureCode =
  | "dns_failed"
  | "connection_failed"
  | "tls_failed"
  | "bad_answer"
  | "timed_out"
  | "canceled";

/** There is no answer, or not all of it. */
export interface PushFailure {
  /** The network, the worker's server or the caller of this call is why. */
  readonly kind: "failed";
  /** Why, for programs. */
  readonly code: PushFailureCode;
  /** Why, as a message that holds nothing of the URL's path and query. */
  readonly message: string;
  /** Milliseconds from the call's begin to its failure. */
  readonly durationMs: number;
}

/** What a push call comes to. */
export type PushOutcome = PushAnswer | PushRefusal | PushFailure;
