/**
 * Who speaks in the memories of a namespace, and whom a question names.
 *
 * A name before a colon is a label at first. Labels of notes, such as "Redis:",
 * recur as speakers do; but what a speaker says is said to a listener.
 *
 * @module
 */

import { ROLES } from "./turn_parts.ts";
import type { Language } from "./languages.ts";

/** A speaker and a language; all memories with the same two share a voice. */
export interface Voice {
  /** Undefined where no one speaks. */
  readonly speaker: Speaker | undefined;
  /** The language of the memories. */
  readonly language: Language;
}

/** Whose name begins memories. */
interface Speaker {
  /** The name in lower case. */
  readonly name: string;
  /** The words of the name. */
  readonly nameParts: readonly string[];
  /** The number of the speaker, from 1; 0 when there are too many speakers. */
  readonly number: number;
  /** The speaker's voices, one for each language. */
  readonly voices: Map<Language, Voice>;
  /** How many memories begin with the name. */
  turns: number;
  /** How many of these are said to a listener. */
  talks: number;
}

/** Memories that a name has to begin to count as a speaker's. */
const MIN_TURNS = 3;
/** The share of what speakers say that is said to a listener at least. */
const MIN_TALK_SHARE = 1 / 8;
/** Fewer memories than this do not tell of one name alone. */
const MIN_TELLING_TURNS = 8;
const MIN_SPEAKERS = 2;
/** Most speakers that a number of 16 bits tells apart. */
const MAX_SPEAKERS = 65_535;
/** Scripts where a name has particles right behind it. */
const GLUED =
  /[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** The labels that memories begin with, and the speakers among them. */
export class Speakers {
  readonly #byName = new Map<string, Speaker>();
  readonly #freeNumbers: number[] = [];

  /** The speaker of a label; upper and lower case are the same. */
  of(label: string): Speaker {
    const name = label.toLowerCase();
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const number = this.#freeNumbers.pop() ?? this.#byName.size + 1;
    return this.#added(name, number > MAX_SPEAKERS ? 0 : number);
  }

  /** The speakers of names with their numbers, where there are none yet. */
  adopt(
    names: readonly string[],
    numbers: Uint32Array,
  ): readonly (Speaker | undefined)[] {
    const used = new Set<number>();
    const adopted = names.map((name, at) => {
      if (name === "") return undefined;
      const number = numbers[at] ?? 0;
      used.add(number);
      return this.#byName.get(name) ?? this.#added(name, number);
    });
    for (let number = 1; number < Math.max(0, ...used); number++) {
      if (!used.has(number)) this.#freeNumbers.push(number);
    }
    return adopted;
  }

  /** Counts a memory of a speaker. */
  count(speaker: Speaker, isTalk: boolean): void {
    speaker.turns++;
    if (isTalk) speaker.talks++;
  }

  /** Counts a memory no longer; a speaker without memories is forgotten. */
  discount(speaker: Speaker, isTalk: boolean): void {
    if (isTalk) speaker.talks--;
    if (--speaker.turns > 0) return;
    this.#byName.delete(speaker.name);
    if (speaker.number !== 0) this.#freeNumbers.push(speaker.number);
  }

  /** Forgets all. */
  clear(): void {
    this.#byName.clear();
    this.#freeNumbers.length = 0;
  }

  /** Those who speak with each other; none where there are not two of them. */
  conversing(): readonly Speaker[] {
    const speakers = [...this.#byName.values()].filter((speaker) =>
      speaker.turns >= MIN_TURNS &&
      (speaker.turns < MIN_TELLING_TURNS || isTalking([speaker]))
    );
    return speakers.length >= MIN_SPEAKERS && isTalking(speakers)
      ? speakers
      : [];
  }

  #added(name: string, number: number): Speaker {
    const speaker: Speaker = {
      ...{ name, number, voices: new Map(), turns: 0, talks: 0 },
      nameParts: name.split(" "),
    };
    this.#byName.set(name, speaker);
    return speaker;
  }
}

/** Whether enough of what they begin is said to a listener. */
function isTalking(speakers: readonly Speaker[]): boolean {
  let [turns, talks] = [0, 0];
  for (const speaker of speakers) {
    turns += speaker.turns;
    talks += ROLES.has(speaker.name) ? speaker.turns : speaker.talks;
  }
  return talks >= MIN_TALK_SHARE * turns;
}

/** The speakers that a question names. */
export function namedIn(
  question: string,
  speakers: readonly Speaker[],
): readonly Speaker[] {
  const words = question.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const asked = new Set(words);
  // A genitive may have no apostrophe: always in German, in chats in English.
  const isNamed = (part: string): boolean =>
    GLUED.test(part)
      ? words.some((word) => word.startsWith(part))
      : part.length > 1 && (asked.has(part) || asked.has(`${part}s`));
  return speakers.filter(({ nameParts }) => nameParts.some(isNamed));
}
