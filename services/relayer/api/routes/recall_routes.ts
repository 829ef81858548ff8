/**
 * The route that finds memories by a text, and answers that other routes with a
 * recall share.
 *
 * @module
 */

import { steadyMs } from "../../../shared/clock.ts";
import {
  cappedCount,
  cappedPositive,
  MAX_MODEL_TEXT_BYTES,
  members,
  METADATA,
  NAMESPACE,
  ORDERING_FIELDS,
  RANKING_FIELDS,
  RECORD_ID,
  text,
  toOrdering,
} from "../body_schemas.ts";
import { optional, withDefault } from "../../../shared/schema/object.ts";
import { list } from "../../../shared/schema/composite.ts";
import { described } from "../../../shared/schema/schema.ts";
import type {
  RecalledMemory,
  RecallOutcome,
} from "../../recall/recall_request.ts";
import type { OwnerKeyFailure } from "../../vault/vault.ts";
import {
  type Answer,
  type JsonView,
  ok,
  refused,
  wireTime,
} from "../answer.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import { signedPost } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import type { SignedRoute } from "../route.ts";
import { OPENS } from "../token_rule.ts";

/** A memory with its text, as clients see it. */
export function recalledView(memory: RecalledMemory): JsonView {
  const { id, blobId, text = "", distance, score, metadata = {} } = memory;
  const { relevance, explanation } = memory;
  return {
    id,
    blob_id: blobId,
    text,
    distance,
    relevance: relevance === undefined ? undefined : rounded(relevance),
    explanation: explanation === undefined ? undefined : {
      parts: Object.fromEntries(
        Object.entries(explanation.parts)
          .map(([name, value]) => [name, rounded(value)]),
      ),
      matched: explanation.matched,
    },
    created_at: wireTime(memory.createdAtMs),
    score,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  };
}

/** Rounds to four decimals: further ones say nothing. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Most memories of an answer; a higher limit counts as this one. */
export const MAX_RECALL_LIMIT = 100;

/**
 * Most memories of an answer when the request names neither a limit nor ids.
 */
export const DEFAULT_RECALL_LIMIT = 10;

/**
 * The longest that a recall may take, in milliseconds, whatever deadline the
 * client sets.
 */
export const MAX_RECALL_MS = 60_000;

const DEFAULT_RETRY_MS = 5_000;

const BY_WORDS = "found by words alone: the embedder's vectors do not have " +
  "the width that is set for them; GET /health tells which";

const RECALL = members({
  query: described(text(MAX_MODEL_TEXT_BYTES), "The question"),
  limit: optional(
    described(
      cappedCount(MAX_RECALL_LIMIT),
      `Most memories; ${MAX_RECALL_LIMIT} for any number above`,
    ),
  ),
  namespace: NAMESPACE,
  ...ORDERING_FIELDS,
  ...RANKING_FIELDS,
  filter: optional(
    described(METADATA, "Only memories whose metadata has these"),
  ),
  ids: optional(
    described(
      list(RECORD_ID, { minItems: 1, maxItems: MAX_RECALL_LIMIT }),
      "Only these memories",
    ),
  ),
  deadline_ms: withDefault(
    described(
      cappedPositive(MAX_RECALL_MS),
      "How long it may take, from when it was sent",
    ),
    MAX_RECALL_MS,
  ),
});

/**
 * The route of recall. An answer has a bound of bytes; the ids of memories that
 * did not fit are named, and the same recall with them as `ids` returns those.
 */
export function recallRoute({ recall, clock }: RelayerParts): SignedRoute {
  return signedPost("/api/recall", RECALL, {
    action: "recall",
    words: {
      id: "recall",
      tag: "recall",
      summary: "Find memories by a question",
      description:
        "`limit` is 10 unless said otherwise, or the number of `ids`.",
      sent: { query: "What does Ada drink?", limit: 5, ranking: "fused" },
      answer: memoryAnswer("Recalled"),
      means: "The memories, best first",
      others: { ...LOCKED_WORDS, 504: "`deadline_ms` was over" },
    },
    token: OPENS,
    namespacesOf: ({ namespace }) => [namespace],
    onlyReads: true,
    async answer({ caller, arrivedMs, signal, pausing }, body) {
      const { query, limit, namespace, filter, ids, deadline_ms } = body;
      const { ranking, explain } = body;
      // The client's deadline counts from when the request was sent, so the
      // time since its arrival is subtracted.
      const passedMs = steadyMs(clock) - arrivedMs;
      if (passedMs >= deadline_ms) {
        return timeoutAnswer({ stage: "auth", elapsedMs: passedMs });
      }
      const outcome = await recall.recall({
        owner: caller.owner,
        query,
        limit: limit ?? ids?.length ?? DEFAULT_RECALL_LIMIT,
        namespace,
        ordering: toOrdering(body),
        deadlineMs: deadline_ms - passedMs,
        ...{ signal, pausing, filter, ids, ranking, explain },
      });
      if (outcome.kind !== "ok") return recallRefusal(outcome, { passedMs });
      const { memories, dropped, omittedIds, readBytes } = outcome;
      const { isByWords, isPartial } = outcome;
      const json = {
        results: memories.map(recalledView),
        total: memories.length,
        dropped_count: dropped > 0 ? dropped : undefined,
        truncated: omittedIds.length > 0 ? true : undefined,
        omitted_ids: omittedIds.length > 0 ? omittedIds : undefined,
        partial: isPartial === true ? true : undefined,
        notice: isByWords === true ? BY_WORDS : undefined,
      };
      return { ...ok(json), readBytes };
    },
  });
}

/** The answer to a recall that failed. */
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
  if (outcome.kind === "locked") return lockedAnswer("recall", outcome.why);
  const { stage, elapsedMs } = outcome;
  return timeoutAnswer({ stage, elapsedMs: elapsedMs + passedMs });
}

/** What the document says of {@linkcode lockedAnswer}. */
export const LOCKED_WORDS = {
  403: "The key servers give no key: `SESSION_REQUIRED` or `KEY_REFUSED`",
};

/**
 * The answer when the key servers give no key of the owner.
 *
 * @param action What cannot be done, such as `recall`.
 */
export function lockedAnswer(action: string, why: OwnerKeyFailure): Answer {
  switch (why) {
    case "session_required": {
      const error =
        `Cannot ${action}: the memories are behind key servers; send a session ` +
        "that has not ended in x-seal-session";
      return { status: 403, json: { error, code: "SESSION_REQUIRED" } };
    }
    case "refused": {
      const error =
        `Cannot ${action}: the key servers refuse this caller; it needs to be ` +
        "the owner or one of its delegates";
      return { status: 403, json: { error, code: "KEY_REFUSED" } };
    }
    case "key_servers_away": {
      const answer = refused(
        503,
        `Cannot ${action}: too few key servers answer; try again later`,
        { retryAfterMs: DEFAULT_RETRY_MS },
      );
      const headers = {
        ...answer.headers,
        "x-auth-error": "KEY_SERVERS_UNAVAILABLE",
      };
      return { ...answer, headers };
    }
  }
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
