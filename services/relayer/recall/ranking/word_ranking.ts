/**
 * How well the memories of one namespace fit a question by their words, and, where they
 * are a conversation, by who speaks and what is asked. No model takes part.
 *
 * A conversation has memories that begin with a speaker's name and a colon, by at least
 * two speakers who recur. In one, a memory's words take in those said right before and
 * after it, and five signs count beside the words. Their weights were chosen by hand on
 * three conversations; leaving out one at a time changes little.
 *
 * @module
 */

import type { Language } from "./languages.ts";
import type { MemoryWords } from "./memory_words.ts";
import { Postings, type WordHit } from "./postings.ts";
import { type QuestionTerm, questionTerms } from "./terms.ts";

/** The question names the one who speaks, and no other speaker. */
const SPEAKER_WEIGHT = 2;
/** The question asks for a time, and a time is told. */
const TIME_WEIGHT = 1;
/** More is said than usual: an answer is seldom the shortest of turns. */
const LENGTH_WEIGHT = 0.6;
/** What asks does not answer. */
const ASK_WEIGHT = -1;
/** What follows a question answers it, so that question's words count. */
const ANSWER_WEIGHT = 0.4;
/** More than what signs without the answer's can give. */
const SIGNS_SLACK = 6;
/** So often a name has to come before it counts as a speaker's. */
const MIN_TURNS = 3;
const MIN_SPEAKERS = 2;
/** The share of memories that a language needs for questions to be read in it, too. */
const MIN_LANGUAGE_SHARE = 0.2;

/** What is known of a memory's text beside its terms takes about. */
const TURN_BYTES = 150;

const ASKS_TIME = new RegExp(
  "^[\\s¿]*(?:" + [
    "when|how long|since when|(?:what|which) (?:year|month|day|date|time)",
    "wann|seit wann|bis wann|wie lange|(?:in )?welche[mnrs]? (?:jahr|monat|tag|datum)",
    "quand|depuis quand|combien de temps|(?:en )?quelle? (?:année|mois|jour|date)",
    "cuándo|cuando|desde cuándo|cuánto tiempo|(?:en )?qué (?:año|mes|día|fecha)",
  ].join("|") + ")(?![\\p{L}\\p{N}])",
  "iu",
);

/** What of a score comes from where. */
export type RankingPart =
  | "words"
  | "speaker"
  | "time"
  | "length"
  | "question"
  | "answer";

/** A memory that fits a question. */
export interface RankedMemory {
  /** As given to {@linkcode WordRanking.put}. */
  readonly id: string;
  /** The sum of the parts; comparable within one answer only. */
  readonly score: number;
  /** What it is the sum of. */
  readonly parts: Readonly<Partial<Record<RankingPart, number>>>;
}

/** What was found. */
export interface WordRanked {
  /** The best first. */
  readonly memories: readonly RankedMemory[];
  /** What a memory of usual length would have for words alone that has them all. */
  readonly ideal: number;
}

/** What is looked for. */
export interface WordQuestion {
  /** Most memories. */
  readonly limit: number;
  /**
   * Which memories count.
   *
   * @default all
   */
  readonly accepts?: ((id: string) => boolean) | undefined;
  /**
   * Memories that are ranked whatever words they have.
   *
   * @default none
   */
  readonly also?: readonly string[] | undefined;
}

/** What is known of something said. */
interface Turn {
  readonly speaker: Speaker | undefined;
  readonly isQuestion: boolean;
  readonly tellsTime: boolean;
  readonly language: Language | undefined;
  /** The logarithm of how many terms were said, and one. */
  readonly length: number;
}

interface Speaker {
  readonly name: string;
  turns: number;
}

/** Ranks the memories of one namespace. */
export class WordRanking {
  readonly #postings = new Postings();
  readonly #turns = new Map<string, Turn>();
  readonly #speakers = new Map<string, Speaker>();
  readonly #memoriesIn = new Map<Language, number>();
  #lengthSum = 0;

  /** How many memories it has. */
  get size(): number {
    return this.#turns.size;
  }

  /** About how many bytes it takes. */
  get bytes(): number {
    return this.#postings.bytes + this.size * TURN_BYTES;
  }

  /**
   * Adds a memory, or puts it in the place of the one of that id.
   *
   * @throws {RangeError} when there are too many
   */
  put(
    id: string,
    { createdAtMs, words }: {
      /** When it was written, in milliseconds since the epoch. */
      readonly createdAtMs: number;
      /** What is known of its text. */
      readonly words: MemoryWords;
    },
  ): void {
    this.remove(id);
    const { language, terms, isQuestion, tellsTime, saidTerms } = words;
    const isSpeech = words.speaker !== undefined;
    this.#postings.put(id, { createdAtMs, terms, isSpeech, isQuestion });
    const speaker = this.#speakerOf(words.speaker);
    if (speaker !== undefined) speaker.turns++;
    const length = Math.log(1 + saidTerms);
    this.#lengthSum += length;
    this.#count(language, 1);
    this.#turns.set(id, { speaker, isQuestion, tellsTime, language, length });
  }

