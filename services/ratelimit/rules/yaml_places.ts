/**
 * Finds lines in a YAML text: the line of a path in it, and of a tab that
 * indents. The parser gives values without positions, so this reads the
 * indentation of block style itself; where a document uses flow style, anchors
 * or tabs, the nearest line above is returned.
 *
 * @module
 */

import type { ConfigPath } from "./config.ts";

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
}

/**
 * Returns a function that gives the line (from 1) of a path in `text`;
 * undefined when not even its first step is found.
 */
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

/**
 * Lines that belong together; indexed once, however often they are searched.
 */
class Block {
  readonly #lines: readonly Line[];
  #values: ReadonlyMap<string, Found> | undefined;
  #items: readonly Found[] | undefined;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  /** Returns what is under a key, or the item of a sequence at an index. */
  find(step: string | number): Found | undefined {
    if (typeof step === "number") {
      this.#items ??= findItems(this.#lines);
      return this.#items[step];
    }
    this.#values ??= findValues(this.#lines);
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

/**
 * Returns the blocks of a block mapping by key; of a duplicate key the first.
 */
function findValues(lines: readonly Line[]): ReadonlyMap<string, Found> {
  const values = new Map<string, Found>();
  const starts = lines.flatMap((line, at) =>
    // A list may stand at the indentation of its key.
    line.indent === lines[0]?.indent && !isItem(line.text) ? [at] : []
  );
  for (const [index, start] of starts.entries()) {
    const line = lines[start]!;
    const key = parseKey(line.text);
    if (key === undefined || values.has(key)) continue;
    const block = new Block(lines.slice(start + 1, starts[index + 1]));
    values.set(key, { line: line.number, block });
  }
  return values;
}

/** Returns the items of a block sequence, without their dashes. */
function findItems(lines: readonly Line[]): readonly Found[] {
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

function parseKey(text: string): string | undefined {
  const match = /^(?:"([^"]*)"|'([^']*)'|([^\s"'#{[][^:]*?))\s*:(?:\s|$)/.exec(
    text,
  );
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

/**
 * The indentation of a line: blanks and dashes of list items, which decide the
 * level of what follows.
 */
const INDENTATION = /(?:[ \t]*[-?](?=[ \t]))*[ \t]*/y;

/**
 * Returns the line (from 1) whose indentation has a tab; undefined without one.
 * Tabs in comments, in quoted and in block texts, between brackets and behind a
 * colon do not count.
 */
export function tabInIndentation(text: string): number | undefined {
  if (!text.includes("\t")) return undefined;
  const scan = new Scan();
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    if (scan.isTabIndented(line)) return index + 1;
  }
  return undefined;
}

/** The mark that begins a block text: the last thing in its line. */
const BLOCK_MARK = /[|>][-+\d]*[ \t]*(?:#.*)?$/y;
/** An anchor, alias or tag, or a plain text up to a value or comment. */
const PLAIN = /(?:[&*!]\S*|.*?(?=:\s|:$|\s#|$))/y;
/** The same between brackets, where more characters end it. */
const BRACKETED = /(?:[&*!][^\s,[\]{}]*|[^,[\]{}]*?(?=[,[\]{}]|:\s|:$|\s#|$))/y;
const QUOTED = { '"': /(?:\\.|[^"\\])*\\?/y, "'": /(?:''|[^'])*/y } as const;

/**
 * The state of the scan at the beginning of a line, from the lines before it.
 */
class Scan {
  /** The quotation mark of a text that goes on in the next line. */
  #quote: keyof typeof QUOTED | undefined;
  /**
   * Column of the block text being read: its lines stand to the right of it.
   */
  #blockColumn: number | undefined;
  /** Number of open brackets. */
  #brackets = 0;

  /** Takes the next line; tells whether a tab indents it. */
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
        this.#blockColumn = findBlockColumn(line, at);
        return;
      } else {
        at += this.#skip(line, at);
      }
    }
  }

  /**
   * Returns the length of a blank, a bracket, a comma or a plain text with its
   * colon.
   */
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

  /**
   * Returns the index behind a quoted text; the end of the line when the text
   * goes on in the next one.
   */
  #endOfQuote(line: string, from: number): number {
    if (this.#quote === undefined) return from;
    const end = from + lengthAt(QUOTED[this.#quote], line, from);
    if (end >= line.length) return line.length;
    this.#quote = undefined;
    return line[end + 1] === ":" ? end + 2 : end + 1;
  }
}

/**
 * Returns the column of a block text's key, or of the dash before it: the text
 * stands to the right of that.
 */
function findBlockColumn(line: string, at: number): number {
  const indent = lengthAt(INDENTATION, line, 0);
  return at > indent ? indent : line.slice(0, indent).trimEnd().length - 1;
}

function lengthAt(pattern: RegExp, line: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0].length ?? 0;
}
