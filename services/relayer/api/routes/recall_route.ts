/**
 * Memories are found by a text.
 *
 * @module
 */

import type { RecallOutcome } from "../../recall/recall_request.ts";
import { type Answer, ok, refused } from "../answer.ts";
import { list, optional, withDefault } from "../checks/check.ts";
import {
  metadata,
  namespace,
  orderingChecks,
  orderingOf,
} from "../checks/memory_checks.ts";
import { cappedCount, cappedPositive } from "../checks/number_checks.ts";
import { MAX_MODEL_TEXT_BYTES, recordId, text } from "../checks/text_checks.ts";
import { nowOf } from "../elapsed.ts";
import { given } from "../given.ts";
import { readFields } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_BODY_BYTES, type SignedRoute } from "../route.ts";
import { recalledView } from "../views/recall_view.ts";

/** Most memories of an answer; more are not given, whatever is asked for. */
export const MAX_RECALL_LIMIT = 100;

/** Memories of an answer when the request names neither a number nor ids. */
export const DEFAULT_RECALL_LIMIT = 10;

/** The longest that a recall may take, whatever the client's deadline is. */
export const MAX_RECALL_MS = 60_000;

const DEFAULT_RETRY_MS = 5_000;

const CHECKS = {
  query: text(MAX_MODEL_TEXT_BYTES),
  limit: optional(cappedCount(MAX_RECALL_LIMIT)),
  namespace,
  ...orderingChecks,
  filter: optional(metadata),
  ids: optional(list(recordId, { minItems: 1, maxItems: MAX_RECALL_LIMIT })),
  deadline_ms: withDefault(cappedPositive(MAX_RECALL_MS), MAX_RECALL_MS),
};

/**
 * The route. An answer has a bound of bytes; ids that there was no room for are
 * named, and the same recall with those as `ids` gives them.
 */
export function recallRoute(
  { recall, clock }: Pick<RelayerParts, "recall" | "clock">,
): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/recall",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ caller, body, arrivedMs, signal, pausing }) {
      const read = readFields(body, CHECKS, { action: "recall" });
      if (read.kind === "refused") return read.answer;
      const { query, limit, namespace, filter, ids, deadline_ms } = read.value;
      // The client counts from when it sent the request.
      const passedMs = nowOf(clock) - arrivedMs;
      if (passedMs >= deadline_ms) {
        return timeoutAnswer({ stage: "auth", elapsedMs: passedMs });
      }
      const outcome = await recall.recall({
        owner: caller.owner,
        query,
        limit: limit ?? ids?.length ?? DEFAULT_RECALL_LIMIT,
        namespace,
        ordering: orderingOf(read.value),
        deadlineMs: deadline_ms - passedMs,
        signal,
        pausing,
        ...given({ filter, ids }),
      });
      if (outcome.kind !== "ok") return recallRefusal(outcome, { passedMs });
      const { memories, dropped, omittedIds, readBytes } = outcome;
      const json = {
        results: memories.map(recalledView),
        total: memories.length,
        ...(dropped > 0 ? { dropped_count: dropped } : {}),
        ...(omittedIds.length > 0
          ? { truncated: true, omitted_ids: omittedIds }
          : {}),
      };
      return { ...ok(json), readBytes };
    },
  };
}

/** The answer to a recall that came to nothing. */
export function recallRefusal(
  outcome: Exclude<RecallOutcome, { readonly kind: "ok" }>,
  { passedMs = 0 }: { readonly passedMs?: number } = {},
): Answer {
  if (outcome.kind === "unavailable") {
    return refused(
      503,
      "Cannot recall: a part of the relayer does not answer",
      {
        retryAfterMs: outcome.retryAfterMs ?? DEFAULT_RETRY_MS,
      },
    );
  }
  const { stage, elapsedMs } = outcome;
  return timeoutAnswer({ stage, elapsedMs: elapsedMs + passedMs });
}

function timeoutAnswer(
  { stage, elapsedMs }: { readonly stage: string; readonly elapsedMs: number },
): Answer {
  const elapsed = Math.round(elapsedMs);
  const error = `Cannot recall: the deadline was over after ${elapsed} ms`;
  return {
    status: 504,
    json: {
      error,
      message: error,
      code: "RECALL_TIMEOUT",
      stage,
      elapsed_ms: elapsed,
    },
  };
}
