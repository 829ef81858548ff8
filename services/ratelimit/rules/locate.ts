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
  let lines: readonly Line[] | undefined;
  return (path) => {
    lines ??= readLines(text);
    return locate(lines, path);
  };
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

function locate(
  lines: readonly Line[],
  path: ConfigPath,
): number | undefined {
  let block = lines;
  let found: number | undefined;
  for (const step of path) {
    const next = typeof step === "number"
      ? itemBlock(block, step)
      : valueBlock(block, step);
    if (next === undefined) return found;
    found = next.line;
    block = next.block;
  }
  return found;
}

interface Found {
  readonly line: number;
  readonly block: readonly Line[];
}

/** The block under `key` in a block mapping. */
function valueBlock(block: readonly Line[], key: string): Found | undefined {
  const indent = block[0]?.indent;
  for (const [at, line] of block.entries()) {
    if (line.indent !== indent || keyOf(line.text) !== key) continue;
    // A list may stand at the indentation of its key.
    const end = block.findIndex((other, i) =>
      i > at && other.indent <= line.indent &&
      !(other.indent === line.indent && isItem(other.text))
    );
    return {
      line: line.number,
      block: block.slice(at + 1, end === -1 ? undefined : end),
    };
  }
  return undefined;
}

/** The item number `index` of a block sequence, its dash taken off. */
function itemBlock(block: readonly Line[], index: number): Found | undefined {
  const indent = block[0]?.indent;
  const starts = block.flatMap((line, at) =>
    line.indent === indent && isItem(line.text) ? [at] : []
  );
  const start = starts[index];
  if (start === undefined) return undefined;
  const first = block[start]!;
  const rest = first.text.slice(1);
  const content = rest.trimStart();
  const inside = block.slice(start + 1, starts[index + 1]);
  if (content === "") return { line: first.number, block: inside };
  const head: Line = {
    number: first.number,
    indent: first.indent + 1 + rest.length - content.length,
    text: content,
  };
  return { line: first.number, block: [head, ...inside] };
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
