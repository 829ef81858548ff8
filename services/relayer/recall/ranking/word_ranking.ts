/**
 * How well the memories of one namespace fit a question by their words, and,
 * where they are a conversation, by who speaks and what is asked. No model
 * takes part.
 *
 * A conversation has memories that begin with a speaker's name and a colon, by
 * at least two speakers who recur and speak to each other. In a conversation, a memory's words take in
 * those said right before and after it, and five signs count beside the words.
 * Their weights were chosen by hand on three conversations; leaving out one at
 * a time changes little.
 *
 * @module
 */

import type { Steps } from "../../concurrency/bounded_work.ts";
import { asksTime } from "../../embed/turn_signs.ts";
import { joinsWords, type Language, languageNamed } from "./languages.ts";
import { englishStem } from "../../embed/english_stem.ts";
import type { MemoryWords } from "./memory_words.ts";
import {
  type PostingColumns,
  Postings,
  type SearchedWord,
  type WordHit,
} from "./postings.ts";
import { relatedTerms } from "./related_words.ts";
import { nearTerms, type QuestionTerm, questionTerms } from "./terms.ts";
import type { TurnWeights } from "./turn_table.ts";

/** Added where the question names the one who speaks, and no other speaker. */
const SPEAKER_WEIGHT = 2.5;
/** Added where the question names several, and this one first: who did it. */
const FIRST_OF_SPEAKERS_WEIGHT = 0.8;
/** Added where the question asks for a time, and the turn tells one. */
const TIME_WEIGHT = 1;
/**
 * Added for each unit of length above the mean: an answer is seldom the
 * shortest of turns.
 */
const LENGTH_WEIGHT = 0.6;
/** Added where the turn asks something: what asks does not answer. */
const ASK_WEIGHT = -1;
/**
 * Share of a question's own word score that the turn right after it gets, as
 * the likely answer.
 */
const ANSWER_WEIGHT = 0.4;
/**
 * What the newest of the memories found gets on top, as a share of its word
 * score, where it is no turn of a conversation: facts change, and of two
 * memories that fit alike the newer one holds.
 */
const RECENCY_SHARE = 0.15;
/** The same of memories that say that something is no longer as it was. */
const CHANGE_SHARE = 0.5;
/** The same in a conversation, where a question asks for what holds now. */
const TURN_CHANGE_SHARE = 0.3;
/** Memories that a name has to begin to count as a speaker's. */
const MIN_TURNS = 3;
const MIN_SPEAKERS = 2;
/**
 * The share of their turns that have to be said by someone to someone: "Redis:
 * …" and "Berlin: …" are labels of notes.
 */
const MIN_PERSONAL_SHARE = 0.1;
/**
 * The share of memories that a language needs for questions to be read in it,
 * too.
 */
const MIN_LANGUAGE_SHARE = 0.2;
/**
 * So many terms of memories are compared with words of a question that none
 * has, some milliseconds' worth: in large namespaces few of such words are
 * looked for.
 */
const MAX_COMPARED_TERMS = 150_000;
/** Most words of a question that are named for a memory. */
const MAX_MATCHED = 64;

/**
 * Terms up to which words that memories have are looked for in joined words,
 * too; beyond that only words that no memory has.
 */
const MAX_JOINED_TERMS = 20_000;
/** Letters that each part of a joined word has at least. */
const MIN_APART_CHARS = 3;
/** Longer words are no two words joined. */
const MAX_APART_CHARS = 40;
/** About the bytes that a memory's speaker and language take. */
const TURN_BYTES = 60;

const ASKS_PAST = new RegExp(
  "(?<![\\p{L}\\p{N}])(?:" + [
    "was|were|did|had|used to|before|previously|formerly|originally|earlier|ago",
    "war|waren|hatte|hatten|früher|vorher|zuvor|ursprünglich|damals",
    "était|étaient|avait|avaient|avant|autrefois",
    "era|eran|estaba|estaban|tenía|tenían|antes|solía",
  ].join("|") + ")(?![\\p{L}\\p{N}])",
  "iu",
);

