/**
 * What of a text its vector is made of.
 *
 * @module
 */

import { finish, type Steps } from "../embed/steps.ts";

/** Longer texts are shortened for their vector; the memory keeps all of it. */
export const MAX_VECTOR_CHARS = 8_192;

/** Where there are no blanks between sentences, the mark alone ends one. */
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]/;
/** Lines between two steps. */
const LINES_PER_STEP = 256;

/**
 * A text of at most {@linkcode MAX_VECTOR_CHARS} characters that is about the
 * same: the first sentence of each line, then as much more of the lines as fits.
 * A vector of a whole book is close to nothing.
 */
export function vectorText(text: string): string {
  return finish(vectorTextSteps(text));
}

/** The steps to a {@linkcode vectorText}: a text may have half a million lines. */
export function* vectorTextSteps(text: string): Steps<string> {
  if (text.length <= MAX_VECTOR_CHARS) return text;
  const parts: string[] = [];
  let chars = 0;
  let lines = 0;
  // Not even a sentence of one character fits when there is no room for two.
  for (let from = 0; from < text.length && chars + 2 <= MAX_VECTOR_CHARS;) {
    if (++lines % LINES_PER_STEP === 0) yield;
    const end = text.indexOf("\n", from);
    const to = end === -1 ? text.length : end;
    const first = firstSentence(text.slice(from, to));
    from = to + 1;
    // A sentence that has no end does not hide those after it.
    if (first === "" || chars + first.length + 1 > MAX_VECTOR_CHARS) continue;
    parts.push(first);
    chars += first.length + 1;
  }
  const head = parts.join("\n");
  const left = MAX_VECTOR_CHARS - head.length - 1;
  if (head === "") return wellFormed(text.slice(0, MAX_VECTOR_CHARS));
  return left <= 0 ? head : wellFormed(`${head}\n${text.slice(0, left)}`);
}

function firstSentence(line: string): string {
  const end = SENTENCE_END.exec(line);
  return (end === null ? line : line.slice(0, end.index + 1)).trim();
}

/** A cut may have parted two halves of one character. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}