  /** Removes a memory; false when there is none of that id. */
  remove(id: string): boolean {
    const turn = this.#turns.get(id);
    if (turn === undefined) return false;
    this.#turns.delete(id);
    this.#lengthSum -= turn.length;
    this.#count(turn.language, -1);
    const { speaker } = turn;
    if (speaker !== undefined && --speaker.turns === 0) {
      this.#speakers.delete(speaker.name);
    }
    return this.#postings.remove(id);
  }

  /** Removes all memories. */
  clear(): void {
    this.#postings.clear();
    this.#turns.clear();
    this.#speakers.clear();
    this.#memoriesIn.clear();
    this.#lengthSum = 0;
  }

  /** The memories that fit best; those asked for by id come among them. */
  search(
    question: string,
    { limit, accepts, also = [] }: WordQuestion,
  ): WordRanked {
    const words = this.#wordsOf(question);
    const speakers = [...this.#speakers.values()]
      .flatMap(({ name, turns }) => turns >= MIN_TURNS ? [name] : []);
    const isDialogue = speakers.length >= MIN_SPEAKERS;
    const { hits, ideal } = this.#postings.search(
      words.map(({ terms }) => terms),
      {
        ...{ limit, accepts, also },
        joinsNeighbours: isDialogue,
        slack: isDialogue ? SIGNS_SLACK : 0,
        askedShare: isDialogue ? ANSWER_WEIGHT : 0,
      },
    );
    const asked = {
      named: isDialogue ? namedIn(question, speakers) : undefined,
      asksTime: ASKS_TIME.test(question),
      isDialogue,
    };
    const memories = hits.map((hit) => this.#ranked(hit, asked))
      .sort((one, other) => other.score - one.score);
    const wanted = new Set(also);
    return {
      memories: memories.filter(({ id }, at) => at < limit || wanted.has(id)),
      ideal,
    };
  }

  /** The words of a question that a memory has itself. */
  matched(id: string, question: string): readonly string[] {
    return this.#wordsOf(question)
      .filter(({ terms }) => this.#postings.has(id, terms))
      .map(({ word }) => word);
  }

  #wordsOf(question: string): readonly QuestionTerm[] {
    const least = MIN_LANGUAGE_SHARE * this.size;
    const languages = [...this.#memoriesIn]
      .sort(([, one], [, other]) => other - one)
      .flatMap(([language, count]) => count >= least ? [language] : []);
    return questionTerms(question, languages);
  }

  #ranked(
    { id, score, askedBefore }: WordHit,
    { named, asksTime, isDialogue }: {
      readonly named: string | undefined;
      readonly asksTime: boolean;
      readonly isDialogue: boolean;
    },
  ): RankedMemory {
    const turn = this.#turns.get(id);
    if (!isDialogue || turn?.speaker === undefined) {
      return { id, score, parts: { words: score } };
    }
    const { speaker, isQuestion, tellsTime, length } = turn;
    const mean = this.#lengthSum / Math.max(1, this.size);
    const parts = {
      words: score,
      speaker: speaker.name === named ? SPEAKER_WEIGHT : 0,
      time: asksTime && tellsTime ? TIME_WEIGHT : 0,
      length: LENGTH_WEIGHT * (length - mean),
      question: isQuestion ? ASK_WEIGHT : 0,
      answer: ANSWER_WEIGHT * askedBefore,
    };
    const sum = Object.values(parts).reduce((total, part) => total + part, 0);
    return { id, score: sum, parts };
  }

  #speakerOf(name: string | undefined): Speaker | undefined {
    if (name === undefined) return undefined;
    const speaker = this.#speakers.get(name) ?? { name, turns: 0 };
    this.#speakers.set(name, speaker);
    return speaker;
  }

  /** A text whose language cannot be told is read as English. */
  #count(language: Language | undefined, change: 1 | -1): void {
    const known = language ?? "en";
    this.#memoriesIn.set(known, (this.#memoriesIn.get(known) ?? 0) + change);
  }
}

/** The only speaker whom a question names. */
function namedIn(
  question: string,
  speakers: readonly string[],
): string | undefined {
  const words = new Set(question.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? []);
  const named = speakers.filter((name) =>
    name.toLowerCase().split(" ").some((part) => words.has(part))
  );
  return named.length === 1 ? named[0] : undefined;
}
