/**
 * Words that tell of one fact in other words: who moved lives elsewhere now, and
 * a question asks where he lives. Only words of facts that change are here, in
 * English and German; a model knows more of them.
 *
 * @module
 */

import { englishStem } from "../../embed/english_stem.ts";
import { stemOf } from "./languages.ts";

/** The first word is asked for, the others tell of it. */
const ENGLISH = [
  "live move relocate reside settle",
  "work job join employ hire employer",
  "job work join employ hire",
  "drive car vehicle",
  "husband marry married",
  "wife marry married",
  "partner marry married engaged",
  "supplier buy supply",
  "address move live",
  "home live move",
  "employer job work join",
  "salary earn pay",
  "school study enroll",
  "phone mobile call",
];
const GERMAN = [
  "wohnen leben ziehen gezogen umgezogen umziehen",
  "wohnt leben ziehen gezogen zog umgezogen umziehen",
  "leben wohnen gezogen umgezogen",
  "arbeiten job stelle anfangen gewechselt",
  "arbeitet job stelle anfangen gewechselt",
  "fahren auto",
  "adresse umgezogen wohnen",
];

const RELATED: ReadonlyMap<string, readonly string[]> = new Map([
  ...ENGLISH.map((line) => related(line, englishStem)),
  ...GERMAN.map((line) => related(line, (word) => stemOf(word, "de"))),
]);

/** The terms that tell of the same as any of the terms; none for most. */
export function relatedTerms(terms: readonly string[]): readonly string[] {
  return terms.flatMap((term) => RELATED.get(term) ?? []);
}

function related(
  line: string,
  stem: (word: string) => string,
): readonly [string, readonly string[]] {
  const [asked = "", ...others] = line.split(" ").map(stem);
  return [asked, [...new Set(others)].filter((term) => term !== asked)];
}
