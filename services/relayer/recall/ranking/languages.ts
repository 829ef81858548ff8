/**
 * Stems of words, so that a question finds a memory which has another form of
 * its word, and the language that a text is in. Most by the stemmers that
 * Snowball generates; English by the one below, Snowball's "Porter2" as
 * published at https://snowballstem.org/algorithms/english/stemmer.html.
 *
 * Languages in Latin letters are told by their little words. Of other scripts
 * one language each is known, and stems every word in that script.
 *
 * @module
 */

import { stemmer as arabicStem } from "@orama/stemmers/arabic";
import { stemmer as armenianStem } from "@orama/stemmers/armenian";
import { stemmer as danishStem } from "@orama/stemmers/danish";
import { stemmer as dutchStem } from "@orama/stemmers/dutch";
import { stemmer as finnishStem } from "@orama/stemmers/finnish";
import { stemmer as frenchStem } from "@orama/stemmers/french";
import { stemmer as germanStem } from "@orama/stemmers/german";
import { stemmer as greekStem } from "@orama/stemmers/greek";
import { stemmer as hindiStem } from "@orama/stemmers/indian";
import { stemmer as hungarianStem } from "@orama/stemmers/hungarian";
import { stemmer as italianStem } from "@orama/stemmers/italian";
import { stemmer as norwegianStem } from "@orama/stemmers/norwegian";
import { stemmer as portugueseStem } from "@orama/stemmers/portuguese";
import { stemmer as romanianStem } from "@orama/stemmers/romanian";
import { stemmer as russianStem } from "@orama/stemmers/russian";
import { stemmer as spanishStem } from "@orama/stemmers/spanish";
import { stemmer as swedishStem } from "@orama/stemmers/swedish";
import { stemmer as tamilStem } from "@orama/stemmers/tamil";
import { stemmer as turkishStem } from "@orama/stemmers/turkish";
import { stopwords as ARABIC_STOP_WORDS } from "@orama/stopwords/arabic";
import { stopwords as DANISH_STOP_WORDS } from "@orama/stopwords/danish";
import { stopwords as DUTCH_STOP_WORDS } from "@orama/stopwords/dutch";
import { stopwords as FINNISH_STOP_WORDS } from "@orama/stopwords/finnish";
import { stopwords as FRENCH_STOP_WORDS } from "@orama/stopwords/french";
import { stopwords as GERMAN_STOP_WORDS } from "@orama/stopwords/german";
import { stopwords as GREEK_STOP_WORDS } from "@orama/stopwords/greek";
import { stopwords as HINDI_STOP_WORDS } from "@orama/stopwords/indian";
import { stopwords as HUNGARIAN_STOP_WORDS } from "@orama/stopwords/hungarian";
import { stopwords as ITALIAN_STOP_WORDS } from "@orama/stopwords/italian";
import { stopwords as NORWEGIAN_STOP_WORDS } from "@orama/stopwords/norwegian";
import { stopwords as PORTUGUESE_STOP_WORDS } from "@orama/stopwords/portuguese";
import { stopwords as ROMANIAN_STOP_WORDS } from "@orama/stopwords/romanian";
import { stopwords as RUSSIAN_STOP_WORDS } from "@orama/stopwords/russian";
import { stopwords as SPANISH_STOP_WORDS } from "@orama/stopwords/spanish";
import { stopwords as SWEDISH_STOP_WORDS } from "@orama/stopwords/swedish";
import { stopwords as TURKISH_STOP_WORDS } from "@orama/stopwords/turkish";
import { englishStem } from "../../embed/english_stem.ts";
import { isStopWord, withoutAccents } from "../../embed/words.ts";

/** A language, by its code of two letters (ISO 639-1). */
export type Language =
  | "en"
  | "de"
  | "fr"
  | "es"
  | "it"
  | "pt"
  | "nl"
  | "sv"
  | "da"
  | "no"
  | "fi"
  | "hu"
  | "ro"
  | "tr";

/** What is known of a language. */
interface LanguageRules {
  /** Whether a word in lower case, accents kept, says little. */
  readonly isStopWord: (word: string) => boolean;
  readonly stem: (word: string) => string;
  /** A letter that texts of the other languages seldom have. */
  readonly letters: RegExp;
}

const NONE = /(?!)/;

