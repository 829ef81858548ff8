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

import { Postings, type WordHit } from "./postings.ts";
import { termsOf } from "./terms.ts";

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

const MAX_HEAD_CHARS = 120;
const NAME =
  /^\p{Lu}[\p{L}\p{M}'’.-]{0,39}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,39}){0,2}$/u;
const NOTE = / \([^()]{0,80}\)$/;
const ASKS_TIME =
  /^\s*(?:when|how long|(?:what|which) (?:year|month|day|date))\b/i;
const TELLS_TIME =
  /\b(?:yesterday|today|tomorrow|tonight|ago|last|next|since|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|week|month|year|january|february|march|april|june|july|august|september|october|november|december)s?\b/i;
/** What is in brackets behind it is no part of what is said. */
const ENDS_ASKING = /\?["'”’)\s]{0,8}(?:\([^()]{0,2000}\)\s*)?$/;

/** What is known of something said. */
interface Turn {
  /** Undefined where no name begins the text. */
  readonly speaker: string | undefined;
  readonly isQuestion: boolean;
  readonly tellsTime: boolean;
  /** The logarithm of how many terms were said, and one. */
  readonly length: number;
}

/** Ranks the memories of one namespace; they are to be put in the order of writing. */
export class WordRanking {
  readonly #postings = new Postings();
  readonly #turns = new Map<string, Turn>();
  readonly #turnsOf = new Map<string, number>();
  #lengthSum = 0;

  /** How many memories it has. */
  get size(): number {
    return this.#turns.size;
  }

  /** Bytes of its lists and arrays, about. */
  get bytes(): number {
    return this.#postings.bytes;
  }

  /** Adds a memory behind the others, or replaces the one of that id. */
  put(id: string, text: string): void {
    this.#forget(id);
    const { speaker, said } = partsOf(text);
    const length = Math.log(1 + termsOf(said).length);
    this.#turns.set(id, {
      ...{ speaker, length },
      isQuestion: ENDS_ASKING.test(said),
      tellsTime: TELLS_TIME.test(said),
    });
    this.#lengthSum += length;
    if (speaker !== undefined) {
      this.#turnsOf.set(speaker, (this.#turnsOf.get(speaker) ?? 0) + 1);
    }
    const isSpeech = speaker !== undefined;
    this.#postings.put(id, { terms: termsOf(text), isSpeech });
  }

  /** Removes a memory; false when there is none of that id. */
  remove(id: string): boolean {
    this.#forget(id);
    return this.#postings.remove(id);
  }

  /** The memories that fit best, the best first. */
  search(question: string, limit: number): readonly WordHit[] {
    const terms = termsOf(question);
    const speakers = this.#speakers();
    if (speakers.length < MIN_SPEAKERS) {
      return this.#postings.search(terms, { limit, joinsNeighbours: false });
    }
    const asked = this.#askedBy(terms);
    const best = Math.max(0, ...asked.values());
    const slack = SIGNS_SLACK + ANSWER_WEIGHT * best;
    const named = namedIn(question, speakers);
    const asksTime = ASKS_TIME.test(question);
    return this.#postings.search(terms, { limit, slack })
      .map(({ id, score }) => {
        const turn = this.#turns.get(id);
        const before = this.#postings.saidBefore(id);
        const answers = before === undefined ? 0 : asked.get(before) ?? 0;
        return {
          id,
          score: score + ANSWER_WEIGHT * answers +
            this.#signsOf(turn, { named, asksTime }),
        };
      })
      .sort((one, other) => other.score - one.score)
      .slice(0, limit);
  }

  #signsOf(
    turn: Turn | undefined,
    { named, asksTime }: {
      readonly named: string | undefined;
      readonly asksTime: boolean;
    },
  ): number {
    if (turn?.speaker === undefined) return 0;
    const { speaker, isQuestion, tellsTime, length } = turn;
    const mean = this.#lengthSum / Math.max(1, this.size);
    return (speaker === named ? SPEAKER_WEIGHT : 0) +
      (asksTime && tellsTime ? TIME_WEIGHT : 0) +
      (isQuestion ? ASK_WEIGHT : 0) + LENGTH_WEIGHT * (length - mean);
  }

  /** How well questions among the memories fit by their own words. */
  #askedBy(terms: readonly string[]): ReadonlyMap<string, number> {
    const hits = this.#postings.search(terms, {
      limit: this.size,
      joinsNeighbours: false,
    });
    return new Map(
      hits.filter(({ id }) => this.#turns.get(id)?.isQuestion === true)
        .map(({ id, score }) => [id, score]),
    );
  }

  /** Names that recur. */
  #speakers(): readonly string[] {
    return [...this.#turnsOf].flatMap(([name, turns]) =>
      turns >= MIN_TURNS ? [name] : []
    );
  }

  #forget(id: string): void {
    const turn = this.#turns.get(id);
    if (turn === undefined) return;
    this.#turns.delete(id);
    this.#lengthSum -= turn.length;
    if (turn.speaker === undefined) return;
    const left = (this.#turnsOf.get(turn.speaker) ?? 0) - 1;
    if (left > 0) this.#turnsOf.set(turn.speaker, left);
    else this.#turnsOf.delete(turn.speaker);
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

/**
 * The name before the colon that begins a text, as in `Ann: hello` or `8 May, Ann (by
 * phone): hello`, and what is said after it; without a name all of the text.
 */
function partsOf(text: string): {
  readonly speaker: string | undefined;
  readonly said: string;
} {
  const end = text.slice(0, MAX_HEAD_CHARS).indexOf(": ");
  if (end < 0) return { speaker: undefined, said: text };
  const head = text.slice(0, end).replace(NOTE, "");
  const name = head.slice(head.lastIndexOf(",") + 1).trim();
  return NAME.test(name)
    ? { speaker: name, said: text.slice(end + 2) }
    : { speaker: undefined, said: text };
}
