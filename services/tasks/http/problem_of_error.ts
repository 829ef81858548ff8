/**
 * What a failure of the service is to its clients.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { SecretsError } from "../engine/secrets_error.ts";
import { StoreBusyError } from "../store/store.ts";
import { StoreFailedError } from "../../shared/store_failed_error.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** When another try is worth it; the disk may have room by then. */
const STORE_RETRY_MS = 5_000;

/** The same for secrets: somebody has to look for the key. */
const SECRETS_RETRY_MS = 60_000;

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
  if (error instanceof SecretsError) {
    logger.error("Cannot answer request: secrets cannot be opened", {
      request: requestId,
      error: error.message,
    });
    return problem("secrets_unavailable", {
      detail: "Cannot use secrets: no master key that is configured opens them",
      retryAfterMs: SECRETS_RETRY_MS,
    });
  }
  if (error instanceof StoreFailedError) {
    // Where it was called from says nothing about a disk that is full.
    logger.error("Cannot answer request: the store failed", {
      request: requestId,
      error: error.message,
    });
    return problem("store_unavailable", {
      detail: "Cannot answer: the store failed, so whether something was " +
        "written is not known",
      retryAfterMs: STORE_RETRY_MS,
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
