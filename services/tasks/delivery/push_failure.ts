/**
 * Calls that were not made or got no answer, and why.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { LookupError } from "./address_guard.ts";
import type { TargetRefusalCode } from "./call_rules.ts";

/** The phase that a call has reached. */
export type PushPhase = "connect" | "handshake" | "exchange" | "body";

/** A call that was not made, because it is not allowed. */
export interface PushRefusal {
  /** Nothing was sent. */
  readonly kind: "refused";
  /** The reason, for programs. */
  readonly code: TargetRefusalCode | "bad_header" | "bad_method";
  /** The reason, as a message without secrets. */
  readonly reason: string;
}

/** The codes of failures of a call that was allowed. */
type PushFailureCode =
  | "dns_failed"
  | "connection_failed"
  | "tls_failed"
  | "bad_answer"
  | "timed_out"
  | "canceled";

/** A call without a complete answer. */
export interface PushFailure {
  /**
   * The network, the worker's server or the caller of this call is the cause.
   */
  readonly kind: "failed";
  /** The reason, for programs. */
  readonly code: PushFailureCode;
  /** The reason, as a message without the path and query of the URL. */
  readonly message: string;
  /** Milliseconds from the start of the call to its failure. */
  readonly durationMs: number;
}

/** An exchange without an answer. */
export type FailedExchange =
  | {
    readonly kind: "failed";
    /** The error of the network or the protocol. */
    readonly error: unknown;
    /** The phase in which the error occurred. */
    readonly phase: PushPhase;
  }
  | {
    /** The signal was aborted before the answer was complete. */
    readonly kind: "aborted";
    /** The phase that the call had reached. */
    readonly phase: PushPhase;
  };

/** The call that failed. */
interface FailedCall {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Milliseconds from the start of the call to its failure. */
  readonly durationMs: number;
  /** The timeout in milliseconds, when it ended the call. */
  readonly timeoutMs?: number | undefined;
}

const WAITED_FOR: Readonly<Record<PushPhase, string>> = {
  connect: "no connection",
  handshake: "no TLS handshake",
  exchange: "no answer",
  body: "no end of the answer",
};

/**
 * The codes of faulty answers, from the HTTP parser or from the size limits.
 */
const ANSWER_CODE = /^(HPE_|ANSWER_TOO_LONG$)/;

/** Turns an exchange without an answer into a failure with code and message. */
export function toFailure(
  result: FailedExchange,
  call: FailedCall,
): PushFailure | PushRefusal {
  if (result.kind === "aborted") return toAbortFailure(result.phase, call);
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
  const code = getErrorCode(error);
  const why = describeReason(error, code);
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

function toAbortFailure(phase: PushPhase, call: FailedCall): PushFailure {
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

/** The code of an error of the network or the protocol; empty without one. */
export function getErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/**
 * Describes an error in words. Its text may come from the other end, so it is
 * quoted.
 */
function describeReason(error: unknown, code: string): string {
  // When several addresses were tried, the first error is reported.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const text = quote(describeError(first));
  return code === "" ? text : `${text} (${code})`;
}
