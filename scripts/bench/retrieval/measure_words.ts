/**
 * Asks an index of words the questions of a corpus, without any vector.
 *
 * @module
 */

import { Postings } from "../../../services/relayer/recall/ranking/postings.ts";
import { finish } from "../../../services/relayer/concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../../../services/relayer/recall/ranking/memory_words.ts";
import { questionTerms } from "../../../services/relayer/recall/ranking/terms.ts";
import { WordRanking } from "../../../services/relayer/recall/ranking/word_ranking.ts";
import type { CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/** What ranks: plain BM25, or words and the signs of conversations. */
export type WordMeasure = "words" | "dialogue";

interface Ranker {
  readonly put: (id: string, memory: RankedText) => void;
  readonly search: (
    question: string,
    limit: number,
  ) => readonly { readonly id: string }[];
}

type RankedText = Parameters<WordRanking["put"]>[1];

function rankerOf(measure: WordMeasure): Ranker {
  if (measure === "dialogue") {
    const ranking = new WordRanking();
    return {
      put: (id, memory) => ranking.put(id, memory),
      search: (question, limit) => ranking.search(question, { limit }).memories,
    };
  }
  const postings = new Postings();
  return {
    put: (id, { createdAtMs, words: { terms } }) =>
      postings.put(id, {
        ...{ createdAtMs, terms },
      }),
    search: (question, limit) =>
      postings.search(
        questionTerms(question, []).map(({ terms }) => terms),
        { limit },
      ).hits,
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
    for (const [createdAtMs, { id, text }] of memories.entries()) {
      ranker.put(id, { createdAtMs, words: finish(memoryWordsSteps(text)) });
    }
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
