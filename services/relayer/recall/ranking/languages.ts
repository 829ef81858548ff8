/**
 * The languages whose words have stems here, and in which of them a text is. English by
 * the stemmer of this folder; German, French and Spanish by the ones that Snowball
 * generates.
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
import { englishStem } from "./english_stem.ts";

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

/** All of them. */
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

/** Words that tell the language; a longer text says no more than its beginning. */
const MAX_TELLING_WORDS = 400;
/** What a letter of a language's own is worth in words that say little. */
const LETTER_WEIGHT = 1;
/** No word of a language is longer; what is, stays as it is. */
const MAX_STEMMED_CHARS = 48;
const LATIN = /^[\p{Script=Latin}\p{M}'’]+$/u;

/**
 * The language of words in lower case with their accents: the one whose little words
 * they have most of. Undefined when none has more than the others.
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
