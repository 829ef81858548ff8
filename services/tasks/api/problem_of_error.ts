/**
 * What a failure of the service is to its clients.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { StoreBusyError } from "../store/store.ts";
import { problem, type ProblemAnswer } from "./http/problem_answer.ts";

/** The problem of a request whose handler failed; what went wrong is logged. */
export function problemOfError(
  error: unknown,
  { requestId, logger }: {
    readonly requestId: string;
    readonly logger: Logger;
  },
): ProblemAnswer {
  if (error instanceof StoreBusyError) {
    return problem("overloaded", {
      detail: "Cannot write: too much waits to be written already",
      retryAfterMs: error.retryAfterMs,
    });
  }
  logger.error("Cannot answer request: the handler failed", {
    request: requestId,
    error: error instanceof Error
      ? error.stack ?? error.message
      : String(error),
  });
  return problem("internal");
}
