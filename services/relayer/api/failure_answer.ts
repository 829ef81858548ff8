/**
 * What is answered when something fails that nobody is to blame for: nothing of
 * its content, and a number to find it in the log by.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import { StoreBusyError } from "../store/store.ts";
import { type Answer, refused } from "./answer.ts";

/** Where a route failed. */
export interface RouteFailureContext extends FailureContext {
  /** Hears of failures of the storage, and logs what there is to say of them. */
  readonly storage: Pick<StorageWatch, "note">;
}

/** Where something failed. */
export interface FailureContext {
  /** Hears of it. */
  readonly logger: Logger;
  /** The route's method and pattern: paths may hold what no log should. */
  readonly route: string;
}

/** When to come again where nobody said. */
const DEFAULT_RETRY_MS = 5_000;

/** The answer to a request whose route threw. */
export function failureAnswer(
  error: unknown,
  context: RouteFailureContext,
): Answer {
  if (error instanceof StoreBusyError) {
    return refused(503, "Cannot answer: too much waits to be written", {
      retryAfterMs: error.retryAfterMs,
    });
  }
  const { logger, route, storage } = context;
  // A line for each request would take what room is left on a full disk.
  if (storage.note(error)) {
    return refused(
      503,
      "Cannot answer: the storage failed; if something was to be written, " +
        "whether it was is not known",
      { retryAfterMs: DEFAULT_RETRY_MS },
    );
  }
  const traceId = crypto.randomUUID().replaceAll("-", "");
  if (error instanceof BlobStoreError && error.isPassing) {
    logger.warn("Cannot answer request: the blob store failed", {
      trace: traceId,
      route,
      error: error.message,
    });
    return traced(
      refused(503, "Cannot answer: the blob store does not answer", {
        retryAfterMs: error.retryAfterMs ?? DEFAULT_RETRY_MS,
      }),
      traceId,
    );
  }
  logger.error("Cannot answer request: the route failed", {
    trace: traceId,
    route,
    error: error instanceof Error ? error.stack ?? error.message : `${error}`,
  });
  return traced(refused(500, "Cannot answer: the relayer failed"), traceId);
}

/** The answer when a part that is needed does not answer; the reason is logged. */
export function unavailableAnswer(
  error: string,
  { logger, route, reason, retryAfterMs = DEFAULT_RETRY_MS }:
    & FailureContext
    & {
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
    },
): Answer {
  const traceId = crypto.randomUUID().replaceAll("-", "");
  logger.warn("Cannot answer request: a part does not answer", {
    trace: traceId,
    route,
    reason,
  });
  return traced(refused(503, error, { retryAfterMs }), traceId);
}

function traced({ status, json, headers }: Answer, traceId: string): Answer {
  const body = typeof json === "object" ? { ...json } : {};
  return {
    status,
    json: { ...body, trace_id: traceId },
    headers: { ...headers, "x-trace-id": traceId },
  };
}
