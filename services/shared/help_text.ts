/**
 * Plain text for `--help`: terms on the left, their meaning on the right.
 *
 * @module
 */

/** Options of {@linkcode helpEntry}. */
export interface HelpEntryOptions {
  /**
   * Column at which the meaning begins, counted from 0.
   *
   * @default {30}
   */
  readonly column?: number;
  /**
   * Columns of a line at most; a longer word stays whole.
   *
   * @default {90}
   */
  readonly width?: number;
}

/**
 * Lines of one entry: the term, two columns in, and its meaning beside it, or
 * below it when the term is too long.
 */
export function helpEntry(
  term: string,
  meaning: string,
  options: HelpEntryOptions = {},
): readonly string[] {
  const { column = 30, width = 90 } = options;
  const indent = " ".repeat(column);
  const wrapped = wrapText(meaning, width - column);
  const left = `  ${term}`;
  const fits = left.length <= column - 2;
  const first = fits ? `${left.padEnd(column)}${wrapped[0] ?? ""}` : left;
  const rest = fits ? wrapped.slice(1) : wrapped;
  return [first, ...rest.map((line) => indent + line)]
    .map((line) => line.trimEnd());
}

/** Breaks a text between words into lines of at most `width` columns. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && longer.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return line === "" ? lines : [...lines, line];
}
