/**
 * Asks an index of words the questions of a corpus, without any vector.
 *
 * @module
 */

import { Postings } from "../../../services/relayer/recall/ranking/postings.ts";
import { termsOf } from "../../../services/relayer/recall/ranking/terms.ts";
import type { CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/**
 * Indexes all memories, each namespace by itself, and asks all questions. With
 * `isSpeech` each memory's neighbours count as said right before and after it;
 * without, it is plain BM25.
 */
export function measureWords(
  namespaces: readonly CorpusNamespace[],
  { isSpeech }: { readonly isSpeech: boolean },
): MeasuredRetrieval {
  const found: Found[] = [];
  const latencies: number[] = [];
  let memoryCount = 0;
  let filledMs = 0;
  for (const { memories, questions } of namespaces) {
    const beginMs = performance.now();
    const postings = new Postings();
    for (const { id, text } of memories) {
      postings.put(id, { terms: termsOf(text), isSpeech });
    }
    filledMs += performance.now() - beginMs;
    memoryCount += memories.length;
    for (const { text, category, gold } of questions) {
      const askedMs = performance.now();
      const hits = postings.search(termsOf(text), Math.max(...CUTS));
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
