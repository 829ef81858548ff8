/**
 * Reads JSON with comments and trailing commas, as editors write it, and
 * remembers where in the text each value is.
 *
 * @module
 */

/** A value, with its place in the text. */
export interface JsonNode {
  /** Where it starts. */
  readonly start: number;
  /** The place behind it. */
  readonly end: number;
  /** What it stands for. */
  readonly value: unknown;
  /** The members of an object, in their order; a name may come twice. */
  readonly members?: readonly JsonMember[];
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

/** More levels are in no configuration. */
const MAX_DEPTH = 200;

/** Space and comments. */
const SPACE = /(?:[\s\uFEFF]+|\/\/[^\n\r]*|\/\*[^]*?\*\/)*/y;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9.+-]+/y;

/**
 * Reads a text that holds one value.
 *
 * @returns The value; undefined when the text has none, or only comments.
 * @throws {SyntaxError} when it is not JSON with comments; names the line
 */
export function readJsonText(text: string): JsonNode | undefined {
  let at = 0;
  const fault = (): SyntaxError => {
    const line = text.slice(0, at).split("\n").length;
    return new SyntaxError(`line ${line} is not JSON`);
  };
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const taken = pattern.exec(text)?.[0] ?? "";
    at += taken.length;
    return taken;
  };
  /** Whether a mark is next; goes to what stands behind it. */
  const takes = (mark: string): boolean => {
    const isNext = text[at] === mark;
    if (isNext) at++;
    return isNext;
  };
  const readScalar = (pattern: RegExp): JsonNode => {
    const start = at;
    const taken = take(pattern);
    try {
      return { start, end: at, value: JSON.parse(taken) };
    } catch {
      at = start;
      throw fault();
    }
  };
  const readMember = (isNamed: boolean, depth: number): JsonMember => {
    const start = at;
    const name = isNamed ? String(readScalar(STRING).value) : "";
    take(SPACE);
    if (isNamed && !takes(":")) throw fault();
    take(SPACE);
    const node = readValue(depth);
    take(SPACE);
    const comma = takes(",") ? at - 1 : undefined;
    take(SPACE);
    return { name, start, node, comma };
  };
  const readValue = (depth: number): JsonNode => {
    if (depth > MAX_DEPTH) throw fault();
    const start = at;
    const isObject = takes("{");
    if (!isObject && !takes("[")) return readScalar(SCALAR);
    take(SPACE);
    const members: JsonMember[] = [];
    while (!takes(isObject ? "}" : "]")) {
      const isOpen = members.length === 0 || members.at(-1)?.comma;
      if (!isOpen) throw fault();
      members.push(readMember(isObject, depth + 1));
    }
    const values = members.map(({ name, node }) => [name, node.value] as const);
    return isObject
      ? { start, end: at, value: Object.fromEntries(values), members }
      : { start, end: at, value: values.map(([, value]) => value) };
  };
  take(SPACE);
  if (at === text.length) return undefined;
  const node = readValue(0);
  take(SPACE);
  if (at < text.length) throw fault();
  return node;
}
