/**
 * The words of a text, in any script.
 *
 * Made of regular expressions alone: a segmenter of the runtime knows more of
 * languages that have no spaces, but not the same in each version, and vectors
 * that were made with an earlier one would no longer fit.
 *
 * @module
 */

/** Letters and digits, with apostrophes between them. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu;
/** Scripts that set no spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
/** Marks above and below Latin, Greek and Cyrillic letters. */
const ACCENT = /[\u0300-\u036f]/g;
const POSSESSIVE = /['’]s$/;
const APOSTROPHE = /['’]/g;
/**
 * No script sets so many marks on a letter (UAX #15, Stream-Safe Text Format), and
 * putting n of them in their order takes n² steps. The two at the end are no marks
 * until they are folded.
 */
const MARKS_BEYOND_BOUND = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
/** Some characters stand for 18; a text of nothing else is none to compare. */
const MAX_GROWTH = 4;
const GROWTH_CHARS = 64;

/** A word of a text. */
export interface Word {
  /** In lower case, without accents and apostrophes. */
  readonly text: string;
  /** Whether it is a piece of a text that has no spaces. */
  readonly isPiece: boolean;
}

/**
 * The words in their order. Where a script sets no spaces, each character and
 * each pair of neighbours stands for a word.
 */
export function wordsOf(text: string): readonly Word[] {
  const folded = lowered(text).normalize("NFD").replace(ACCENT, "")
    .normalize("NFC");
  return (folded.match(WORD) ?? []).flatMap(splitScripts);
}

/** In lower case, and no longer than a text of that length may be. */
function lowered(text: string): string {
  return withBoundedMarks(text).normalize("NFKC").toLowerCase()
    .slice(0, MAX_GROWTH * text.length + GROWTH_CHARS);
}

/** A text whose characters have no more marks than any script sets. */
export function withBoundedMarks(text: string): string {
  return text.replace(MARKS_BEYOND_BOUND, "$1");
}

function splitScripts(run: string): readonly Word[] {
  const words: Word[] = [];
  let from = 0;
  for (const match of run.matchAll(UNSPACED)) {
    words.push(...spaced(run.slice(from, match.index)));
    words.push(...pieces(match[0]));
    from = match.index + match[0].length;
  }
  return [...words, ...spaced(run.slice(from))];
}

function spaced(run: string): readonly Word[] {
  const text = run.replace(POSSESSIVE, "").replace(APOSTROPHE, "");
  return text === "" ? [] : [{ text, isPiece: false }];
}

function pieces(run: string): readonly Word[] {
  const characters = [...run];
  return characters.flatMap((character, at) => {
    const next = characters[at + 1];
    const single = { text: character, isPiece: true };
    if (next === undefined) return [single];
    return [single, { text: character + next, isPiece: true }];
  });
}
