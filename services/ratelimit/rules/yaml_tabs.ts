/**
 * Finds tabs where YAML wants spaces. Parsers differ on them: one that takes a
 * tab for no indentation at all moves a rule up a level, so no parser is asked.
 *
 * @module
 */

/** Dashes of list items and blanks: what decides the level of what follows. */
const INDENTATION = /(?:[ \t]*[-?](?=[ \t]))*[ \t]*/y;

/**
 * The line (from 1) whose indentation holds a tab; undefined without one.
 * Tabs in comments, in quoted and in block texts, between brackets and behind a
 * colon are none of it.
 */
export function tabInIndentation(text: string): number | undefined {
  if (!text.includes("\t")) return undefined;
  const scan = new Scan();
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    if (scan.isTabIndented(line)) return index + 1;
  }
  return undefined;
}

/** A block text begins: its mark is the last thing in a line. */
const BLOCK_MARK = /[|>][-+\d]*[ \t]*(?:#.*)?$/y;
/** An anchor, alias or tag, or a plain text up to a value or comment. */
const PLAIN = /(?:[&*!]\S*|.*?(?=:\s|:$|\s#|$))/y;
/** The same between brackets, where more ends it. */
const BRACKETED = /(?:[&*!][^\s,[\]{}]*|[^,[\]{}]*?(?=[,[\]{}]|:\s|:$|\s#|$))/y;
const QUOTED = { '"': /(?:\\.|[^"\\])*\\?/y, "'": /(?:''|[^'])*/y } as const;

/** Where a line begins, by the lines before it. */
class Scan {
  /** The mark that ends a quoted text which goes on over lines. */
  #quote: keyof typeof QUOTED | undefined;
  /** The column that a block text must stand to the right of. */
  #blockColumn: number | undefined;
  /** How many brackets are open. */
  #brackets = 0;

  /** Takes the next line. */
  isTabIndented(line: string): boolean {
    if (this.#quote !== undefined) {
      this.#tokens(line, this.#endOfQuote(line, 0));
      return false;
    }
    if (line.trim() === "") return false;
    if (this.#blockColumn !== undefined) {
      if (line.search(/[^ ]/) > this.#blockColumn) return false;
      this.#blockColumn = undefined;
    }
    const indent = lengthAt(INDENTATION, line, 0);
    if (line[indent] === "#") return false;
    if (this.#brackets === 0 && line.slice(0, indent).includes("\t")) {
      return true;
    }
    this.#tokens(line, indent);
    return false;
  }

  /** Reads from where a key or value may begin to the end of the line. */
  #tokens(line: string, from: number): void {
    let at = from;
    while (at < line.length) {
      const char = line[at]!;
      if (char === "#") return;
      if (char === '"' || char === "'") {
        this.#quote = char;
        at = this.#endOfQuote(line, at + 1);
      } else if (
        this.#brackets === 0 && lengthAt(BLOCK_MARK, line, at) > 0
      ) {
        this.#blockColumn = blockColumnOf(line, at);
        return;
      } else {
        at += this.#skip(line, at);
      }
    }
  }

  /** The length of a blank, a bracket, a comma or a plain text with its colon. */
  #skip(line: string, at: number): number {
    const char = line[at]!;
    if (char === "[" || char === "{") this.#brackets += 1;
    if (char === "]" || char === "}") {
      this.#brackets = Math.max(0, this.#brackets - 1);
    }
    if (" \t[]{},".includes(char)) return 1;
    const plain = this.#brackets > 0 ? BRACKETED : PLAIN;
    const length = lengthAt(plain, line, at);
    return Math.max(1, line[at + length] === ":" ? length + 1 : length);
  }

  /** Where it goes on behind a quoted text; the end when that goes on, too. */
  #endOfQuote(line: string, from: number): number {
    if (this.#quote === undefined) return from;
    const end = from + lengthAt(QUOTED[this.#quote], line, from);
    if (end >= line.length) return line.length;
    this.#quote = undefined;
    return line[end + 1] === ":" ? end + 2 : end + 1;
  }
}

/** A block text stands to the right of its key, or of the dash before it. */
function blockColumnOf(line: string, at: number): number {
  const indent = lengthAt(INDENTATION, line, 0);
  return at > indent ? indent : line.slice(0, indent).trimEnd().length - 1;
}

function lengthAt(pattern: RegExp, line: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0].length ?? 0;
}
