/**
 * Cuts the ends off English words, so that "move", "moves", "moved" and "moving"
 * are one. What is left need not be a word; it only has to be the same.
 *
 * @module
 */

const ENGLISH = /^[a-z]{4,}$/;
const VOWEL = /[aeiouy]/;
/** Letters that are doubled before an ending without being so in the word. */
const DOUBLED = /([bdgmnprt])\1$/;

/** The stem of a word in lower case; words of other letters stay. */
export function stem(word: string): string {
  if (!ENGLISH.test(word)) return word;
  const base = withoutTense(withoutPlural(word));
  if (base.length > 3 && base.endsWith("e")) return base.slice(0, -1);
  if (base.length > 2 && base.endsWith("y")) return `${base.slice(0, -1)}i`;
  return base;
}

function withoutPlural(word: string): string {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  for (const ending of ["ing", "ed"]) {
    if (!word.endsWith(ending)) continue;
    const rest = word.slice(0, -ending.length);
    if (rest.length < 3 || !VOWEL.test(rest)) return word;
    return DOUBLED.test(rest) ? rest.slice(0, -1) : rest;
  }
  return word;
}
