/**
 * The built-in answerer: it shows the sentences of memories that share most with
 * the question, and says that this is what it does. It never makes up an answer.
 *
 * @module
 */

import { stem } from "../embed/stem.ts";
import { isStopWord } from "../embed/stop_words.ts";
import { wordsOf } from "../embed/words.ts";
import type { Answerer, AnswerOptions } from "./extractor.ts";
import { sentencesOf } from "./sentences.ts";

/** What is answered when no memory fits. */
export const NO_ANSWER =
  "I do not know: none of the memories fits the question";

const MAX_SENTENCES = 3;
/** A sentence fits when it has this share of what the question's words weigh. */
const MIN_SHARE = 0.3;
/** A further sentence is shown when it fits nearly as well as the best. */
const NEAR_BEST = 0.75;
const MAX_QUOTE_CHARS = 500;
/** What of a memory is looked at. */
const MAX_MEMORY_CHARS = 16_384;
/** What of all memories is looked at, the closest first. */
const MAX_ALL_CHARS = 65_536;
/** What of a question is looked at. */
const MAX_QUESTION_CHARS = 8_192;

/** Answers with sentences of memories. */
export class RuleAnswerer implements Answerer {
  /** Says that no model is at work. */
  readonly name = "rules";

  /** The closest sentences, each with the day it was written. */
  answer(
    question: string,
    options: AnswerOptions,
  ): Promise<
    {
      readonly kind: "ok";
      readonly answer: string;
      readonly used: readonly number[];
    }
  > {
    const closest = closestSentences(question, options.memories);
    if (closest.length === 0) {
      return Promise.resolve({ kind: "ok", answer: NO_ANSWER, used: [] });
    }
    const quotes = closest.map(({ text, createdAtMs }) =>
      `"${shortened(text)}" (${dayOf(createdAtMs)})`
    );
    const used = [...new Set(closest.map(({ memory }) => memory))];
    const answer = `Closest in the memories: ${quotes.join("; ")}`;
    return Promise.resolve({ kind: "ok", answer, used });
  }
}

interface Candidate {
  /** The place of its memory. */
  readonly memory: number;
  readonly text: string;
  readonly createdAtMs: number;
  readonly words: ReadonlySet<string>;
}

function closestSentences(
  question: string,
  memories: AnswerOptions["memories"],
): readonly Candidate[] {
  const candidates = candidatesOf(memories);
  const wanted = contentOf(question.slice(0, MAX_QUESTION_CHARS));
  const holders = countsOf(candidates);
  const weights = new Map(Array.from(wanted, (word) => {
    const rarity = (candidates.length + 1) / ((holders.get(word) ?? 0) + 1);
    return [word, Math.log(1 + rarity)];
  }));
  const weightOf = (words: Iterable<string>): number =>
    [...words].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
  const all = weightOf(wanted);
  const scored = candidates
    .map((candidate) => ({
      candidate,
      share: all === 0
        ? 0
        : weightOf(wanted.intersection(candidate.words)) / all,
    }))
    .filter(({ share }) => share >= MIN_SHARE)
    .sort((left, right) => right.share - left.share);
  const best = scored[0]?.share ?? 0;
  return scored.filter(({ share }) => share >= best * NEAR_BEST)
    .slice(0, MAX_SENTENCES).map(({ candidate }) => candidate);
}

/** The sentences of the memories, as far as they are looked at. */
function candidatesOf(
  memories: AnswerOptions["memories"],
): readonly Candidate[] {
  let left = MAX_ALL_CHARS;
  return memories.flatMap(({ text, createdAtMs }, memory) => {
    const shown = text.slice(0, Math.min(left, MAX_MEMORY_CHARS));
    left -= shown.length;
    return sentencesOf(shown).map((sentence): Candidate => ({
      memory,
      text: sentence.text,
      createdAtMs,
      words: contentOf(`${sentence.speaker ?? ""} ${sentence.text}`),
    }));
  });
}

/** How many sentences have each word. */
function countsOf(
  candidates: readonly Candidate[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { words } of candidates) {
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** The stems of words that say something. */
function contentOf(text: string): ReadonlySet<string> {
  return new Set(
    wordsOf(text).map((word) => word.text)
      .filter((word) => !isStopWord(word)).map(stem),
  );
}

function shortened(text: string): string {
  return text.length <= MAX_QUOTE_CHARS
    ? text
    : `${text.slice(0, MAX_QUOTE_CHARS).toWellFormed()}…`;
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().replace(/T.*/, "");
}
