/**
 * Reads JSON with comments and trailing commas, as editors write it, and
 * remembers where in the text each value is.
 *
 * @module
 */

/** A value, with its place in the text. */
export type JsonNode = JsonObject | JsonOther;

/** An object. */
export interface JsonObject {
  /** Tells it from other values. */
  readonly kind: "object";
  /** Where its `{` is. */
  readonly start: number;
  /** The place behind its `}`. */
  readonly end: number;
  /** Its members, in their order; a name may come twice. */
  readonly members: readonly JsonMember[];
}

/** A member of an object. */
export interface JsonMember {
  /** Its name. */
  readonly name: string;
  /** Where its name starts. */
  readonly start: number;
  /** Its value. */
  readonly node: JsonNode;
  /** Where the comma behind it is; undefined without one. */
  readonly comma: number | undefined;
}

/** Any value but an object. */
export interface JsonOther {
  /** Tells it from an object. */
  readonly kind: "other";
  /** Where it starts. */
  readonly start: number;
  /** The place behind it. */
  readonly end: number;
  /** What it stands for. */
  readonly value: unknown;
}

/** More levels are in no configuration. */
const MAX_DEPTH = 200;

/**
 * Reads a text that holds one value.
 *
 * @returns The value; undefined when the text has none, or only comments.
 * @throws {SyntaxError} when it is not JSON with comments; names the line
 */
export function readJsonText(text: string): JsonNode | undefined {
  const reader = new Reader(text);
  return reader.readAll();
}

/** What a value stands for. */
export function jsonValue(node: JsonNode): unknown {
  if (node.kind === "other") return node.value;
  return Object.fromEntries(
    node.members.map((member) => [member.name, jsonValue(member.node)]),
  );
}

/** Space and comments. */
const SPACE = /(?:[\s\uFEFF]+|\/\/[^\n\r]*|\/\*[^]*?\*\/)*/y;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;
const WORD = /-?[A-Za-z0-9.+-]+/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): JsonNode | undefined {
    this.#skipSpace();
    if (this.#at === this.#text.length) return undefined;
    const node = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#fault();
    return node;
  }

  #value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw this.#fault();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#list(depth);
      case '"':
        return this.#scalar(STRING);
      default:
        return this.#scalar(WORD);
    }
  }

  #object(depth: number): JsonObject {
    const start = this.#at++;
    const members: JsonMember[] = [];
    while (true) {
      this.#skipSpace();
      if (this.#takes("}")) {
        return { kind: "object", start, end: this.#at, members };
      }
      if (members.length > 0 && members.at(-1)?.comma === undefined) {
        throw this.#fault();
      }
      const nameNode = this.#scalar(STRING);
      this.#skipSpace();
      if (!this.#takes(":")) throw this.#fault();
      this.#skipSpace();
      const node = this.#value(depth + 1);
      this.#skipSpace();
      const at = this.#at;
      const comma = this.#takes(",") ? at : undefined;
      const name = String(nameNode.value);
      members.push({ name, start: nameNode.start, node, comma });
    }
  }

  #list(depth: number): JsonOther {
    const start = this.#at++;
    const value: unknown[] = [];
    let isOpen = true;
    while (true) {
      this.#skipSpace();
      if (this.#takes("]")) {
        return { kind: "other", start, end: this.#at, value };
      }
      if (!isOpen) throw this.#fault();
      value.push(jsonValue(this.#value(depth + 1)));
      this.#skipSpace();
      isOpen = this.#takes(",");
    }
  }

  #scalar(pattern: RegExp): JsonOther {
    const start = this.#at;
    const text = this.#match(pattern);
    try {
      return { kind: "other", start, end: this.#at, value: JSON.parse(text) };
    } catch {
      this.#at = start;
      throw this.#fault();
    }
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += text.length;
    return text;
  }

  #takes(mark: string): boolean {
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #fault(): SyntaxError {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new SyntaxError(`line ${line} is not JSON`);
  }
}
