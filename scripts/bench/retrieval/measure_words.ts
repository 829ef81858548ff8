/**
 * Asks an index of words the questions of a corpus: BM25, to compare with.
 *
 * @module
 */

import { Postings } from "../../../services/relayer/recall/ranking/postings.ts";
import { finish } from "../../../services/relayer/concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../../../services/relayer/recall/ranking/memory_words.ts";
import { questionTerms } from "../../../services/relayer/recall/ranking/terms.ts";
import type { CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/** Indexes the words of each namespace by itself, and asks all questions. */
export function measureWords(
  namespaces: readonly CorpusNamespace[],
): MeasuredRetrieval {
  const found: Found[] = [];
  const latencies: number[] = [];
  let memoryCount = 0;
  let filledMs = 0;
  for (const { memories, questions } of namespaces) {
    const beginMs = performance.now();
    const postings = new Postings();
    for (const [createdAtMs, { id, text }] of memories.entries()) {
      const { terms } = finish(memoryWordsSteps(text));
      postings.put(id, { createdAtMs, terms });
    }
    filledMs += performance.now() - beginMs;
    memoryCount += memories.length;
    for (const { text, category, gold } of questions) {
      const askedMs = performance.now();
      const words = questionTerms(text, []);
      const { hits } = postings.search(words, { limit: Math.max(...CUTS) });
      latencies.push(performance.now() - askedMs);
      found.push({ category, gold, ranked: hits.map(({ id }) => id) });
    }
  }
  return {
    found,
    latenciesMs: Float64Array.from(latencies).sort(),
    memoriesPerSecond: memoryCount / Math.max(1, filledMs) * 1_000,
  };
}
