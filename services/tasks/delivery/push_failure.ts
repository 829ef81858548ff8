/**
 * What an exchange that failed is called, and how it is told.
 *
 * @module
 */

import { describeError } from "../../shared/settled.ts";
import { quote } from "../../shared/quote.ts";
import { LookupError } from "./guarded_lookup.ts";
import type { ExchangeResult, PushPhase } from "./push_exchange.ts";
import type {
  PushFailure,
  PushFailureCode,
  PushRefusal,
} from "./push_outcome.ts";

/** An exchange without an answer. */
export type FailedExchange = Exclude<
  ExchangeResult,
  { readonly kind: "answered" }
>;

/** The call that failed. */
export interface FailedCall {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Milliseconds from the call's begin to its failure. */
  readonly durationMs: number;
  /** The time-out in milliseconds, when it is what ended the call. */
  readonly timeoutMs?: number;
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
  // Several addresses were tried: the first stands for all of them.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const text = quote(describeError(first));
  return code === "" ? text : `${text} (${code})`;
}
