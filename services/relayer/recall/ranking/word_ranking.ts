/**
 * How well the memories of one namespace fit a question by their words, and by
 * signs of what they say: whether they tell a time, a number or a place where
 * one is asked for, and, in a conversation, who speaks and what is asked. No
 * model takes part.
 *
 * A conversation has memories that begin with a speaker's name and a colon, by
 * at least two speakers who recur and speak to each other. In a conversation, a
 * memory's words take in those said right before and after it. The weights were
 * chosen by hand on three conversations and on sets of the project's own;
 * leaving out one at a time changes little.
 *
 * @module
 */

import type { Steps } from "../../concurrency/bounded_work.ts";
import { joinsWords, type Language, languageNamed } from "./languages.ts";
import type { MemoryWords } from "./memory_words.ts";
import { findNewest, newestFirst, type NewestMemory } from "./newest_memory.ts";
import { type PostingColumns, Postings, type WordHit } from "./postings.ts";
import { type Asked, askedBy, onlyAsks } from "./question_signs.ts";
import { type SearchedPart, searchedWords } from "./searched_words.ts";
import { namedIn, Speakers, type Voice } from "./speakers.ts";
import { type QuestionTerm, questionTerms, termsOfWord } from "./terms.ts";
import { areOfTalk, type TurnWeights } from "./turn_table.ts";

/** Added where the question names the one who speaks, and not all of them. */
const SPEAKER_WEIGHT = 2.5;
/** Most speakers that a question may name for them to count. */
const MAX_NAMED = 2;
/** Added where the question asks for a time, and the turn tells one. */
const TIME_WEIGHT = 2;
/** Added where the question asks for a number, and the turn has one. */
const NUMBER_WEIGHT = 1.5;
/** Added where the question asks for a place, and the turn tells one. */
const PLACE_WEIGHT = 1;
/**
 * The same for each of the three in memories that are no turns, as a share of
 * what all words of the question score: alone it makes no memory relevant.
 */
const NOTE_SIGN_SHARE = 0.12;
/**
 * Added for each unit of length above the mean, where the mean is 1: an answer
 * is seldom the shortest of turns. Where turns are long, their length says less.
 */
const LENGTH_WEIGHT = 1.2;
/** Added where the turn asks something: what asks does not answer. */
const ASK_WEIGHT = -1.2;
/**
 * Share of a question's own word score that a turn of another speaker right after
 * it gets, as the likely answer.
 */
const ANSWER_WEIGHT = 0.4;
/**
 * What the newest of the memories found gets on top, as a share of its word
 * score, where it is no turn of a conversation: facts change, and of two
 * memories that fit alike the newer one holds.
 */
const RECENCY_SHARE = 0.15;
/**
 * The share of memories that a language needs for questions to be read in it,
 * too.
 */
const MIN_LANGUAGE_SHARE = 0.2;
/** Most words of a question that are named for a memory. */
const MAX_MATCHED = 64;
/** About the bytes that a memory's speaker and language take. */
const TURN_BYTES = 60;

/** The names of the parts that a score is the sum of. */
export type RankingPart =
  | "words"
  | "recency"
  | "speaker"
  | "time"
  | "number"
  | "place"
  | "length"
  | "question"
  | "answer";

/** A memory that fits a question. */
export interface RankedMemory {
  /** As given to {@linkcode WordRanking.put}. */
  readonly id: string;
  /** The sum of the parts; comparable within one answer only. */
  readonly score: number;
  /** The parts that the score is the sum of. */
  readonly parts: Readonly<Partial<Record<RankingPart, number>>>;
}

/** The outcome of a search by words. */
export interface WordRanked {
  /** The best first. */
  readonly memories: readonly RankedMemory[];
  /**
   * What a memory of usual length would score for words alone that has all
   * words of the question.
   */
  readonly ideal: number;
  /** Of memories that tell what changed, the newest. */
  readonly newest?: NewestMemory | undefined;
}

/** Which memories a search by words gives. */
interface WordQuestion {
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

/** Voices that are noted in a step. */
const VOICES_PER_STEP = 8_192;
/** A {@linkcode WordRanking} in columns, as a snapshot has it. */
export interface WordColumns {
  /** Words by place. */
  readonly postings: PostingColumns;
  /** The index of the voice at each place. */
  readonly voices: Uint32Array;
  /** The names of voices; empty where no one speaks. */
  readonly names: readonly string[];
  /** The numbers of the speakers, by voice. */
  readonly numbers: Uint32Array;
  /** The languages of voices. */
  readonly languages: readonly string[];
}

/** Ranks the memories of one namespace. */
export class WordRanking {
  readonly #postings = new Postings();
  readonly #voices = new Map<string, Voice>();
  readonly #speakers = new Speakers();
  readonly #silent = new Map<Language, Voice>();
  readonly #memoriesIn = new Map<Language, number>();

