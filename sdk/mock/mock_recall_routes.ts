/**
 * The mock's routes that find memories.
 *
 * @module
 */

import {
  type MockAnswer,
  type MockCall,
  type MockHandlers,
  type MockParts,
  ok,
} from "./mock_exchange.ts";
import { readBody, Refusal } from "./mock_bodies.ts";
import {
  fitting,
  type MockHit,
  type MockQuery,
  type OrderingFields,
  readOrdering,
  search,
} from "./mock_search.ts";
import { computeVector, toUnitVector } from "./mock_vectors.ts";
import { hitView, manualHitView } from "./mock_views.ts";
import { LIMITS } from "./relayer_routes.ts";

/** The handlers of these routes. */
type RecallHandlers = Pick<
  MockHandlers,
  | "POST /api/recall"
  | "POST /api/recall/manual"
  | "POST /api/ask"
  | "POST /api/embed"
>;

/**
 * Largest distance of a memory that answers a question. A memory at a larger
 * distance shares no significant word with the question.
 */
const MAX_ANSWER_DISTANCE = 0.95;

/** Creates the handlers. */
export function recallRoutes(parts: MockParts): RecallHandlers {
  return {
    "POST /api/recall": (call) => recall(parts, call),
    "POST /api/recall/manual": (call) => recallManual(parts, call),
    "POST /api/ask": (call) => ask(parts, call),
    "POST /api/embed": ({ body }) => {
      const { text } = readBody("POST /api/embed", body, {
        action: "embed text",
      });
      return ok({ vector: computeVector(text) });
    },
  };
}

function recall(parts: MockParts, { body }: MockCall): MockAnswer {
  // The mock answers at once, so every deadline is met.
  const asked = readBody("POST /api/recall", body, { action: "recall" });
  const { query, ids, filter, explain: isExplained = false } = asked;
  const hits = find(asked, {
    parts,
    vector: computeVector(query),
    words: asked.ranking === "fused" ? query : undefined,
    limit: asked.limit ?? ids?.length ?? LIMITS.defaultRecall,
    filter,
    ids,
  });
  const readable = hits.filter(isReadable);
  const { shown, omitted } = fitting(readable, parts.maxAnswerBytes);
  const dropped = hits.length - readable.length;
  return ok({
    results: shown.map((hit) => hitView(hit, { isExplained })),
    total: shown.length,
    dropped_count: dropped > 0 ? dropped : undefined,
    truncated: omitted.length > 0 ? true : undefined,
    omitted_ids: omitted.length > 0
      ? omitted.map(({ row }) => row.memory.id)
      : undefined,
  });
}

function recallManual(parts: MockParts, { body }: MockCall): MockAnswer {
  const asked = readBody("POST /api/recall/manual", body, { action: "recall" });
  const { vector, limit, include_data: isWithData } = asked;
  if (asked.ranking === "fused") {
    throw new Refusal(
      400,
      'Cannot recall: "ranking": a vector has no words that could rank',
    );
  }
  const hits = find(asked, { parts, vector: toUnitVector(vector), limit });
  const results = hits.map((hit) => manualHitView(hit, { isWithData }));
  return ok({ results, total: results.length });
}

function ask(parts: MockParts, { body }: MockCall): MockAnswer {
  const asked = readBody("POST /api/ask", body, { action: "answer question" });
  const { question, limit, explain: isExplained = false } = asked;
  const used = find(asked, {
    parts,
    vector: computeVector(question),
    words: asked.ranking === "fused" ? question : undefined,
    limit,
  }).filter((hit) => isReadable(hit) && isOfUse(hit));
  const texts = used.map(({ row }) => row.memory.text ?? "");
  return ok({
    answer: parts.answer(question, texts),
    memories_used: used.length,
    memories: used.map((hit) => hitView(hit, { isExplained })),
  });
}

function find(
  asked: OrderingFields & { readonly namespace: string },
  { parts: { store, clock }, limit, ...query }:
    & Omit<MockQuery, "ordering" | "nowMs">
    & { readonly parts: MockParts },
): readonly MockHit[] {
  return search(store.found(asked.namespace), {
    ...query,
    limit: Math.min(limit, LIMITS.recall),
    ordering: readOrdering(asked),
    nowMs: clock.nowMs(),
  });
}

function isOfUse({ distance, rank }: MockHit): boolean {
  return distance < MAX_ANSWER_DISTANCE || (rank?.matched.length ?? 0) > 0;
}

/**
 * Tells whether a memory has a text; a memory that the application encrypted
 * has none.
 */
function isReadable({ row }: MockHit): boolean {
  return row.memory.text !== undefined;
}
