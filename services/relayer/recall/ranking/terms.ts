/**
 * The terms by which a text is found: the stems of its words, and names such as
 * `v2.3.1`, `ERR_FOO-12`, `snakeCase` or an address whole as well as in parts.
 *
 * @module
 */

import { isStopWord, wordsOf } from "../../embed/words.ts";
import { englishStem } from "./english_stem.ts";

/** Of longer texts only the beginning is indexed. */
export const MAX_TERM_TEXT_CHARS = 262_144;
/** Longer words are indexed by their beginning. */
const MAX_TERM_CHARS = 64;
/** Bounded everywhere, so that no text is looked through more than once a char. */
const JOINED =
  /(?<![\p{L}\p{N}])[\p{L}\p{N}]{1,64}(?:[._\-@/:+#]{1,3}[\p{L}\p{N}]{1,64}){1,16}/gu;
const HUMP = /(\p{Ll})(?=\p{Lu})/gu;
const HUMPED = /(?<![\p{L}\p{N}])\p{L}{0,32}\p{Ll}\p{Lu}\p{L}{0,64}/gu;

/**
 * The terms of a text in no particular order, one for each mention. Words that
 * say little are left out, unless the text has no others.
 */
export function termsOf(text: string): readonly string[] {
  const bounded = text.slice(0, MAX_TERM_TEXT_CHARS);
  const words = wordsOf(bounded).map((word) => word.text);
  const telling = words.filter((word) => !isStopWord(word));
  const parts = (bounded.match(HUMPED) ?? []).flatMap((name) =>
    wordsOf(name.replace(HUMP, "$1 ")).map((word) => word.text)
  );
  const wholes = (bounded.match(JOINED) ?? []).map((name) =>
    name.normalize("NFKC").toLowerCase()
  );
  return [
    ...[...(telling.length === 0 ? words : telling), ...parts].map(termOf),
    ...wholes.map((whole) => whole.slice(0, 4 * MAX_TERM_CHARS)),
  ];
}

function termOf(word: string): string {
  return englishStem(word.slice(0, MAX_TERM_CHARS));
}