  /** How many memories it has. */
  get size(): number {
    return this.#voices.size;
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
    const { terms, speaker: label, isTalk } = words;
    // A text whose language cannot be told is read as English.
    const { language = "en" } = words;
    const speaker = label === undefined ? undefined : this.#speakers.of(label);
    const length = Math.log(1 + words.saidTerms);
    const turn = speaker && { speaker: speaker.number, length };
    this.#postings.put(id, { createdAtMs, terms, turn, signs: words });
    if (speaker !== undefined) this.#speakers.count(speaker, isTalk);
    this.#count(language, 1);
    const voices = speaker?.voices ?? this.#silent;
    const voice = voices.get(language) ?? { speaker, language };
    voices.set(language, voice);
    this.#voices.set(id, voice);
  }

  /** The steps that give the ranking in columns, as views of its memory. */
  *columnSteps(): Steps<WordColumns> {
    const postings = yield* this.#postings.columnSteps();
    const known = new Map<Voice, number>();
    const voices = new Uint32Array(postings.ids.length);
    for (const [place, id] of postings.ids.entries()) {
      if (place % VOICES_PER_STEP === VOICES_PER_STEP - 1) yield;
      const voice = this.#voices.get(id);
      if (voice === undefined) continue;
      const number = known.get(voice) ?? known.size;
      known.set(voice, number);
      voices[place] = number;
    }
    const listed = [...known.keys()];
    return {
      ...{ postings, voices },
      names: listed.map(({ speaker }) => speaker?.name ?? ""),
      numbers: Uint32Array.from(listed, ({ speaker }) => speaker?.number ?? 0),
      languages: listed.map(({ language }) => language),
    };
  }

  /**
   * The steps that fill this ranking, which must be empty, with columns of
   * another one. The columns belong to this ranking from then on.
   *
   * @throws {RangeError} when a language is not known
   */
  *adoptSteps(
    { postings, voices, names, numbers, languages }: WordColumns,
  ): Steps<void> {
    yield* this.#postings.adoptSteps(postings);
    const speakers = this.#speakers.adopt(names, numbers);
    const listed = speakers.map((speaker, at): Voice => {
      const language = languageNamed(languages[at]);
      const voice = { speaker, language };
      (speaker?.voices ?? this.#silent).set(language, voice);
      return voice;
    });
    for (const [place, id] of postings.ids.entries()) {
      if (place % VOICES_PER_STEP === VOICES_PER_STEP - 1) yield;
      const voice = listed[voices[place] ?? 0];
      if (id === "" || voice === undefined) continue;
      this.#voices.set(id, voice);
      this.#count(voice.language, 1);
      if (voice.speaker === undefined) continue;
      const isTalk = areOfTalk(postings.turns.flags[place] ?? 0);
      this.#speakers.count(voice.speaker, isTalk);
    }
  }

  /** Removes a memory; false when there is none of that id. */
  remove(id: string): boolean {
    const voice = this.#voices.get(id);
    if (voice === undefined) return false;
    this.#voices.delete(id);
    const { speaker, language } = voice;
    this.#count(language, -1);
    if (speaker !== undefined) {
      this.#speakers.discount(speaker, this.#postings.talks(id));
    }
    return this.#postings.remove(id);
  }

  /** Removes all memories. */
  clear(): void {
    this.#postings.clear();
    this.#voices.clear();
    this.#speakers.clear();
    this.#memoriesIn.clear();
  }

  /** The memories that fit best; those asked for by id come among them. */
  search(
    question: string,
    { limit, accepts, also = [] }: WordQuestion,
  ): WordRanked {
    const asked = askedBy(question);
    const speakers = this.#speakers.conversing();
    const all = this.#readTerms(question);
    const told = all.filter(({ word }) => !onlyAsks(word));
    const words = this.#searched(told.length === 0 ? all : told);
    const turns = speakers.length === 0
      ? undefined
      : this.#turnWeights(asked, namedIn(question, speakers));
    const { hits, ideal } = this.#postings.search(
      words,
      { limit, accepts, also, turns },
    );
    const memories = hits.map(createRanker(asked, { hits, ideal }))
      .sort((one, other) => other.score - one.score);
    if (!asked.isNow) return { memories, ideal };
    const names = new Set(speakers.flatMap(({ nameParts }) => nameParts));
    const newest = findNewest(question, {
      ...{ memories, hits },
      words: words.filter((one) => !names.has(one.asked.word)),
      has: (id, terms) => this.#postings.has(id, terms),
      findSpeaker: (id) =>
        turns === undefined ? undefined : this.#voices.get(id)?.speaker,
    });
    return { memories: newestFirst(memories, newest), ideal, newest };
  }

