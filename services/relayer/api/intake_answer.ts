/**
 * What is answered when texts are not taken in.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { AcceptOutcome } from "../jobs/intake.ts";
import { type Answer, refused } from "./answer.ts";

/** The answer to texts that were not accepted. */
export function intakeRefusal(
  outcome: Exclude<AcceptOutcome, { readonly kind: "accepted" }>,
): Answer {
  switch (outcome.kind) {
    case "key_reused":
      return refused(
        409,
        "Cannot remember: the idempotency key stood for something else before",
      );
    case "nothing_to_supersede":
      return refused(
        404,
        `Cannot supersede memory ${quote(outcome.id)}: there is none such`,
      );
    case "over_quota":
      return overQuota(outcome.quotaBytes);
    case "busy":
      return refused(503, "Cannot remember: too much is on its way already", {
        retryAfterMs: outcome.retryAfterMs,
      });
  }
}

/** The answer to whoever would have more than fits. */
export function overQuota(quotaBytes: number): Answer {
  return refused(
    402,
    `Cannot remember: the owner would have more than ${quotaBytes} bytes; ` +
      "delete memories to make room",
  );
}
