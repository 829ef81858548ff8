/**
 * Asks an index of words the questions of a corpus, without any vector.
 *
 * @module
 */

import { Postings } from "../../../services/relayer/recall/ranking/postings.ts";
import { termsOf } from "../../../services/relayer/recall/ranking/terms.ts";
import { WordRanking } from "../../../services/relayer/recall/ranking/word_ranking.ts";
import type { CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/** What ranks: plain BM25, or words and the signs of conversations. */
export type WordMeasure = "words" | "dialogue";

interface Ranker {
  readonly put: (id: string, text: string) => void;
  readonly search: (
    question: string,
    limit: number,
  ) => readonly { readonly id: string }[];
}

function rankerOf(measure: WordMeasure): Ranker {
  if (measure === "dialogue") {
    const ranking = new WordRanking();
    return {
      put: (id, text) => ranking.put(id, text),
      search: (question, limit) => ranking.search(question, limit),
    };
  }
  const postings = new Postings();
  return {
    put: (id, text) =>
      postings.put(id, { terms: termsOf(text), isSpeech: false }),
    search: (question, limit) => postings.search(termsOf(question), { limit }),
  };
}

/** Indexes all memories, each namespace by itself, and asks all questions. */
export function measureWords(
  namespaces: readonly CorpusNamespace[],
  measure: WordMeasure,
): MeasuredRetrieval {
  const found: Found[] = [];
  const latencies: number[] = [];
  let memoryCount = 0;
  let filledMs = 0;
  for (const { memories, questions } of namespaces) {
    const beginMs = performance.now();
    const ranker = rankerOf(measure);
    for (const { id, text } of memories) ranker.put(id, text);
    filledMs += performance.now() - beginMs;
    memoryCount += memories.length;
    for (const { text, category, gold } of questions) {
      const askedMs = performance.now();
      const hits = ranker.search(text, Math.max(...CUTS));
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
