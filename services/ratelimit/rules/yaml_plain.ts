/**
 * Reads the plain part of YAML, in which nearly all rule files are written:
 * block maps and lists, scalars and `{flow: maps}` of one line, comments. It is
 * read entry by entry, without a tree, in a tenth of the time that the full
 * YAML parser takes; a text that uses anything else is left to the full parser.
 *
 * @module
 */

import { parse } from "@std/yaml";
import { scalar, type YamlNode, type YamlScalar } from "./yaml_tree.ts";

/** Thrown when a text uses more than the plain part of YAML. */
export class NotPlain extends Error {}

/**
 * Characters that a plain text does not have, as they may mean more: tabs,
 * other line ends, and all that isn't ASCII.
 */
const OTHER_CHARACTERS = /[^\x20-\x7e\n]/;
/** A plain scalar with nothing that could end it or begin something else. */
const PLAIN =
  "[A-Za-z0-9_./+~^$(-](?:[A-Za-z0-9_./+~^$()*=;<>@&|-]|:(?=[A-Za-z0-9/])| (?=[A-Za-z0-9_./])){0,2000}";
const SCALAR = `(${PLAIN})|"([^"\\\\\\n]{0,2000})"|'([^'\\n]{0,2000})'`;
const KEY = "([A-Za-z][A-Za-z0-9_.-]{0,200})";
/** The end of a line after a value, for {@linkcode plainItem}. */
export const LINE_END = " *(?: #.*)?\\n";
/** The most common plain texts, for {@linkcode plainItem}. */
export const PLAIN_WORD = "[A-Za-z][A-Za-z0-9_./+~^$()*=;<>@&|-]*";
/**
 * An entry of a block map: a key, then a plain scalar, a quoted one of either
 * kind, an open bracket or nothing.
 */
const BLOCK_ENTRY = new RegExp(
  `${KEY}:(?: +(?:(?:${SCALAR})${LINE_END}|(\\{))|${LINE_END})`,
  "y",
);
/** An entry between brackets, and what stands behind it. */
const FLOW_ENTRY = new RegExp(
  ` *${KEY}: +(?:(?:${SCALAR}) *([,}])|(\\{))`,
  "y",
);
/** A scalar that is an item of a list. */
const ITEM = new RegExp(`(?:${SCALAR})${LINE_END}`, "y");
const FLOW_EMPTY = / *\}/y;
const FLOW_NEXT = / *([,}])/y;
const AFTER_FLOW = new RegExp(LINE_END, "y");
const DASHES = /- +/y;
const DOCUMENT_START = /--- *\n/y;

/**
 * Returns a pattern for a list item that is a map of exactly these entries, one
 * below the other.
 *
 * @param first The first entry, with one capture.
 * @param others The entries below it, in the column of the second capture.
 */
export function plainItem(first: string, others: string): RegExp {
  const blankLines = "(?: *(?:#.*)?\\n)*";
  return new RegExp(
    `${first}${LINE_END}( +)${others}${LINE_END}` +
      `(?=${blankLines}(?!\\2) *(?:[^ #\\n]|$))`,
    "y",
  );
}

const NULL_WORDS: readonly string[] = ["null", "Null", "NULL"];
const TRUE_WORDS: readonly string[] = ["true", "True", "TRUE"];
const FALSE_WORDS: readonly string[] = ["false", "False", "FALSE"];
/** Words that look like text and mean another value. */
const WORDS: readonly string[] = [
  ...NULL_WORDS,
  ...TRUE_WORDS,
  ...FALSE_WORDS,
];
const NULL = scalar(null, "");
/** Most digits of a number that is exact. */
const MAX_DIGITS = 15;
const MAX_DEPTH = 50;
/** Stands for the column of a map between brackets. */
const IN_BRACKETS = -1;

const DASH = 0x2d;
const SPACE = 0x20;
const LINE_FEED = 0x0a;
const HASH = 0x23;

/**
 * Walks through a text from entry to entry. The caller reads the value of an
 * entry, by one of the methods below, before it goes to the next one.
 *
 * A map is identified by the column of its keys, a list by that of its dashes.
 *
 * @throws {NotPlain} From every method.
 */
export class PlainCursor {
  readonly #text: string;
  #at = 0;
  #line = 1;
  /** True when the cursor is behind a dash, at the first key of an item. */
  #isBehindDash = false;
  /** True when the map between brackets that is being read has ended. */
  #isFlowEnd = false;
  /** Number of maps and lists around the cursor. */
  #depth = 0;
  #key = "";
  #plain: string | undefined;
  #quoted: string | undefined;
  /** True when the value is a map between brackets. */
  #isFlow = false;
  /** The column of the entry's key. */
  #column = 0;

