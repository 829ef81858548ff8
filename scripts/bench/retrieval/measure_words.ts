/**
 * Asks the questions of a corpus by plain BM25 (k1 .9, b .4) with the stemmers
 * that recall uses, as a baseline to compare with.
 *
 * @module
 */

import { Postings } from "../../../services/relayer/recall/ranking/postings.ts";
import { finish } from "../../../services/relayer/concurrency/testing/finish.ts";
import type { Language } from "../../../services/relayer/recall/ranking/languages.ts";
import { memoryWordsSteps } from "../../../services/relayer/recall/ranking/memory_words.ts";
import { questionTerms } from "../../../services/relayer/recall/ranking/terms.ts";
import type { CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/**
 * The share of memories from which on a language counts: as in recall, a
 * question is stemmed in each language of at least this share of the memories.
 */
const MIN_LANGUAGE_SHARE = 0.2;

/** Indexes the words of each namespace separately, and asks all questions. */
export function measureWords(
  namespaces: readonly CorpusNamespace[],
): MeasuredRetrieval {
  const found: Found[] = [];
  const latencies: number[] = [];
  let memoryCount = 0;
  let filledMs = 0;
  for (const { name: namespace, memories, questions } of namespaces) {
    const beginMs = performance.now();
    const postings = new Postings();
    const memoriesIn = new Map<Language, number>();
    for (const [createdAtMs, { id, text }] of memories.entries()) {
      const { terms, language = "en" } = finish(memoryWordsSteps(text));
      postings.put(id, { createdAtMs, terms });
      memoriesIn.set(language, (memoriesIn.get(language) ?? 0) + 1);
    }
    const languages = [...memoriesIn]
      .filter(([, count]) => count >= MIN_LANGUAGE_SHARE * memories.length)
      .sort(([, one], [, other]) => other - one)
      .map(([language]) => language);
    filledMs += performance.now() - beginMs;
    memoryCount += memories.length;
    for (const { text, category, gold } of questions) {
      const askedMs = performance.now();
      const words = questionTerms(text, languages);
      const { hits } = postings.search(words, { limit: Math.max(...CUTS) });
      latencies.push(performance.now() - askedMs);
      const ranked = hits.map(({ id }) => id);
      found.push({ namespace, category, gold, ranked });
    }
  }
  return {
    found,
    latenciesMs: Float64Array.from(latencies).sort(),
    memoriesPerSecond: memoryCount / Math.max(1, filledMs) * 1_000,
  };
}
