/**
 * What else memories may have for a word of a question: the word spelt wrong,
 * joined with others or apart, or another word for the same matter.
 *
 * @module
 */

import type { SearchedWord } from "./postings.ts";
import { nearTerms, type QuestionTerm } from "./terms.ts";

/**
 * So many terms of memories are compared with words of a question that none
 * has, some milliseconds' worth: in large namespaces few of such words are
 * looked for.
 */
const MAX_COMPARED_TERMS = 150_000;
/**
 * Terms up to which words that memories have are looked for in joined words,
 * too; beyond that only words that no memory has.
 */
const MAX_JOINED_TERMS = 20_000;
/** The shortest half of a joined word. */
const MIN_HALF_CHARS = 3;
/** Longer words are not cut in two. */
const MAX_CUT_CHARS = 24;
/** Most words of a question that are cut in two, or joined with the next. */
const MAX_CUT_WORDS = 32;
const NO_LETTER = /[^\p{L}]/u;

/**
 * Words that ask for a home or for work, and words of memories that tell a new
 * one without them, by language.
 */
const MATTERS: readonly (readonly [string, string])[] = [
  ["live lives living reside resides", "moved move moving relocated"],
  ["work works working job", "work job joined hired"],
  [
    "wohne wohnst wohnt wohnen lebe lebst lebt leben",
    "umgezogen gezogen ziehe zog umziehen",
  ],
  ["arbeite arbeitest arbeitet arbeiten job", "arbeite job stelle angestellt"],
  [
    "habite habites habitez habitent habiter vis vit vivre",
    "déménagé déménage emménagé",
  ],
  ["travaille travailles travaillez travailler", "travaille embauché poste"],
  ["vivo vives vive viven vivir", "mudé mudado mudó mudo"],
  [
    "trabajo trabajas trabaja trabajan trabajar",
    "trabajo contratado puesto",
  ],
  ["abito abiti abita abitare", "trasferito trasferita traslocato"],
  ["moro moras mora morar", "mudei mudou"],
  ["woon woont wonen", "verhuisd verhuizen"],
  ["bor", "flyttat flyttade flyttet"],
  ["살 살아 사는", "이사"],
];

/** The terms of a namespace, and how a question is read there. */
interface Vocabulary {
  /** How many terms there are. */
  readonly termCount: number;
  /** All terms. */
  readonly terms: () => Iterable<string>;
  /** Whether memories have a term. */
  readonly hasTerm: (term: string) => boolean;
  /** Whether the words of many memories are joined, as in German. */
  readonly areJoined: boolean;
  /** The terms of a word in the languages of the namespace. */
  readonly listTerms: (word: string) => readonly string[];
}

/** What is looked for, for a word of a question or a part of it. */
export interface SearchedPart extends SearchedWord {
  /** The word of the question. */
  readonly asked: QuestionTerm;
}

/** The words to be looked for, with the terms that are close to them. */
export function searchedWords(
  words: readonly QuestionTerm[],
  vocabulary: Vocabulary,
): readonly SearchedPart[] {
  const { hasTerm } = vocabulary;
  const nearByTerm = spelledNear(words, vocabulary);
  return words.flatMap((asked, at): readonly SearchedPart[] => {
    const { terms } = asked;
    const near = [
      ...nearByTerm.get(asked) ?? [],
      ...otherTerms(asked, vocabulary),
      ...at < MAX_CUT_WORDS
        ? [
          ...joinedTerms(words[at - 1], asked, vocabulary),
          ...joinedTerms(asked, words[at + 1], vocabulary),
        ]
        : [],
    ];
    const whole = { asked, terms, near };
    const halves = at < MAX_CUT_WORDS ? findHalves(asked, vocabulary) : [];
    if (halves.length === 0) return [whole];
    const isFound = near.length > 0 || terms.some(hasTerm);
    return [
      ...isFound ? [whole] : [],
      ...halves.map((near) => ({ asked, terms: [], near })),
    ];
  });
}

/**
 * A word that no memory has may be spelt wrong, or be a part of a joined word;
 * in a language that joins words, a word that memories have may be a part of
 * others, too.
 */
function spelledNear(
  words: readonly QuestionTerm[],
  { termCount, terms: all, hasTerm, areJoined }: Vocabulary,
): ReadonlyMap<QuestionTerm, readonly string[]> {
  const isKnown = ({ terms }: QuestionTerm): boolean => terms.some(hasTerm);
  const unknown = words.filter((word) => !isKnown(word));
  const known = areJoined && termCount <= MAX_JOINED_TERMS
    ? words.filter(isKnown)
    : [];
  const nearByTerm = new Map<QuestionTerm, readonly string[]>();
  let left = MAX_COMPARED_TERMS;
  for (const word of [...unknown, ...known]) {
    left -= termCount * word.terms.length;
    if (left < 0) break;
    const near = word.terms.flatMap((term) =>
      nearTerms(term, all(), { areJoined, areMisspelt: !isKnown(word) })
    );
    nearByTerm.set(word, [...new Set(near)]);
  }
  return nearByTerm;
}

/** Terms of other words for the same matter. */
function otherTerms(
  { word, terms }: QuestionTerm,
  { hasTerm, listTerms }: Vocabulary,
): readonly string[] {
  const told = MATTERS.flatMap(([asked, told]) =>
    asked.split(" ").includes(word) ? told.split(" ") : []
  );
  const others = told.flatMap(listTerms);
  return [...new Set(others)]
    .filter((term) => hasTerm(term) && !terms.includes(term));
}

/** Terms that join two words, as "roadtrip" does. */
function joinedTerms(
  one: QuestionTerm | undefined,
  other: QuestionTerm | undefined,
  { hasTerm, listTerms }: Vocabulary,
): readonly string[] {
  if (one === undefined || other === undefined) return [];
  if (!canBeHalf(one.word) || !canBeHalf(other.word)) return [];
  return listTerms(one.word + other.word).filter(hasTerm);
}

/** The terms of the two words that a word joins; none where it joins none. */
function findHalves(
  { word }: QuestionTerm,
  { hasTerm, listTerms }: Vocabulary,
): readonly (readonly string[])[] {
  if (NO_LETTER.test(word) || word.length > MAX_CUT_CHARS) return [];
  const last = word.length - MIN_HALF_CHARS;
  for (let at = MIN_HALF_CHARS; at <= last; at++) {
    const first = listTerms(word.slice(0, at)).filter(hasTerm);
    if (first.length === 0) continue;
    const second = listTerms(word.slice(at)).filter(hasTerm);
    if (second.length > 0) return [first, second];
  }
  return [];
}

function canBeHalf(word: string): boolean {
  return word.length >= MIN_HALF_CHARS && !NO_LETTER.test(word);
}
