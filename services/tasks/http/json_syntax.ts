/**
 * Finds where a text stops being JSON (RFC 8259), for the error message: the
 * runtime's parser does not always tell the place.
 *
 * @module
 */

/** The first syntax error of a text. */
interface JsonSyntaxFault {
  /** The line, from 1. */
  readonly line: number;
  /** The column within the line in UTF-16 units, from 1. */
  readonly column: number;
  /** What should be there. */
  readonly expected: string;
  /** Whether the text ends too early. */
  readonly isEnd: boolean;
}

const LINE_FEED = 0x0a;
const SPACE = " \t\n\r";
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const UNICODE_ESCAPE = /\\u[0-9a-fA-F]{4}/y;
const ESCAPED = '"\\/bfnrt';

/** What the syntax expects next. */
type SyntaxState =
  | "value"
  | "first_item"
  | "first_name"
  | "name"
  | "after";

/** A place up to which a text may be JSON. */
export interface SyntaxPlace {
  /** The offset of the place, in UTF-16 units or bytes. */
  readonly at: number;
  /** The lists and objects that are open at the place, the outermost first. */
  readonly open: readonly ("list" | "object")[];
  /** What the syntax expects at the place. */
  readonly state: SyntaxState;
}

type State = SyntaxState | "colon";

const BEGIN: SyntaxPlace = { at: 0, open: [], state: "value" };

/**
 * Finds the first syntax error of a text; `undefined` when the text is JSON.
 * Everything before the place `from`, in UTF-16 units, is known to be valid.
 */
export function jsonSyntaxFault(
  text: string,
  from: SyntaxPlace = BEGIN,
): JsonSyntaxFault | undefined {
  return new Scanner(text, from).scan();
}

class Scanner {
  readonly #text: string;
  // Copies of this scanner's own, since a sticky expression stores its
  // position.
  readonly #number = new RegExp(NUMBER);
  readonly #word = new RegExp(WORD);
  readonly #escape = new RegExp(UNICODE_ESCAPE);
  readonly #open: ("list" | "object")[];
  #offset: number;
  #state: State;

  constructor(text: string, { at, open, state }: SyntaxPlace) {
    this.#text = text;
    this.#open = [...open];
    this.#offset = at;
    this.#state = state;
  }

  scan(): JsonSyntaxFault | undefined {
    while (true) {
      this.#skipSpace();
      if (this.#state === "after" && this.#open.length === 0) {
        return this.#offset === this.#text.length
          ? undefined
          : this.#fault("the end");
      }
      const expected = this.#step();
      if (expected !== undefined) return this.#fault(expected);
    }
  }

  /**
   * Reads the next token. Returns what was expected when the token is wrong.
   */
  #step(): string | undefined {
    const next = this.#text[this.#offset];
    switch (this.#state) {
      case "after":
        return this.#separator(next);
      case "colon":
        if (next !== ":") return '":"';
        this.#offset++;
        this.#state = "value";
        return undefined;
      case "first_name":
        if (next === "}") return this.#close();
        return next === '"' ? this.#string("colon") : 'a name or "}"';
      case "name":
        return next === '"' ? this.#string("colon") : "a name";
      case "first_item":
        if (next === "]") return this.#close();
        return this.#value(next, 'a value or "]"');
      case "value":
        return this.#value(next, "a value");
    }
  }

  #separator(next: string | undefined): string | undefined {
    const isList = this.#open.at(-1) === "list";
    if (next === ",") {
      this.#offset++;
      this.#state = isList ? "value" : "name";
      return undefined;
    }
    const end = isList ? "]" : "}";
    return next === end ? this.#close() : `"," or "${end}"`;
  }

  #value(next: string | undefined, expected: string): string | undefined {
    if (next === '"') return this.#string("after");
    if (next === "{" || next === "[") {
      this.#offset++;
      this.#open.push(next === "[" ? "list" : "object");
      this.#state = next === "[" ? "first_item" : "first_name";
      return undefined;
    }
    if (!this.#skip(this.#number) && !this.#skip(this.#word)) return expected;
    this.#state = "after";
    return undefined;
  }

  #string(state: State): string | undefined {
    this.#offset++;
    while (true) {
      const next = this.#text[this.#offset];
      if (next === '"') break;
      if (next === undefined || next < " ") {
        return "a character that strings may have, or their end";
      }
      if (next !== "\\") this.#offset++;
      else if (ESCAPED.includes(this.#text[this.#offset + 1] ?? "?")) {
        this.#offset += 2;
      } else if (!this.#skip(this.#escape)) return "an escape of JSON";
    }
    this.#offset++;
    this.#state = state;
    return undefined;
  }

  #close(): undefined {
    this.#offset++;
    this.#open.pop();
    this.#state = "after";
    return undefined;
  }

  #skipSpace(): void {
    while (SPACE.includes(this.#text[this.#offset] ?? "?")) this.#offset++;
  }

  /**
   * Moves past what the pattern matches here; false when it matches nothing.
   */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#offset;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#offset += length;
    return length > 0;
  }

  #fault(expected: string): JsonSyntaxFault {
    let line = 1;
    let lineStart = 0;
    for (let at = 0; at < this.#offset; at++) {
      if (this.#text.charCodeAt(at) !== LINE_FEED) continue;
      line++;
      lineStart = at + 1;
    }
    return {
      line,
      column: this.#offset - lineStart + 1,
      expected,
      isEnd: this.#offset >= this.#text.length,
    };
  }
}
