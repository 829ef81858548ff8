/**
 * Stems of words, so that a question finds a memory which has another form of
 * its word, and the language that a text is in. German, French and Spanish by
 * the stemmers that Snowball generates; English by the one below, Snowball's
 * "Porter2" as published at
 * https://snowballstem.org/algorithms/english/stemmer.html.
 *
 * @module
 */

import { stemmer as frenchStem } from "@orama/stemmers/french";
import { stemmer as germanStem } from "@orama/stemmers/german";
import { stemmer as spanishStem } from "@orama/stemmers/spanish";
import { stopwords as FRENCH_STOP_WORDS } from "@orama/stopwords/french";
import { stopwords as GERMAN_STOP_WORDS } from "@orama/stopwords/german";
import { stopwords as SPANISH_STOP_WORDS } from "@orama/stopwords/spanish";
import { isStopWord, withoutAccents } from "../../embed/words.ts";

/** A language, by its code of two letters (ISO 639-1). */
export type Language = "en" | "de" | "fr" | "es";

/** What is known of a language. */
interface LanguageRules {
  /** Whether a word in lower case, accents kept, says little. */
  readonly isStopWord: (word: string) => boolean;
  readonly stem: (word: string) => string;
  /** A letter that texts of the other languages seldom have. */
  readonly letters: RegExp;
}

const RULES: Readonly<Record<Language, LanguageRules>> = {
  en: { isStopWord, stem: englishStem, letters: /(?!)/ },
  de: {
    isStopWord: memberOf(GERMAN_STOP_WORDS, [
      "wo",
      "wer",
      "wann",
      "wem",
      "wen",
    ]),
    stem: germanStem,
    letters: /[äöüß]/,
  },
  fr: {
    isStopWord: memberOf(FRENCH_STOP_WORDS, ["où", "quand", "quel", "quelle"]),
    stem: frenchStem,
    letters: /[çœèêàù]/,
  },
  es: {
    isStopWord: memberOf(SPANISH_STOP_WORDS, ["dónde", "cuándo", "cuál"]),
    stem: spanishStem,
    letters: /[ñáíó¿¡]/,
  },
};

/** All languages. */
export const LANGUAGES = Object.keys(RULES) as readonly Language[];

/**
 * The language of a code.
 *
 * @throws {RangeError} when it is none of them
 */
export function languageNamed(code: string | undefined): Language {
  const language = LANGUAGES.find((known) => known === code);
  if (language !== undefined) return language;
  throw new RangeError("Cannot read language: it is not one of those known");
}

/**
 * Words that are looked at to tell the language; a longer text says no more
 * than its beginning.
 */
const MAX_TELLING_WORDS = 400;
/** What a word with a letter of the language's own counts, in stop words. */
const LETTER_WEIGHT = 1;
/** Words longer than this are left to the English stemmer. */
const MAX_STEMMED_CHARS = 48;
const LATIN = /^[\p{Script=Latin}\p{M}'’]+$/u;

/**
 * The language of words in lower case with their accents: the one whose little
 * words they have most of. Undefined when none has more than the others.
 */
export function languageOf(words: readonly string[]): Language | undefined {
  const told = words.slice(0, MAX_TELLING_WORDS);
  const scores = LANGUAGES.map((language) => {
    const { isStopWord, letters } = RULES[language];
    let score = 0;
    for (const word of told) {
      if (isStopWord(word)) score += 1;
      else if (letters.test(word)) score += LETTER_WEIGHT;
    }
    return { language, score };
  }).sort((one, other) => other.score - one.score);
  const [best, next] = scores;
  return best !== undefined && best.score > (next?.score ?? 0)
    ? best.language
    : undefined;
}

/** The stem of a word in lower case with its accents, without accents. */
export function stemOf(word: string, language: Language): string {
  const isWord = word.length <= MAX_STEMMED_CHARS && LATIN.test(word);
  if (language === "en" || !isWord) return englishStem(withoutAccents(word));
  return withoutAccents(RULES[language].stem(word));
}

/** Whether a word in lower case with its accents says little. */
export function saysLittle(word: string, language: Language): boolean {
  return RULES[language].isStopWord(word);
}

function memberOf(
  words: readonly string[],
  others: readonly string[],
): (word: string) => boolean {
  const members = new Set([...words, ...others]);
  return (word) => members.has(word);
}

const VOWELS = "aeiouy";
const DOUBLE = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;
const LI_ENDING = /[cdeghkmnrt]li$/;
/** Words longer than this are no English words; they stay as they are. */
const MAX_ENGLISH_CHARS = 64;
const ENGLISH = /^[a-z']{3,}$/;

const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["skis", "ski"],
  ["skies", "sky"],
  ["dying", "die"],
  ["lying", "lie"],
  ["tying", "tie"],
  ["idly", "idl"],
  ["gently", "gentl"],
  ["ugly", "ugli"],
  ["early", "earli"],
  ["only", "onli"],
  ["singly", "singl"],
  ...["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"].map(
    (word): [string, string] => [word, word],
  ),
]);
/** Words that are stems once their plural is off. */
const WHOLE: ReadonlySet<string> = new Set(
  "inning outing canning herring earring proceed exceed succeed".split(" "),
);

