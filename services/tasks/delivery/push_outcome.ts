/**
 * The outcomes of a push call, and how errors of the network become one.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { LookupError } from "./address_guard.ts";
import type { ExchangeResult, PushPhase } from "./push_exchange.ts";
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
  readonly retryAfterMs?: number | undefined;
  /** How long the worker wants to hold the task, in milliseconds. */
  readonly leaseMs?: number | undefined;
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
type PushFailureCode =
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

/** The outcome of a push call. */
export type PushOutcome = PushAnswer | PushRefusal | PushFailure;

/** An exchange without an answer. */
export type FailedExchange = Exclude<
  ExchangeResult,
  { readonly kind: "answered" }
>;

/** The call that failed. */
interface FailedCall {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Milliseconds from the call's begin to its failure. */
  readonly durationMs: number;
  /** The time-out in milliseconds, when it is what ended the call. */
  readonly timeoutMs?: number | undefined;
}

const WAITED_FOR: Readonly<Record<PushPhase, string>> = {
  connect: "no connection",
  handshake: "no TLS handshake",
  exchange: "no answer",
  body: "no end of the answer",
};

/** Faults of the answer that the HTTP parser or its bounds report. */
const ANSWER_CODE = /^(HPE_|ANSWER_TOO_LONG$)/;

/** Tells why there is no answer. */
export function failureOf(
  result: FailedExchange,
  call: FailedCall,
): PushFailure | PushRefusal {
  if (result.kind === "aborted") return abortOf(result.phase, call);
  const { error, phase } = result;
  if (error instanceof LookupError) {
    const { message } = error;
    return error.code === "ADDRESS_REFUSED"
      ? { kind: "refused", code: "address_not_public", reason: message }
      : {
        kind: "failed",
        code: "dns_failed",
        message,
        durationMs: call.durationMs,
      };
  }
  const code = codeOf(error);
  const why = reasonOf(error, code);
  if (ANSWER_CODE.test(code)) {
    return failure("bad_answer", {
      ...call,
      why: `the answer can't be read: ${why}`,
    });
  }
  return phase === "handshake"
    ? failure("tls_failed", { ...call, why: `TLS failed: ${why}` })
    : failure("connection_failed", {
      ...call,
      why: `${WAITED_FOR[phase]}: ${why}`,
    });
}

function abortOf(phase: PushPhase, call: FailedCall): PushFailure {
  const { timeoutMs } = call;
  return timeoutMs === undefined
    ? failure("canceled", { ...call, why: "the call was canceled" })
    : failure("timed_out", {
      ...call,
      why: `${WAITED_FOR[phase]} within ${timeoutMs} ms`,
    });
}

function failure(
  code: PushFailureCode,
  call: FailedCall & { readonly why: string },
): PushFailure {
  const message = `Cannot call ${quote(call.origin)}: ${call.why}`;
  return { kind: "failed", code, message, durationMs: call.durationMs };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The error in words; its text may come from the other end. */
function reasonOf(error: unknown, code: string): string {
  // Several addresses were tried: the error of the first is reported.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const text = quote(describeError(first));
  return code === "" ? text : `${text} (${code})`;
}