  /** Makes a cursor before the first entry. */
  constructor(text: string) {
    if (OTHER_CHARACTERS.test(text)) throw new NotPlain();
    this.#text = text.endsWith("\n") ? text : `${text}\n`;
    this.#skipBlank();
    DOCUMENT_START.lastIndex = this.#at;
    if (!DOCUMENT_START.test(this.#text)) return;
    this.#at = DOCUMENT_START.lastIndex;
    this.#line++;
    this.#skipBlank();
  }

  /** The key of the entry. */
  get key(): string {
    return this.#key;
  }

  /** The line of the cursor, counted from 1. */
  get line(): number {
    return this.#line;
  }

  /** True when all has been read. */
  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Goes to the next entry of a map; false when the map has ended. */
  nextEntry(map: number): boolean {
    return map === IN_BRACKETS ? this.#nextInBrackets() : this.#nextLine(map);
  }

  #nextLine(map: number): boolean {
    if (this.#isBehindDash) this.#isBehindDash = false;
    else {
      if (this.#at === this.#text.length) return false;
      const column = this.#indent();
      if (
        column < map ||
        this.#text.charCodeAt(this.#at + column) === DASH
      ) return false;
      if (column > map) throw new NotPlain();
      this.#at += column;
    }
    BLOCK_ENTRY.lastIndex = this.#at;
    const found = BLOCK_ENTRY.exec(this.#text);
    if (found === null) throw new NotPlain();
    this.#at = BLOCK_ENTRY.lastIndex;
    this.#isFlow = found[5] !== undefined;
    this.#column = map;
    this.#take(found, 1);
    if (!this.#isFlow) this.#endLine();
    return true;
  }

  #nextInBrackets(): boolean {
    if (this.#isFlowEnd) {
      this.#isFlowEnd = false;
      return false;
    }
    FLOW_ENTRY.lastIndex = this.#at;
    const found = FLOW_ENTRY.exec(this.#text);
    if (found === null) throw new NotPlain();
    this.#at = FLOW_ENTRY.lastIndex;
    this.#isFlow = found[6] !== undefined;
    this.#isFlowEnd = found[5] === "}";
    this.#column = IN_BRACKETS;
    this.#take(found, 1);
    return true;
  }

  /** Takes the captures of a key and of a scalar. */
  #take(found: RegExpExecArray, first: number): void {
    this.#key = found[first]!;
    this.#plain = found[first + 1];
    this.#quoted = found[first + 2] ?? found[first + 3];
    if (isWord(this.#key)) throw new NotPlain();
  }

  /** Enters the map that is the value of the entry. */
  #enterMap(): number {
    if (this.#isFlow) return this.#enterBrackets();
    const column = this.#columnBelow();
    if (column === undefined) throw new NotPlain();
    this.#enter();
    return column;
  }

  #enterBrackets(): number {
    this.#enter();
    FLOW_EMPTY.lastIndex = this.#at;
    if (FLOW_EMPTY.test(this.#text)) {
      this.#at = FLOW_EMPTY.lastIndex;
      this.#isFlowEnd = true;
    }
    return IN_BRACKETS;
  }

  /**
   * Leaves a map; `outer` is the map or list around it.
   */
  leave(map: number, outer: number): void {
    this.#depth--;
    if (map !== IN_BRACKETS) return;
    if (outer !== IN_BRACKETS) {
      AFTER_FLOW.lastIndex = this.#at;
      if (!AFTER_FLOW.test(this.#text)) throw new NotPlain();
      this.#at = AFTER_FLOW.lastIndex;
      return this.#endLine();
    }
    FLOW_NEXT.lastIndex = this.#at;
    const end = FLOW_NEXT.exec(this.#text);
    if (end === null) throw new NotPlain();
    this.#at = FLOW_NEXT.lastIndex;
    this.#isFlowEnd = end[1] === "}";
  }

  /**
   * Enters the list that is the value of the entry; undefined when there is no
   * value.
   */
  enterList(): number | undefined {
    const column = this.#columnBelow();
    if (column === undefined) return undefined;
    if (this.#text.charCodeAt(this.#at + column) !== DASH) throw new NotPlain();
    return column;
  }

  /**
   * Goes to the next item of the list, behind its dash; false when the list has
   * ended.
   */
  nextItem(list: number): boolean {
    if (this.#at === this.#text.length || this.#indent() !== list) return false;
    DASHES.lastIndex = this.#at + list;
    if (!DASHES.test(this.#text)) {
      if (this.#text.charCodeAt(this.#at + list) !== DASH) return false;
      throw new NotPlain();
    }
    this.#column = DASHES.lastIndex - this.#at;
    this.#at = DASHES.lastIndex;
    return true;
  }

  /**
   * Takes the item if it matches a {@linkcode plainItem}, which is a tenth of
   * the work of walking through it.
   *
   * @returns The captures; undefined when it does not match.
   */
  takeItem(pattern: RegExp): RegExpExecArray | undefined {
    if (this.#depth > MAX_DEPTH - 2) return undefined;
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null || found[2]!.length !== this.#column) return undefined;
    if (found.some((text) => text !== undefined && isWord(text))) {
      return undefined;
    }
    while (this.#at < pattern.lastIndex) {
      this.#at = this.#text.indexOf("\n", this.#at) + 1;
      this.#line++;
    }
    this.#skipBlank();
    return found;
  }

  /** Enters the map that is the item; undefined for a scalar. */
  enterItem(): number | undefined {
    if (this.#text[this.#at] === "{") {
      this.#at++;
      return this.#enterBrackets();
    }
    ITEM.lastIndex = this.#at;
    if (ITEM.test(this.#text)) return undefined;
    this.#isBehindDash = true;
    this.#enter();
    return this.#column;
  }

  #scalar(): YamlScalar | undefined {
    const quoted = this.#quoted;
    if (quoted !== undefined) {
      return { ...scalar(quoted, quoted), isQuoted: true };
    }
    return this.#plain === undefined ? undefined : plainScalar(this.#plain);
  }

  /** Returns the value of the entry, of any kind. */
  node(): YamlNode {
    const single = this.#scalar();
    if (single !== undefined) return single;
    const outer = this.#column;
    if (!this.#isFlow) {
      const column = this.#columnBelow();
      if (column === undefined) return NULL;
      if (this.#text.charCodeAt(this.#at + column) === DASH) {
        return this.#listNode(column);
      }
    }
    return this.#mapNode(this.#enterMap(), outer);
  }

  #mapNode(map: number, outer: number): YamlNode {
    const entries = new Map<string, YamlNode>();
    while (this.nextEntry(map)) {
      const { key } = this;
      if (entries.has(key)) throw new NotPlain();
      entries.set(key, this.node());
    }
    this.leave(map, outer);
    return { kind: "map", entries };
  }

  #listNode(list: number): YamlNode {
    this.#enter();
    const items: YamlNode[] = [];
    while (this.nextItem(list)) {
      const map = this.enterItem();
      items.push(
        map === undefined ? this.#itemScalar() : this.#mapNode(map, list),
      );
    }
    this.#depth--;
    return { kind: "list", items };
  }

  #itemScalar(): YamlNode {
    ITEM.lastIndex = this.#at;
    const found = ITEM.exec(this.#text);
    if (found === null) throw new NotPlain();
    this.#at = ITEM.lastIndex;
    this.#endLine();
    this.#plain = found[1];
    this.#quoted = found[2] ?? found[3];
    return this.#scalar() ?? NULL;
  }

  /** Returns the column of the lines under the key; undefined without any. */
  #columnBelow(): number | undefined {
    const isValue = this.#plain !== undefined || this.#quoted !== undefined;
    if (isValue || this.#isFlow || this.#column === IN_BRACKETS) {
      throw new NotPlain();
    }
    if (this.#at === this.#text.length) return undefined;
    const column = this.#indent();
    // A list may stand in the column of its key.
    const isBelow = column > this.#column ||
      (column === this.#column &&
        this.#text.charCodeAt(this.#at + column) === DASH);
    return isBelow ? column : undefined;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new NotPlain();
  }

  /** Returns the number of blanks at the beginning of the line. */
  #indent(): number {
    let end = this.#at;
    while (this.#text.charCodeAt(end) === SPACE) end++;
    return end - this.#at;
  }

  #endLine(): void {
    this.#line++;
    this.#skipBlank();
  }

  #skipBlank(): void {
    while (this.#at < this.#text.length) {
      const char = this.#text.charCodeAt(this.#at + this.#indent());
      if (char !== LINE_FEED && char !== HASH) return;
      this.#at = this.#text.indexOf("\n", this.#at) + 1;
      this.#line++;
    }
  }
}

function plainScalar(written: string): YamlScalar {
  if (isLetter(written.charCodeAt(0))) {
    if (!isWord(written)) return scalar(written, written);
    const isNull = NULL_WORDS.includes(written);
    return scalar(isNull ? null : TRUE_WORDS.includes(written), written);
  }
  if (written.length <= MAX_DIGITS && /^(?:0|[1-9][0-9]*)$/.test(written)) {
    return scalar(Number(written), written);
  }
  // The scalar may be more than text, such as `-5`, `.inf` or `10.0.0.1`. `---`
  // and `...` would end the document if they stood alone.
  if (/^(?:---|\.\.\.)/.test(written)) throw new NotPlain();
  const value: unknown = parse(written, { schema: "core" });
  if (typeof value === "object" && value !== null) throw new NotPlain();
  return scalar(value, written);
}

/** True for one of {@linkcode WORDS}, which have four or five letters. */
function isWord(text: string): boolean {
  return (text.length === 4 || text.length === 5) && WORDS.includes(text);
}

function isLetter(char: number): boolean {
  return (char | 0x20) >= 0x61 && (char | 0x20) <= 0x7a;
}
