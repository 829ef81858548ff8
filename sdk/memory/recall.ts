/**
 * Finds memories.
 *
 * @module
 */

import {
  readArray,
  readOptionalBoolean,
  readOptionalNumber,
  readStrings,
} from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import {
  readRecallArguments,
  type RecallArguments,
  type RecallQuestion,
} from "./recall_forms.ts";
import { readRecallMemory } from "./recall_memory.ts";
import type { RecallMemory, RecallResult } from "./recall_types.ts";
import { applyTokenBudget } from "./token_budget.ts";

/** What the relayer keeps back of the deadline, so that its answer arrives. */
const ANSWER_MARGIN_MS = 1_000;

/**
 * Finds memories by a question in plain words. The forms it may be written in
 * are those of {@linkcode readRecallArguments}.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemRequestTimeout} When it takes longer than it may.
 * @throws {MemError} When the relayer refuses.
 */
export async function recall(
  parts: ClientParts,
  args: RecallArguments,
): Promise<RecallResult> {
  const question = readRecallArguments(args);
  const timeoutMs = timeoutOf(question.timeoutMs, parts.recallTimeoutMs);
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/recall",
    body: {
      query: question.query,
      limit: question.limit,
      namespace: question.namespace ?? parts.namespace,
      deadline_ms: Number.isFinite(timeoutMs)
        ? Math.max(1, Math.floor(timeoutMs - ANSWER_MARGIN_MS))
        : undefined,
      sort: question.sort,
      scoring_weights: question.scoringWeights,
      filter: question.filter,
      ids: question.ids,
    },
    timeoutMs,
  });
  const memories = readArray(json, "results").map(readRecallMemory);
  const dropped = readOptionalNumber(json, "dropped_count") ?? 0;
  return {
    ...selectionOf(memories, {
      question,
      total: readOptionalNumber(json, "total") ?? memories.length,
    }),
    ...(dropped > 0 ? { dropped_count: dropped } : {}),
    ...(readOptionalBoolean(json, "truncated") === true
      ? { truncated: true, omitted_ids: readStrings(json, "omitted_ids") }
      : {}),
  };
}

/** Applies what the relayer knows nothing of. */
function selectionOf(
  memories: readonly RecallMemory[],
  { question, total }: {
    readonly question: RecallQuestion;
    readonly total: number;
  },
): RecallResult {
  const { maxDistance, maxTokens } = question;
  const near = maxDistance === undefined
    ? memories
    : memories.filter(({ distance }) => distance < maxDistance);
  if (maxTokens === undefined) {
    return {
      results: near,
      total: near.length === memories.length ? total : near.length,
    };
  }
  const { results, meta } = applyTokenBudget(near, {
    maxTokens,
    strategy: question.truncationStrategy,
    countTokens: question.countTokens,
  });
  return {
    results,
    total: results.length === memories.length ? total : results.length,
    meta,
  };
}

/** 0 means without an end; what is no deadline stands for the client's. */
function timeoutOf(timeoutMs: number | undefined, clientMs: number): number {
  if (timeoutMs === 0) return Infinity;
  return timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : clientMs;
}
