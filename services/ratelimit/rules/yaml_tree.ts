/**
 * A YAML text as a tree that knows both what each scalar means and how it was
 * written: `value: 010` is the text "010" where a rule wants text.
 *
 * @module
 */

import { parseAll } from "@std/yaml";

/** One node of the tree. */
export type YamlNode = YamlMap | YamlList | YamlScalar;

/** A mapping, merge keys and anchors resolved. */
export interface YamlMap {
  /** Tells the nodes apart. */
  readonly kind: "map";
  /** The entries in the order of the text. */
  readonly entries: ReadonlyMap<string, YamlNode>;
}

/** A sequence. */
export interface YamlList {
  /** Tells the nodes apart. */
  readonly kind: "list";
  /** The items in their order. */
  readonly items: readonly YamlNode[];
}

/** Anything else. */
export interface YamlScalar {
  /** Tells the nodes apart. */
  readonly kind: "scalar";
  /** What YAML takes it for. */
  readonly type: "text" | "integer" | "decimal" | "boolean" | "null" | "other";
  /** The scalar as it was written, quotes taken off. */
  readonly written: string;
  /** What it means. */
  readonly value: unknown;
}

/** A text that isn't YAML, or more of it than is taken. */
export interface YamlFault {
  /** What is wrong. */
  readonly reason: string;
  /** Counted from 1. */
  readonly line: number | undefined;
}

/** What reading a text gave. */
export type YamlOutcome =
  | {
    readonly kind: "tree";
    readonly root: YamlNode;
    /** What was taken although it looks like a mistake. */
    readonly warnings: readonly YamlFault[];
  }
  | { readonly kind: "fault"; readonly fault: YamlFault };

const MAX_NODES = 2_000_000;
const MAX_DEPTH = 200;

/**
 * Reads the first document of `text`. A key that stands twice in a mapping is
 * taken the last time, with a warning.
 */
export function readYaml(text: string): YamlOutcome {
  const warnings: YamlFault[] = [];
  let typed: readonly unknown[];
  let allowDuplicateKeys = false;
  try {
    typed = documents(text, { allowDuplicateKeys });
  } catch (strict) {
    allowDuplicateKeys = true;
    try {
      typed = documents(text, { allowDuplicateKeys });
    } catch (error) {
      return { kind: "fault", fault: faultOf(error) };
    }
    warnings.push(faultOf(strict));
  }
  if (typed.length > 1) {
    warnings.push({
      reason: "only the first document of a YAML stream is read",
      line: undefined,
    });
  }
  const value = typed[0] ?? null;
  const written = writtenForm(text, { allowDuplicateKeys, fallback: value });
  const builder = new TreeBuilder();
  const root = builder.node(value, { written, depth: 0 });
  return root === undefined
    ? {
      kind: "fault",
      fault: {
        reason: "Cannot read YAML: it nests too deeply or expands too far",
        line: undefined,
      },
    }
    : { kind: "tree", root, warnings };
}

interface DocumentOptions {
  readonly allowDuplicateKeys: boolean;
  readonly schema?: "failsafe";
}

function documents(text: string, options: DocumentOptions): unknown[] {
  const parsed = parseAll(text, options);
  return Array.isArray(parsed) ? parsed : [parsed];
}

/**
 * The same document with every scalar as its text. A document with explicit
 * tags has no such form; its meaning has to serve.
 */
function writtenForm(
  text: string,
  options: DocumentOptions & { readonly fallback: unknown },
): unknown {
  try {
    const { allowDuplicateKeys } = options;
    return documents(text, { allowDuplicateKeys, schema: "failsafe" })[0];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) {
      return options.fallback;
    }
    throw error;
  }
}

function faultOf(error: unknown): YamlFault {
  // The parser calls itself for each level, until the stack is full.
  if (error instanceof RangeError) {
    return { reason: "it nests too deeply", line: undefined };
  }
  if (!(error instanceof SyntaxError)) throw error;
  const own = "line" in error && typeof error.line === "number"
    ? error.line
    : undefined;
  const said = /at line (\d+)/.exec(error.message)?.[1];
  return {
    reason: error.message.split(/ at line \d+|\n/)[0] ?? error.message,
    line: said === undefined ? own : Number(said),
  };
}

class TreeBuilder {
  #nodes = 0;

  node(
    value: unknown,
    at: { readonly written: unknown; readonly depth: number },
  ): YamlNode | undefined {
    const depth = at.depth + 1;
    if (++this.#nodes > MAX_NODES || depth > MAX_DEPTH) return undefined;
    if (Array.isArray(value)) {
      const items: YamlNode[] = [];
      for (const [index, item] of value.entries()) {
        const written = Array.isArray(at.written) ? at.written[index] : item;
        const node = this.node(item, { written, depth });
        if (node === undefined) return undefined;
        items.push(node);
      }
      return { kind: "list", items };
    }
    if (isPlainObject(value)) {
      const written = isPlainObject(at.written)
        ? mergedKeys(at.written, 0)
        : {};
      const entries = new Map<string, YamlNode>();
      for (const [key, item] of Object.entries(value)) {
        const form = Object.hasOwn(written, key) ? written[key] : item;
        const node = this.node(item, { written: form, depth });
        if (node === undefined) return undefined;
        entries.set(key, node);
      }
      return { kind: "map", entries };
    }
    return scalar(value, at.written);
  }
}

function scalar(value: unknown, written: unknown): YamlScalar {
  const text = typeof written === "string"
    ? written
    : value === null || value === undefined
    ? ""
    : String(value);
  return { kind: "scalar", type: typeOf(value, text), written: text, value };
}

function typeOf(value: unknown, written: string): YamlScalar["type"] {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") {
    // 1.0 and 1e3 are decimals, whatever their value; 0x1e is none.
    return Number.isInteger(value) && !/^[-+]?[\d_]*[.eE]|:/.test(written)
      ? "integer"
      : "decimal";
  }
  // A date is what YAML makes of an unquoted one; a rule means its text.
  return value instanceof Date ? "text" : "other";
}

/** Follows `<<`, which the schema that keeps texts takes for a key. */
function mergedKeys(
  map: Readonly<Record<string, unknown>>,
  depth: number,
): Readonly<Record<string, unknown>> {
  const merge = map["<<"];
  if (merge === undefined || depth > MAX_DEPTH) return map;
  const sources = Array.isArray(merge) ? merge : [merge];
  const merged: Record<string, unknown> = {};
  for (const source of sources.toReversed()) {
    if (isPlainObject(source)) {
      Object.assign(merged, mergedKeys(source, depth + 1));
    }
  }
  return Object.assign(merged, map);
}

function isPlainObject(
  value: unknown,
): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
