/**
 * Lines of faults in a YAML text: the line of a place in it, and of tabs that
 * indent. The parser gives values without positions, so this reads the
 * indentation of block style itself; where a document uses flow style, anchors
 * or tabs, the nearest line above is named.
 *
 * @module
 */

import type { ConfigPath } from "./config.ts";

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
}

/** A function that gives the line (from 1) of a place in `text`. */
export function createLocator(
  text: string,
): (path: ConfigPath) => number | undefined {
  let root: Block | undefined;
  return (path) => {
    let block = root ??= new Block(readLines(text));
    let found: number | undefined;
    for (const step of path) {
      const next = block.find(step);
      if (next === undefined) return found;
      found = next.line;
      block = next.block;
    }
    return found;
  };
}

interface Found {
  readonly line: number;
  readonly block: Block;
}

/** Lines that belong together; looked through once, however often asked. */
class Block {
  readonly #lines: readonly Line[];
  #values: ReadonlyMap<string, Found> | undefined;
  #items: readonly Found[] | undefined;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  /** What stands under a key, or at a place of a sequence. */
  find(step: string | number): Found | undefined {
    if (typeof step === "number") {
      this.#items ??= itemsOf(this.#lines);
      return this.#items[step];
    }
    this.#values ??= valuesOf(this.#lines);
    return this.#values.get(step);
  }
}

function readLines(text: string): Line[] {
  const lines: Line[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const trimmed = raw.trimStart();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    // Only the first document counts.
    if (/^---(\s|$)/.test(raw)) {
      if (lines.length > 0) break;
      continue;
    }
    lines.push({
      number: index + 1,
      indent: raw.length - trimmed.length,
      text: trimmed,
    });
  }
  return lines;
}

/** The blocks of a block mapping by key; of a key given twice the first. */
function valuesOf(lines: readonly Line[]): ReadonlyMap<string, Found> {
  const values = new Map<string, Found>();
  const starts = lines.flatMap((line, at) =>
    // A list may stand at the indentation of its key.
    line.indent === lines[0]?.indent && !isItem(line.text) ? [at] : []
  );
  for (const [index, start] of starts.entries()) {
    const line = lines[start]!;
    const key = keyOf(line.text);
    if (key === undefined || values.has(key)) continue;
    const block = new Block(lines.slice(start + 1, starts[index + 1]));
    values.set(key, { line: line.number, block });
  }
  return values;
}

/** The items of a block sequence, their dashes taken off. */
function itemsOf(lines: readonly Line[]): readonly Found[] {
  const starts = lines.flatMap((line, at) =>
    line.indent === lines[0]?.indent && isItem(line.text) ? [at] : []
  );
  return starts.map((start, index) => {
    const first = lines[start]!;
    const rest = first.text.slice(1);
    const content = rest.trimStart();
    const inside = lines.slice(start + 1, starts[index + 1]);
    const head: Line = {
      number: first.number,
      indent: first.indent + 1 + rest.length - content.length,
      text: content,
    };
    return {
      line: first.number,
      block: new Block(content === "" ? inside : [head, ...inside]),
    };
  });
}

function isItem(text: string): boolean {
  return text === "-" || text.startsWith("- ");
}

function keyOf(text: string): string | undefined {
  const match = /^(?:"([^"]*)"|'([^']*)'|([^\s"'#{[][^:]*?))\s*:(?:\s|$)/.exec(
    text,
  );
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

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
