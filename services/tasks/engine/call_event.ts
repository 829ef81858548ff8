/**
 * What a push call is for its task.
 *
 * @module
 */

import { judgeAnswer, type PushVerdict } from "../delivery/push_answer.ts";
import type { PushOutcome } from "../delivery/push_outcome.ts";
import type { HttpFact, LeaseProof, TaskEvent } from "../domain/task_event.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import { keptResult } from "./result.ts";

/** A call that was made. */
export interface MadeCall {
  /** The proof of its lease. */
  readonly lease: LeaseProof;
  /** Takes the secrets it was given out; there are none if undefined. */
  readonly scrubber: Scrubber | undefined;
  /** Whether its receiver is one of callbacks, who holds no leases. */
  readonly isCallback: boolean;
}

/** The event that an outcome is for its task, without secrets. */
export function eventOfCall(outcome: PushOutcome, call: MadeCall): TaskEvent {
  const { lease, scrubber } = call;
  const verdict = verdictOf(outcome, call);
  const http: { readonly http?: HttpFact } = outcome.kind === "answered"
    ? { http: { status: outcome.status, durationMs: outcome.durationMs } }
    : {};
  const clean = (text: string): string => scrubber?.scrubText(text) ?? text;
  switch (verdict.kind) {
    case "accepted":
      return { kind: "accept", lease, leaseMs: verdict.leaseMs, ...http };
    case "succeeded":
      return {
        kind: "complete",
        lease,
        ...keptResult(verdict.result, {
          isTruncated: verdict.isTruncated,
          ...(scrubber === undefined ? {} : { scrubber }),
        }),
        ...http,
      };
    case "failed":
      return {
        kind: "fail",
        lease,
        failure: verdict.failure,
        message: clean(verdict.message),
        ...(verdict.detail === undefined
          ? {}
          : { detailJson: JSON.stringify(clean(verdict.detail)) }),
        ...(verdict.retryAfterMs === undefined
          ? {}
          : { retryAfterMs: verdict.retryAfterMs }),
        ...http,
      };
  }
}

/** What a call means that could not be made. */
export function failureEvent(
  lease: LeaseProof,
  { code, message }: { readonly code: string; readonly message: string },
): TaskEvent {
  return { kind: "fail", lease, failure: { code }, message };
}

function verdictOf(
  outcome: PushOutcome,
  { scrubber, isCallback }: MadeCall,
): PushVerdict {
  const verdict = judgeAnswer(withoutSecrets(outcome, scrubber));
  if (!isCallback || outcome.kind !== "answered") return verdict;
  const { status } = outcome;
  if (verdict.kind !== "failed" || status >= 200 && status <= 299) {
    // There is nothing to finish later for the receiver of a call at an end.
    return verdict.kind === "succeeded"
      ? verdict
      : { kind: "succeeded", result: null, isTruncated: false };
  }
  const words = `Cannot call back: the receiver answered ${status}`;
  const message = status >= 300 && status <= 399
    ? `${words}, and redirects are not followed; change the callback's URL`
    : words;
  return { ...verdict, message };
}

/**
 * What a worker says to a failure is cut when it is judged, and half a secret
 * would not be found any more.
 */
function withoutSecrets(
  outcome: PushOutcome,
  scrubber: Scrubber | undefined,
): PushOutcome {
  const isFailure = outcome.kind === "answered" &&
    (outcome.status < 200 || outcome.status > 299);
  return isFailure && scrubber !== undefined
    ? {
      ...outcome,
      bodyText: scrubber.scrubText(outcome.bodyText, {
        isCut: outcome.isTruncated,
      }),
    }
    : outcome;
}
