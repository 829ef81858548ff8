/**
 * Reads a YAML text as a tree that keeps both what each scalar means and how it
 * was written: `value: 010` is the text "010" where a rule wants text.
 *
 * @module
 */

import { parseAll } from "@std/yaml";
import { tabInIndentation } from "./yaml_places.ts";

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

/** A scalar: any node that is neither a mapping nor a sequence. */
export interface YamlScalar {
  /** Tells the nodes apart. */
  readonly kind: "scalar";
  /** The type that YAML gives it. */
  readonly type: "text" | "integer" | "decimal" | "boolean" | "null" | "other";
  /** The scalar as it was written, without quotes. */
  readonly written: string;
  /** The value that YAML gives it. */
  readonly value: unknown;
  /**
   * Whether it stands in quotes.
   *
   * @default unknown
   */
  readonly isQuoted?: boolean;
}

/** A text that isn't YAML, or is larger than allowed. */
interface YamlFault {
  /** What is wrong. */
  readonly reason: string;
  /** Line, counted from 1; undefined when unknown. */
  readonly line: number | undefined;
}

/** The result of reading a text. */
type YamlOutcome =
  | {
    readonly kind: "tree";
    readonly root: YamlNode;
    /** Warnings about what was accepted although it looks like a mistake. */
    readonly warnings: readonly YamlFault[];
  }
  | { readonly kind: "fault"; readonly fault: YamlFault };

/**
 * Most nodes that aliases and merge keys may add to those that are written out.
 */
const MAX_ALIASED_NODES = 100_000;
const MAX_DEPTH = 200;

/**
 * Reads the first document of `text`. Of a key that stands twice in a mapping
 * the last one counts, with a warning. Tabs in the indentation are a fault.
 */
export function readYaml(text: string): YamlOutcome {
  const tabLine = tabInIndentation(text);
  if (tabLine !== undefined) {
    const reason = "the line is indented with a tab; YAML takes spaces only";
    return { kind: "fault", fault: { reason, line: tabLine } };
  }
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
      return { kind: "fault", fault: toFault(error) };
    }
    warnings.push(toFault(strict));
  }
  if (typed.length > 1) {
    warnings.push({
      reason: "only the first document of a YAML stream is read",
      line: undefined,
    });
  }
  const value = typed[0] ?? null;
  const written = writtenForm(text, { allowDuplicateKeys, fallback: value });
  try {
    const root = new TreeBuilder().node(value, {
      written,
      depth: 0,
      isAliased: false,
    });
    return { kind: "tree", root, warnings };
  } catch (error) {
    if (!(error instanceof UnboundedTree)) throw error;
    const fault = { reason: error.message, line: undefined };
    return { kind: "fault", fault };
  }
}

interface DocumentOptions {
  readonly allowDuplicateKeys: boolean;
  /**
   * With the schema "core" the parser leaves merge keys as they are; otherwise
   * it would follow them however far they lead.
   *
   * @default {"core"}
   */
  readonly schema?: "core" | "failsafe";
}

function documents(text: string, options: DocumentOptions): unknown[] {
  const parsed = parseAll(text, { schema: "core", ...options });
  return Array.isArray(parsed) ? parsed : [parsed];
}

/**
 * Returns the same document with every scalar as its text. A document with
 * explicit tags has no such form: `fallback`, its meaning, is returned.
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

function toFault(error: unknown): YamlFault {
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

/** Thrown for a document that is small as text and has no bound as a tree. */
class UnboundedTree extends Error {}

interface Place {
  /** The same part of the document with scalars as they were written. */
  readonly written: unknown;
  readonly depth: number;
  /** True when this part has stood in the document before. */
  readonly isAliased: boolean;
}

class TreeBuilder {
  readonly #seen = new Set<unknown>();
  #aliasedNodes = 0;

  /** @throws {UnboundedTree} */
  node(value: unknown, at: Place): YamlNode {
    const depth = at.depth + 1;
    if (depth > MAX_DEPTH) {
      throw new UnboundedTree(`it nests deeper than ${MAX_DEPTH} levels`);
    }
    if (at.isAliased) this.#countAliased();
    if (Array.isArray(value)) {
      const isAliased = this.#isAliased(value, at);
      const items = value.map((item, index) => {
        const written = Array.isArray(at.written) ? at.written[index] : item;
        return this.node(item, { written, depth, isAliased });
      });
      return { kind: "list", items };
    }
    if (!isPlainObject(value)) return scalar(value, at.written);
    const isAliased = this.#isAliased(value, at);
    const entries = new Map<string, YamlNode>();
    for (const entry of this.#readEntries(value, { ...at, depth, isAliased })) {
      const { key, item, place } = entry;
      entries.set(key, this.node(item, place));
    }
    return { kind: "map", entries };
  }

  /** True for an object that occurs a second time, by an alias. */
  #isAliased(value: unknown, at: Place): boolean {
    const isAliased = at.isAliased || this.#seen.has(value);
    this.#seen.add(value);
    return isAliased;
  }

  /**
   * Yields the entries of a map. Those that it takes from other maps by `<<`
   * come first, since its own entries replace them, and those of an earlier map
   * replace those of a later one.
   */
  *#readEntries(map: PlainObject, at: Place): Generator<Entry> {
    if (at.depth > MAX_DEPTH) {
      throw new UnboundedTree(`it nests deeper than ${MAX_DEPTH} levels`);
    }
    const written = isPlainObject(at.written) ? at.written : {};
    const place = (key: string, item: unknown): Place => ({
      ...at,
      written: Object.hasOwn(written, key) ? written[key] : item,
    });
    const merge = map["<<"];
    const isMerge = isPlainObject(merge) || Array.isArray(merge);
    if (isMerge) {
      const sources = Array.isArray(merge) ? merge : [merge];
      const forms = [place("<<", merge).written].flat();
      for (let index = sources.length - 1; index >= 0; index--) {
        const source: unknown = sources[index];
        this.#countAliased();
        if (!isPlainObject(source)) continue;
        yield* this.#readEntries(source, {
          written: forms[index],
          depth: at.depth + 1,
          isAliased: true,
        });
      }
    }
    for (const [key, item] of Object.entries(map)) {
      if (key === "<<" && isMerge) continue;
      yield { key, item, place: place(key, item) };
    }
  }

  #countAliased(): void {
    if (++this.#aliasedNodes <= MAX_ALIASED_NODES) return;
    throw new UnboundedTree(
      `its aliases add more than ${MAX_ALIASED_NODES} nodes to it`,
    );
  }
}

type PlainObject = Readonly<Record<string, unknown>>;

interface Entry {
  readonly key: string;
  readonly item: unknown;
  readonly place: Place;
}

/**
 * Makes a scalar of its value and, when that is known, of how it was written.
 */
export function scalar(value: unknown, written: unknown): YamlScalar {
  const text = typeof written === "string"
    ? written
    : value === null || value === undefined
    ? ""
    : String(value);
  return { kind: "scalar", type: toType(value, text), written: text, value };
}

function toType(value: unknown, written: string): YamlScalar["type"] {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") {
    // 1.0 and 1e3 are decimals, whatever their value; 0x1e is not.
    return Number.isInteger(value) && !/^[-+]?[\d_]*[.eE]|:/.test(written)
      ? "integer"
      : "decimal";
  }
  return "other";
}

function isPlainObject(
  value: unknown,
): value is PlainObject {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