const ASKS_PRESENT = new RegExp(
  "(?<![\\p{L}\\p{N}])(?:" + [
    "now|nowadays|currently|these days|at the moment|still|anymore|latest|newest",
    "jetzt|heute|derzeit|zurzeit|gerade|momentan|noch|inzwischen|mittlerweile",
    "maintenant|actuellement|aujourd['’]hui|encore",
    "ahora|actualmente|hoy en día|todavía",
  ].join("|") + ")(?![\\p{L}\\p{N}])",
  "iu",
);

/** The names of the parts that a score is the sum of. */
export type RankingPart =
  | "words"
  | "recency"
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

/** A speaker and a language; all memories with the same two share a voice. */
interface Voice {
  readonly speaker: Speaker | undefined;
  readonly language: Language;
}

interface Speaker {
  readonly name: string;
  /** The words of the name in lower case. */
  readonly nameParts: readonly string[];
  /** The number of the speaker, from 1; 0 when there are too many speakers. */
  readonly number: number;
  /** The speaker's voices, one for each language. */
  readonly voices: Map<Language, Voice>;
  turns: number;
  /** Turns that are said by someone to someone. */
  personal: number;
}

/** Voices that are noted in a step. */
const VOICES_PER_STEP = 8_192;
/** Most speakers that a number of 16 bits tells apart. */
const MAX_SPEAKERS = 65_535;

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
  readonly #voiceOf = new Map<string, Voice>();
  readonly #speakers = new Map<string, Speaker>();
  readonly #freeNumbers: number[] = [];
  readonly #silent = new Map<Language, Voice>();
  readonly #memoriesIn = new Map<Language, number>();

  /** How many memories it has. */
  get size(): number {
    return this.#voiceOf.size;
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
    const { terms, tellsChange, saidTerms, ...signs } = words;
    // A text whose language cannot be told is read as English.
    const { language = "en" } = words;
    const speaker = this.#speakerOf(words.speaker);
    const length = Math.log(1 + saidTerms);
    const turn = speaker === undefined ? undefined : {
      ...{ ...signs, speaker: speaker.number, length },
    };
    this.#postings.put(id, { createdAtMs, terms, turn, tellsChange });
    if (speaker !== undefined) speaker.turns++;
    if (speaker !== undefined && signs.isPersonal) speaker.personal++;
    this.#count(language, 1);
    const voices = speaker?.voices ?? this.#silent;
    const voice = voices.get(language) ?? { speaker, language };
    voices.set(language, voice);
    this.#voiceOf.set(id, voice);
  }

  /** The steps that give the ranking in columns, as views of its memory. */
  *columnSteps(): Steps<WordColumns> {
    const postings = yield* this.#postings.columnSteps();
    const known = new Map<Voice, number>();
    const voices = new Uint32Array(postings.ids.length);
    for (const [place, id] of postings.ids.entries()) {
      if (place % VOICES_PER_STEP === VOICES_PER_STEP - 1) yield;
      const voice = this.#voiceOf.get(id);
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
    const used = new Set<number>();
    const listed = names.map((name, at): Voice => {
      const language = languageNamed(languages[at]);
      const number = numbers[at] ?? 0;
      if (name !== "") used.add(number);
      const speaker = name === "" ? undefined : this.#speaker(name, number);
      const voice = { speaker, language };
      (speaker?.voices ?? this.#silent).set(language, voice);
      return voice;
    });
    for (let number = 1; number < Math.max(0, ...used); number++) {
      if (!used.has(number)) this.#freeNumbers.push(number);
    }
    for (const [place, id] of postings.ids.entries()) {
      if (place % VOICES_PER_STEP === VOICES_PER_STEP - 1) yield;
      const voice = listed[voices[place] ?? 0];
      if (id === "" || voice === undefined) continue;
      this.#voiceOf.set(id, voice);
      this.#count(voice.language, 1);
      const { speaker } = voice;
      if (speaker !== undefined) speaker.turns++;
      if (speaker !== undefined && this.#postings.isPersonal(id)) {
        speaker.personal++;
      }
    }
  }

  /** Removes a memory; false when there is none of that id. */
  remove(id: string): boolean {
    const voice = this.#voiceOf.get(id);
    if (voice === undefined) return false;
    this.#voiceOf.delete(id);
    const { speaker, language } = voice;
    this.#count(language, -1);
    if (speaker !== undefined && this.#postings.isPersonal(id)) {
      speaker.personal--;
    }
    if (speaker !== undefined && --speaker.turns === 0) {
      this.#speakers.delete(speaker.name);
      if (speaker.number !== 0) this.#freeNumbers.push(speaker.number);
    }
    return this.#postings.remove(id);
  }

  /** Removes all memories. */
  clear(): void {
    this.#postings.clear();
    this.#voiceOf.clear();
    this.#speakers.clear();
    this.#freeNumbers.length = 0;
    this.#memoriesIn.clear();
  }

  /** The memories that fit best; those asked for by id come among them. */
  search(
    question: string,
    { limit, accepts, also = [] }: WordQuestion,
  ): WordRanked {
    const words = this.#wordsOf(question);
    const turns = this.#turnWeights(question);
    const { hits, ideal } = this.#postings.search(
      this.#searched(words, turns !== undefined),
      { limit, accepts, also, turns },
    );
    const memories = hits.map(rankerOf(question, hits))
      .sort((one, other) => other.score - one.score);
    return { memories, ideal };
  }

  /**
   * Tells of memories which words of a question they have themselves, 64 at
   * most.
   */
  matcher(question: string): (id: string) => readonly string[] {
    const words = this.#wordsOf(question);
    return (id) =>
      words.filter(({ terms }) => this.#postings.has(id, terms))
        .slice(0, MAX_MATCHED)
        .map(({ word }) => word);
  }

  /**
   * Adds terms close to words: a word that no memory has may be spelt wrong, or
   * be a part of a joined word; in a language that joins words, a word that
   * memories have may be a part of others, too.
   */
  #searched(
    words: readonly QuestionTerm[],
    isSpoken: boolean,
  ): readonly SearchedWord[] {
    const { termCount } = this.#postings;
    let joined = 0;
    for (const [language, count] of this.#memoriesIn) {
      if (joinsWords(language)) joined += count;
    }
    const areJoined = joined > 0 && joined >= MIN_LANGUAGE_SHARE * this.size;
    const isKnown = ({ terms }: QuestionTerm): boolean =>
      terms.some((term) => this.#postings.hasTerm(term));
    const unknown = words.filter((word) => !isKnown(word));
    const apart = new Map(
      unknown.map((word) => [word, this.#partsOf(word)] as const),
    );
    const known = areJoined && termCount <= MAX_JOINED_TERMS
      ? words.filter(isKnown)
      : [];
    const nearOf = new Map<QuestionTerm, readonly string[]>();
    let left = MAX_COMPARED_TERMS;
    for (const word of [...unknown, ...known]) {
      left -= termCount * word.terms.length;
      if (left < 0) break;
      const near = word.terms.flatMap((term) =>
        nearTerms(term, this.#postings.terms(), {
          areJoined,
          areMisspelt: !isKnown(word),
        })
      );
      nearOf.set(word, [...new Set(near)]);
    }
    return words.flatMap((word, at): readonly SearchedWord[] => {
      const parts = apart.get(word);
      if (parts !== undefined) return parts.map((term) => ({ terms: [term] }));
      // In a conversation these words are used for too much else.
      const related = relatedTerms(word.terms);
      const near = [
        ...nearOf.get(word) ?? [],
        ...isSpoken ? related : [],
        ...this.#joinedWith(words[at - 1], word),
        ...this.#joinedWith(word, words[at + 1]),
      ];
      const terms = isSpoken ? word.terms : [...word.terms, ...related];
      return [{ terms, near }];
    });
  }

  /** The two words that a word is joined of, as "roadtrip", if any. */
  #partsOf({ word }: QuestionTerm): readonly string[] | undefined {
    for (
      let at = MIN_APART_CHARS;
      at <= Math.min(word.length, MAX_APART_CHARS) - MIN_APART_CHARS;
      at++
    ) {
      const parts = [word.slice(0, at), word.slice(at)].map(englishStem);
      if (parts.every((term) => this.#postings.hasTerm(term))) return parts;
    }
    return undefined;
  }

  /** The term of two words that a memory may have joined. */
  #joinedWith(
    one: QuestionTerm | undefined,
    other: QuestionTerm | undefined,
  ): readonly string[] {
    if (one === undefined || other === undefined) return [];
    const joined = englishStem(one.word + other.word);
    return this.#postings.hasTerm(joined) ? [joined] : [];
  }

  #wordsOf(question: string): readonly QuestionTerm[] {
    const least = MIN_LANGUAGE_SHARE * this.size;
    const languages = [...this.#memoriesIn]
      .sort(([, one], [, other]) => other - one)
      .flatMap(([language, count]) => count >= least ? [language] : []);
    return questionTerms(question, languages);
  }

  /**
   * The weights of turns for a question; undefined where no two names recur.
   */
  #turnWeights(question: string): TurnWeights | undefined {
    const speakers = [...this.#speakers.values()]
      .filter(({ turns }) => turns >= MIN_TURNS);
    if (speakers.length < MIN_SPEAKERS) return undefined;
    const turns = speakers.reduce((sum, speaker) => sum + speaker.turns, 0);
    const personal = speakers
      .reduce((sum, speaker) => sum + speaker.personal, 0);
    if (personal < MIN_PERSONAL_SHARE * turns) return undefined;
    const [named, ...others] = namedIn(question, speakers);
    return {
      speaker: named?.number ?? 0,
      speakerWeight: others.length === 0
        ? SPEAKER_WEIGHT
        : FIRST_OF_SPEAKERS_WEIGHT,
      timeWeight: asksTime(question) ? TIME_WEIGHT : 0,
      questionWeight: ASK_WEIGHT,
      lengthWeight: LENGTH_WEIGHT,
      answerWeight: ANSWER_WEIGHT,
    };
  }

  #speakerOf(name: string | undefined): Speaker | undefined {
    if (name === undefined) return undefined;
    const known = this.#speakers.get(name);
    if (known !== undefined) return known;
    const number = this.#freeNumbers.pop() ?? this.#speakers.size + 1;
    return this.#speaker(name, number > MAX_SPEAKERS ? 0 : number);
  }

  /** The speaker of a name; a new one gets the given number. */
  #speaker(name: string, number: number): Speaker {
    const known = this.#speakers.get(name);
    if (known !== undefined) return known;
    const speaker: Speaker = {
      ...{ name, number, voices: new Map(), turns: 0, personal: 0 },
      nameParts: name.toLowerCase().split(" "),
    };
    this.#speakers.set(name, speaker);
    return speaker;
  }

  #count(language: Language, change: 1 | -1): void {
    const count = this.#memoriesIn.get(language) ?? 0;
    this.#memoriesIn.set(language, count + change);
  }
}

