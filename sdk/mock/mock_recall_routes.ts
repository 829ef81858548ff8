/**
 * The mock's routes that find memories.
 *
 * @module
 */

import type { Metadata } from "../memory/remember_types.ts";
import {
  type MockAnswer,
  type MockCall,
  type MockHandlers,
  type MockParts,
  ok,
} from "./mock_exchange.ts";
import { Fields, MAX_MODEL_TEXT_BYTES } from "./mock_fields.ts";
import { fitting, type MockHit, orderingOf, search } from "./mock_search.ts";
import { unitOf, VECTOR_WIDTH, vectorOf } from "./mock_vectors.ts";
import { hitView, manualHitView } from "./mock_views.ts";

/** The handlers of these routes. */
type RecallHandlers = Pick<
  MockHandlers,
  | "POST /api/recall"
  | "POST /api/recall/manual"
  | "POST /api/ask"
  | "POST /api/embed"
>;

const MAX_RECALL = 100;
const DEFAULT_RECALL = 10;
const DEFAULT_ASK = 5;
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
      const fields = new Fields(body, { action: "embed text" });
      const text = fields.text("text", MAX_MODEL_TEXT_BYTES);
      return ok({ vector: vectorOf(text) });
    },
  };
}

function recall(parts: MockParts, { body }: MockCall): MockAnswer {
  const fields = new Fields(body, { action: "recall" });
  const query = fields.text("query", MAX_MODEL_TEXT_BYTES);
  const ids = fields.ids("ids", MAX_RECALL);
  // The mock answers at once, so every deadline is met and the value is only
  // checked.
  fields.number("deadline_ms", { min: Number.MIN_VALUE });
  const isExplained = fields.flag("explain");
  const hits = find(fields, {
    parts,
    vector: vectorOf(query),
    words: rankedWords(fields, query),
    limit: fields.count("limit", MAX_RECALL) ?? ids?.length ?? DEFAULT_RECALL,
    filter: fields.metadata("filter"),
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
  const fields = new Fields(body, { action: "recall" });
  const isWithData = fields.flag("include_data");
  // A question that the application embedded has no text, so words cannot rank
  // its results.
  fields.choice("ranking", ["semantic"]);
  const hits = find(fields, {
    parts,
    vector: unitOf(fields.vector("vector", VECTOR_WIDTH)),
    limit: fields.count("limit", MAX_RECALL) ?? DEFAULT_RECALL,
  });
  const results = hits.map((hit) => manualHitView(hit, { isWithData }));
  return ok({ results, total: results.length });
}

function ask(parts: MockParts, { body }: MockCall): MockAnswer {
  const fields = new Fields(body, { action: "answer question" });
  const question = fields.text("question", MAX_MODEL_TEXT_BYTES);
  const isExplained = fields.flag("explain");
  const used = find(fields, {
    parts,
    vector: vectorOf(question),
    words: rankedWords(fields, question),
    limit: fields.count("limit", MAX_RECALL) ?? DEFAULT_ASK,
  }).filter((hit) => isReadable(hit) && isOfUse(hit));
  const texts = used.map(({ row }) => row.memory.text ?? "");
  return ok({
    answer: parts.answer(question, texts),
    memories_used: used.length,
    memories: used.map((hit) => hitView(hit, { isExplained })),
  });
}

function find(
  fields: Fields,
  { parts: { store, clock }, vector, words, limit, filter, ids }: {
    readonly parts: MockParts;
    readonly vector: readonly number[];
    readonly words?: string | undefined;
    readonly limit: number;
    readonly filter?: Metadata | undefined;
    readonly ids?: readonly string[] | undefined;
  },
): readonly MockHit[] {
  return search(store.found(fields.namespace()), {
    ...{ vector, words, limit, filter, ids },
    ordering: orderingOf(fields),
    nowMs: clock.nowMs(),
  });
}

/**
 * Returns the text whose words are to rank the memories; undefined when vectors
 * alone rank them.
 */
function rankedWords(fields: Fields, text: string): string | undefined {
  const ranking = fields.choice("ranking", ["semantic", "fused"]);
  return ranking === "fused" ? text : undefined;
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