/** Endings by the step of the English stemmer that takes them off. */
const SECOND: readonly (readonly [string, string])[] = [
  ["ization", "ize"],
  ["ational", "ate"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["iveness", "ive"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["lessli", "less"],
  ["entli", "ent"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["ousli", "ous"],
  ["iviti", "ive"],
  ["fulli", "ful"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["abli", "able"],
  ["izer", "ize"],
  ["ator", "ate"],
  ["alli", "al"],
  ["bli", "ble"],
  ["ogi", "og"],
  ["li", ""],
];
const THIRD: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ative", ""],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];
const FOURTH: readonly string[] = (
  "ement ance ence able ible ment ant ent ism ate iti ous ive ize ion al er ic"
).split(" ");

/**
 * The stem of an English word in lower case. A word that has other letters than
 * a to z, or more of them than any word has, is its own stem.
 */
export function englishStem(word: string): string {
  if (!ENGLISH.test(word) || word.length > MAX_ENGLISH_CHARS) return word;
  const known = EXCEPTIONS.get(word);
  if (known !== undefined) return known;
  let stem = marked(word.replace(/^'/, ""));
  const first = firstRegion(stem);
  const second = regionAfter(stem, first);
  stem = withoutPlural(stem.replace(/'(?:s'?)?$/, ""));
  if (WHOLE.has(stem)) return stem;
  stem = withoutTense(stem, first);
  if (stem.length > 2 && /[^aeiouy][yY]$/.test(stem)) {
    stem = `${stem.slice(0, -1)}i`;
  }
  stem = replaced(stem, { endings: SECOND, first, second });
  stem = replaced(stem, { endings: THIRD, first, second });
  stem = withoutDerivation(stem, second);
  return withoutLast(stem, { first, second }).toLowerCase();
}

function isVowel(letter: string | undefined): boolean {
  return letter !== undefined && VOWELS.includes(letter);
}

/** Writes Y for each y that is a consonant. */
function marked(word: string): string {
  let out = "";
  for (const letter of word) {
    const isConsonant = letter === "y" && (out === "" || isVowel(out.at(-1)));
    out += isConsonant ? "Y" : letter;
  }
  return out;
}

function firstRegion(word: string): number {
  const prefix = /^(?:gener|commun|arsen)/.exec(word);
  return prefix === null ? regionAfter(word, 0) : prefix[0].length;
}

/** The place behind the first consonant that follows a vowel. */
function regionAfter(word: string, from: number): number {
  for (let at = from + 1; at < word.length; at++) {
    if (!isVowel(word[at]) && isVowel(word[at - 1])) return at + 1;
  }
  return word.length;
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[ds]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  if (/(?:us|ss)$/.test(word) || !word.endsWith("s")) return word;
  return /[aeiouy].+s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word: string, first: number): string {
  const agreed = /eed(?:ly)?$/.exec(word);
  if (agreed !== null) {
    return agreed.index >= first ? word.slice(0, agreed.index + 2) : word;
  }
  const ending = /(?:ingly|edly|ing|ed)$/.exec(word);
  if (ending === null) return word;
  const rest = word.slice(0, ending.index);
  if (!/[aeiouy]/.test(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (DOUBLE.test(rest)) return rest.slice(0, -1);
  return rest.length <= first && endsShort(rest) ? `${rest}e` : rest;
}

function endsShort(word: string): boolean {
  return word.length === 2
    ? /^[aeiouy][^aeiouy]$/.test(word)
    : /[^aeiouy][aeiouy][^aeiouywxY]$/.test(word);
}

function replaced(word: string, { endings, first, second }: {
  readonly endings: readonly (readonly [string, string])[];
  readonly first: number;
  readonly second: number;
}): string {
  const found = endings.find(([ending]) => word.endsWith(ending));
  if (found === undefined) return word;
  const [ending, instead] = found;
  const at = word.length - ending.length;
  if (at < first) return word;
  if (ending === "ogi" && word[at - 1] !== "l") return word;
  if (ending === "li" && !LI_ENDING.test(word)) return word;
  if (ending === "ative" && at < second) return word;
  return word.slice(0, at) + instead;
}

function withoutDerivation(word: string, second: number): string {
  const ending = FOURTH.find((one) => word.endsWith(one));
  if (ending === undefined) return word;
  const at = word.length - ending.length;
  if (at < second) return word;
  if (ending === "ion" && !/[st]$/.test(word.slice(0, at))) return word;
  return word.slice(0, at);
}

function withoutLast(word: string, { first, second }: {
  readonly first: number;
  readonly second: number;
}): string {
  const rest = word.slice(0, -1);
  const at = rest.length;
  if (word.endsWith("e")) {
    return at >= second || (at >= first && !endsShort(rest)) ? rest : word;
  }
  return word.endsWith("ll") && at >= second ? rest : word;
}
