/**
 * Has a question answered from memories.
 *
 * @module
 */

import { readArray, readCount, readString } from "./answer_reader.ts";
import type { AskOptions, AskResult } from "./analyze_types.ts";
import { optionalNumber, requireName, requireText } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import { readRecallMemory } from "./recall_memory.ts";
import { checkScoringWeights } from "./scoring_weights.ts";

const DEFAULT_LIMIT = 5;
/** A language model writes the answer, so it has a deadline of its own. */
const ASK_TIMEOUT_MS = 60_000;

/**
 * Has a question answered from the memories that fit it.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not do it.
 */
export async function ask(
  parts: ClientParts,
  question: string,
  options: AskOptions = {},
): Promise<AskResult> {
  const { namespace = parts.namespace, scoringWeights } = options;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/ask",
    body: {
      question: requireText(question, "question"),
      limit: optionalNumber(options.limit, "limit") ?? DEFAULT_LIMIT,
      namespace: requireName(namespace, "namespace"),
      scoring_weights: checkScoringWeights(scoringWeights),
    },
    timeoutMs: ASK_TIMEOUT_MS,
  });
  return {
    answer: readString(json, "answer"),
    memories_used: readCount(json, "memories_used"),
    memories: readArray(json, "memories").map(readRecallMemory),
  };
}
