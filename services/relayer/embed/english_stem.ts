/**
 * Stems of English words by Snowball's "Porter2", as published at
 * https://snowballstem.org/algorithms/english/stemmer.html, and of irregular
 * forms, which it leaves out. Vectors and stored words are made of these stems:
 * a change of them needs another model name and another version of words.
 *
 * @module
 */

import { BASES } from "./irregular_forms.ts";

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
  return regularStem(BASES.get(word) ?? word);
}

function regularStem(word: string): string {
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