/** Makes the function that turns hits of one search into ranked memories. */
function rankerOf(
  asked: string,
  hits: readonly WordHit[],
): (hit: WordHit) => RankedMemory {
  const asksPresent = ASKS_PRESENT.test(asked);
  const inOrder = ASKS_PAST.test(asked)
    ? []
    : hits.filter(({ words, turn, tellsChange }) =>
      words > 0 && (turn === undefined || tellsChange && asksPresent)
    ).toSorted((one, other) =>
      one.createdAtMs - other.createdAtMs || (one.id < other.id ? -1 : 1)
    );
  const newness = new Map(
    inOrder.map(({ id }, at) => [id, at / Math.max(1, inOrder.length - 1)]),
  );
  return ({ id, words, turn, tellsChange }) => {
    const share = turn !== undefined
      ? TURN_CHANGE_SHARE
      : tellsChange
      ? CHANGE_SHARE
      : RECENCY_SHARE;
    const recency = share * words * (newness.get(id) ?? 0);
    if (turn === undefined) {
      return { id, score: words + recency, parts: { words, recency } };
    }
    const { speaker, time, length, question, answer } = turn;
    const score = words + speaker + time + length + question + answer +
      recency;
    return { id, score, parts: { words, ...turn, recency } };
  };
}

/** The speakers that a question names, in the order of their names. */
function namedIn(
  question: string,
  speakers: readonly Speaker[],
): readonly Speaker[] {
  const words = question.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  const placeOf = ({ nameParts }: Speaker): number =>
    words.findIndex((word) => nameParts.includes(word));
  return speakers.filter((speaker) => placeOf(speaker) !== -1)
    .toSorted((one, other) => placeOf(one) - placeOf(other));
}
