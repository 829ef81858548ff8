/**
 * The built-in answerer: it quotes the sentences of memories that share most
 * words with the question, and says that it quotes. It never makes up an
 * answer.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import { finishInSlices, type Steps } from "../concurrency/bounded_work.ts";
import { englishStem } from "../embed/english_stem.ts";
import { isStopWord, listWords } from "../embed/words.ts";
import type { Answerer, AnswerOptions, AnswerOutcome } from "./extractor.ts";
import { splitSentences } from "./sentences.ts";

/** The answer when no memory fits the question. */
export const NO_ANSWER =
  "I do not know: none of the memories fits the question";

const MAX_SENTENCES = 3;
/**
 * The least share of the weight of all words of the question that a sentence
 * must have to be quoted.
 */
const MIN_SHARE = 0.3;
/**
 * A further sentence is quoted when its share is this part of the best one's.
 */
const NEAR_BEST = 0.75;
const MAX_QUOTE_CHARS = 500;
/** The most characters that are read of one memory. */
const MAX_MEMORY_CHARS = 16_384;
/** The most characters that are read of all memories, the closest first. */
const MAX_ALL_CHARS = 65_536;
/** The most characters that are read of a question. */
const MAX_QUESTION_CHARS = 8_192;

/** Number of sentences that are compared in one step. */
const SENTENCES_PER_STEP = 32;

/** Answers questions by quoting sentences of memories. */
export class RuleAnswerer implements Answerer {
  /** Says that no model is at work. */
  readonly name = "rules";

  /** Quotes the closest sentences, each with the day its memory was written. */
  async answer(
    question: string,
    options: AnswerOptions,
  ): Promise<Extract<AnswerOutcome, { readonly kind: "ok" }>> {
    const { memories, pausing = NEVER_PAUSING, signal } = options;
    const closest = await finishInSlices(
      closestSentences(question, memories),
      { pausing, signal },
    );
    if (closest.length === 0) {
      return { kind: "ok", answer: NO_ANSWER, used: [] };
    }
    const quotes = closest.map(({ text, createdAtMs }) =>
      `"${shortened(text)}" (${formatDay(createdAtMs)})`
    );
    const used = [...new Set(closest.map(({ memory }) => memory))];
    const answer = `Closest in the memories: ${quotes.join("; ")}`;
    return { kind: "ok", answer, used };
  }
}

/** A sentence of a memory that may be quoted. */
interface Candidate {
  /** The index of its memory among the memories given. */
  readonly memory: number;
  readonly text: string;
  readonly createdAtMs: number;
  readonly words: ReadonlySet<string>;
}

function* closestSentences(
  question: string,
  memories: AnswerOptions["memories"],
): Steps<readonly Candidate[]> {
  const candidates = yield* listCandidates(memories);
  const wanted = listStems(question.slice(0, MAX_QUESTION_CHARS));
  yield;
  const holders = yield* countWords(candidates);
  const weights = new Map(Array.from(wanted, (word) => {
    const rarity = (candidates.length + 1) / ((holders.get(word) ?? 0) + 1);
    return [word, Math.log(1 + rarity)];
  }));
  const sumWeights = (words: Iterable<string>): number =>
    [...words].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
  const all = sumWeights(wanted);
  const scored: { candidate: Candidate; share: number }[] = [];
  for (const [at, candidate] of candidates.entries()) {
    if (at % SENTENCES_PER_STEP === 0) yield;
    const shared = wanted.intersection(candidate.words);
    const share = all === 0 ? 0 : sumWeights(shared) / all;
    if (share >= MIN_SHARE) scored.push({ candidate, share });
  }
  scored.sort((left, right) => right.share - left.share);
  const best = scored[0]?.share ?? 0;
  return scored.filter(({ share }) => share >= best * NEAR_BEST)
    .slice(0, MAX_SENTENCES).map(({ candidate }) => candidate);
}

/** The sentences of the memories, within the limits of characters. */
function* listCandidates(
  memories: AnswerOptions["memories"],
): Steps<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  let left = MAX_ALL_CHARS;
  for (const [memory, { text, createdAtMs }] of memories.entries()) {
    const shown = text.slice(0, Math.min(left, MAX_MEMORY_CHARS));
    left -= shown.length;
    for (const { text, speaker = "" } of yield* splitSentences(shown)) {
      if (candidates.length % SENTENCES_PER_STEP === 0) yield;
      const words = listStems(`${speaker} ${text}`);
      candidates.push({ memory, text, createdAtMs, words });
    }
  }
  return candidates;
}

/** How many sentences have each word. */
function* countWords(
  candidates: readonly Candidate[],
): Steps<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const [at, { words }] of candidates.entries()) {
    if (at % SENTENCES_PER_STEP === 0) yield;
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** The stems of a text's words, without stop words. */
function listStems(text: string): ReadonlySet<string> {
  return new Set(
    listWords(text).map((word) => word.text)
      .filter((word) => !isStopWord(word)).map(englishStem),
  );
}

function shortened(text: string): string {
  return text.length <= MAX_QUOTE_CHARS
    ? text
    : `${text.slice(0, MAX_QUOTE_CHARS).toWellFormed()}…`;
}

function formatDay(atMs: number): string {
  return new Date(atMs).toISOString().replace(/T.*/, "");
}
