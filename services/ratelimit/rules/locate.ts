/**
 * Finds the line of a place in a YAML text. The parser gives values without
 * positions, so this reads the indentation of block style itself; where a
 * document uses flow style, anchors or tabs, the nearest line above is named.
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
