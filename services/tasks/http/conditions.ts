/**
 * The conditions of requests as answers: go on, or 304, 400 or 412.
 *
 * @module
 */

import { type Answer, empty } from "./answer.ts";
import type { CallContext } from "./call.ts";
import {
  checkChange,
  checkRead,
  type ConditionOutcome,
  type Conditions,
} from "./etag.ts";
import { problem } from "./problem_answer.ts";

/** The headers of a call. */
export type ConditionHeaders = Pick<CallContext, "header">;

/** What to answer a call that reads, if not the thing itself. */
export function answerOfRead(
  call: ConditionHeaders,
  etag: string,
): Answer | undefined {
  return answerOf(checkRead(conditionsOf(call), etag), etag);
}

/** What to answer a call that changes a thing, if it may not go on. */
export function answerOfChange(
  call: ConditionHeaders,
  etag: string,
): Answer | undefined {
  return answerOf(checkChange(conditionsOf(call), etag), etag);
}

function conditionsOf(call: ConditionHeaders): Conditions {
  return {
    ifMatch: call.header("if-match"),
    ifNoneMatch: call.header("if-none-match"),
  };
}

function answerOf(
  outcome: ConditionOutcome,
  etag: string,
): Answer | undefined {
  switch (outcome.kind) {
    case "ok":
      return undefined;
    case "not_modified":
      return empty({ status: 304, headers: { etag } });
    case "failed":
      return problem("precondition_failed", {
        detail: "Cannot go on: it is not of the version that the request " +
          "asks for; read it again",
      });
    case "malformed":
      return problem("bad_header", {
        detail: `Cannot read header "${outcome.header}": it is no list of ` +
          'entity tags such as "5"',
        extensions: { header: outcome.header },
      });
  }
}