  /**
   * Tells of memories which words of a question they have themselves, 64 at
   * most.
   */
  matcher(question: string): (id: string) => readonly string[] {
    const words = this.#readTerms(question);
    return (id) =>
      words.filter(({ terms }) => this.#postings.has(id, terms))
        .slice(0, MAX_MATCHED)
        .map(({ word }) => word);
  }

  #searched(
    words: readonly QuestionTerm[],
  ): readonly SearchedPart[] {
    const languages = this.#languages();
    const spoken = languages.length === 0 ? ["en" as const] : languages;
    let joined = 0;
    for (const [language, count] of this.#memoriesIn) {
      if (joinsWords(language)) joined += count;
    }
    const postings = this.#postings;
    return searchedWords(words, {
      termCount: postings.termCount,
      terms: () => postings.terms(),
      hasTerm: (term) => postings.hasTerm(term),
      areJoined: joined > 0 && joined >= MIN_LANGUAGE_SHARE * this.size,
      listTerms: (word) => termsOfWord(word, spoken),
    });
  }

  #readTerms(question: string): readonly QuestionTerm[] {
    return questionTerms(question, this.#languages());
  }

  /** The languages of many memories, the most frequent first. */
  #languages(): readonly Language[] {
    const least = MIN_LANGUAGE_SHARE * this.size;
    return [...this.#memoriesIn]
      .sort(([, one], [, other]) => other - one)
      .flatMap(([language, count]) => count >= least ? [language] : []);
  }

  #turnWeights(
    { signs }: Asked,
    named: readonly { readonly number: number }[],
  ): TurnWeights {
    return {
      speakers: named.length > MAX_NAMED
        ? []
        : named.map(({ number }) => number),
      speakerWeight: SPEAKER_WEIGHT,
      timeWeight: signs.tellsTime ? TIME_WEIGHT : 0,
      numberWeight: signs.tellsNumber ? NUMBER_WEIGHT : 0,
      placeWeight: signs.tellsPlace ? PLACE_WEIGHT : 0,
      questionWeight: ASK_WEIGHT,
      lengthWeight: LENGTH_WEIGHT / Math.max(1, this.#postings.usualLength),
      answerWeight: ANSWER_WEIGHT,
    };
  }

  #count(language: Language, change: 1 | -1): void {
    const count = this.#memoriesIn.get(language) ?? 0;
    this.#memoriesIn.set(language, count + change);
  }
}

/** Makes the function that turns hits of one search into ranked memories. */
function createRanker(
  asked: Asked,
  { hits, ideal }: {
    readonly hits: readonly WordHit[];
    readonly ideal: number;
  },
): (hit: WordHit) => RankedMemory {
  const inOrder = asked.isPast
    ? []
    : hits.filter(({ words, turn }) => words > 0 && turn === undefined)
      .toSorted((one, other) =>
        one.createdAtMs - other.createdAtMs || (one.id < other.id ? -1 : 1)
      );
  const newness = new Map(
    inOrder.map(({ id }, at) => [id, at / Math.max(1, inOrder.length - 1)]),
  );
  return ({ id, words, turn, signs }) => {
    const weigh = (sign: keyof Asked["signs"]): number =>
      asked.signs[sign] && signs[sign] ? NOTE_SIGN_SHARE * ideal : 0;
    const rest = turn ?? {
      recency: RECENCY_SHARE * words * (newness.get(id) ?? 0),
      time: weigh("tellsTime"),
      number: weigh("tellsNumber"),
      place: weigh("tellsPlace"),
    };
    const score = Object.values(rest).reduce((sum, part) => sum + part, words);
    return { id, score, parts: { words, ...rest } };
  };
}