const RULES: Readonly<Record<Language, LanguageRules>> = {
  en: { isStopWord, stem: englishStem, letters: NONE },
  de: rules(germanStem, {
    words: GERMAN_STOP_WORDS,
    more: "wo wer wann wem wen",
    letters: /[äöüß]/,
  }),
  fr: rules(frenchStem, {
    words: FRENCH_STOP_WORDS,
    more: "où quand quel quelle",
    letters: /[çœèêàù]/,
  }),
  es: rules(spanishStem, {
    words: SPANISH_STOP_WORDS,
    more: "dónde cuándo cuál",
    letters: /[ñáíó¿¡]/,
  }),
  it: rules(italianStem, {
    words: ITALIAN_STOP_WORDS,
    more: "è cosa chi dove quando",
    letters: /[ìò]/,
  }),
  pt: rules(portugueseStem, {
    words: PORTUGUESE_STOP_WORDS,
    more: "onde quando quem qual",
    letters: /[ãõ]/,
  }),
  nl: rules(dutchStem, {
    words: DUTCH_STOP_WORDS,
    more: "waar wanneer wie welke",
    letters: NONE,
  }),
  sv: rules(swedishStem, {
    words: SWEDISH_STOP_WORDS,
    more: "vem var när",
    letters: /å/,
  }),
  da: rules(danishStem, {
    words: DANISH_STOP_WORDS,
    more: "hvem hvor hvornår",
    letters: /[åæø]/,
  }),
  no: rules(norwegianStem, {
    words: NORWEGIAN_STOP_WORDS,
    more: "hvem hvor når",
    letters: /[åæø]/,
  }),
  fi: rules(finnishStem, {
    words: FINNISH_STOP_WORDS,
    more: "missä milloin kuka",
    letters: NONE,
  }),
  hu: rules(hungarianStem, {
    words: HUNGARIAN_STOP_WORDS,
    more: "hol mikor ki",
    letters: /[őű]/,
  }),
  ro: rules(romanianStem, {
    words: ROMANIAN_STOP_WORDS,
    more: "unde când cine",
    letters: /[ășțşţ]/,
  }),
  tr: rules(turkishStem, {
    words: TURKISH_STOP_WORDS,
    more: "nerede kim zaman",
    letters: /[ığş]/,
  }),
};

/** The rules of a script that is not Latin, for all words that are in it. */
interface ScriptRules {
  readonly letters: RegExp;
  readonly isStopWord: (word: string) => boolean;
  readonly stem: (word: string) => string;
}

const SCRIPTS: readonly ScriptRules[] = [
  {
    ...rules(russianStem, { words: RUSSIAN_STOP_WORDS, more: "где кто" }),
    letters: /^\p{Script=Cyrillic}/u,
  },
  {
    ...rules(greekStem, { words: GREEK_STOP_WORDS, more: "πού πότε ποιος" }),
    letters: /^\p{Script=Greek}/u,
  },
  {
    ...rules(arabicStem, { words: ARABIC_STOP_WORDS }),
    letters: /^\p{Script=Arabic}/u,
  },
  {
    ...rules(hindiStem, { words: HINDI_STOP_WORDS }),
    letters: /^\p{Script=Devanagari}/u,
  },
  {
    ...rules(tamilStem, { words: [] }),
    letters: /^\p{Script=Tamil}/u,
  },
  {
    ...rules(armenianStem, { words: [] }),
    letters: /^\p{Script=Armenian}/u,
  },
];

/** All languages; their order is part of stored words. */
export const LANGUAGES = Object.keys(RULES) as readonly Language[];
/** Languages that join words, so that a word may be a part of others. */
const JOINING: ReadonlySet<Language> = new Set(
  ["de", "nl", "sv", "da", "no", "fi", "hu"],
);
/**
 * Languages that a single little word tells; each of the others needs two, as
 * it shares many with these.
 */
const PLAIN: ReadonlySet<Language> = new Set(["en", "de", "fr", "es"]);

/** Whether a language joins words, as German does. */
export function joinsWords(language: Language): boolean {
  return JOINING.has(language);
}

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
/** Little words that tell a language which is not {@linkcode PLAIN}. */
const MIN_SCORE = 2;
/** Letters of Latin scripts in languages that are not known here. */
const OTHER_LETTERS =
  /[ąćčďđěęłńňřśšťůźżžơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]/;
const NOT_LATIN = /^[^\p{Script=Latin}\p{N}]/u;
const LATIN = /^[\p{Script=Latin}\p{M}'’]+$/u;

/**
 * The language of words in lower case with their accents: the one whose little
 * words they have most of. Undefined when none has more than the others.
 */
export function detectLanguage(words: readonly string[]): Language | undefined {
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
  const foreign = told.filter((word) => OTHER_LETTERS.test(word)).length;
  if (foreign > 0 && foreign >= (best?.score ?? 0)) return undefined;
  const isTold = best !== undefined && best.score >= MIN_SCORE &&
    best.score > (next?.score ?? 0);
  if (isTold) return best.language;
  const [plain, other] = scores.filter(({ language }) => PLAIN.has(language));
  return plain !== undefined && plain.score > (other?.score ?? 0)
    ? plain.language
    : undefined;
}

/** The stem of a word in lower case with its accents, without accents. */
export function stemWord(word: string, language: Language): string {
  if (word.length > MAX_STEMMED_CHARS) return withoutAccents(word);
  if (LATIN.test(word)) {
    return language === "en"
      ? englishStem(withoutAccents(word))
      : withoutAccents(RULES[language].stem(word));
  }
  const script = SCRIPTS.find(({ letters }) => letters.test(word));
  return withoutAccents(script?.stem(word) ?? word);
}

/** Whether a word in lower case with its accents says little. */
export function saysLittle(word: string, language: Language): boolean {
  if (RULES[language].isStopWord(word)) return true;
  return NOT_LATIN.test(word) &&
    SCRIPTS.some(({ letters, isStopWord }) =>
      letters.test(word) && isStopWord(word)
    );
}

function rules(
  stem: (word: string) => string,
  { words, more, letters = NONE }: {
    readonly words: readonly string[];
    /** Little words that the package leaves out, with blanks between them. */
    readonly more?: string;
    readonly letters?: RegExp;
  },
): LanguageRules {
  const members = new Set([...words, ...more?.split(" ") ?? []]);
  return { stem, isStopWord: (word) => members.has(word), letters };
}
