/**
 * What of a text its vector is made of.
 *
 * @module
 */

/** Longer texts are shortened for their vector; the memory keeps all of it. */
export const MAX_VECTOR_CHARS = 8_192;

const LINE = /[^\n]+/g;
/** Where there are no blanks between sentences, the mark alone ends one. */
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]/;

/**
 * A text of at most {@linkcode MAX_VECTOR_CHARS} characters that is about the
 * same: the first sentence of each line, then as much more of the lines as fits.
 * A vector of a whole book is close to nothing.
 */
export function vectorText(text: string): string {
  if (text.length <= MAX_VECTOR_CHARS) return text;
  const lines = text.match(LINE) ?? [];
  const firsts = lines.map(firstSentence).filter((first) => first !== "");
  const parts: string[] = [];
  let chars = 0;
  for (const first of firsts) {
    // A sentence that has no end does not hide those after it.
    if (chars + first.length + 1 > MAX_VECTOR_CHARS) continue;
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
