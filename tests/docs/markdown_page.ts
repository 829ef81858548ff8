/**
 * What a page in Markdown says to its reader: blocks of code, headings, links.
 *
 * A comment right before a block says how the reader takes it:
 *
 * - `<!-- serve: A, B -->` in a terminal of its own; it goes on until Ctrl+C,
 *   and the page goes on when its output has A and B
 * - `<!-- file: PATH -->` saved as PATH
 * - `<!-- after Ctrl+C -->` once what serves was stopped
 * - `<!-- not run: REASON -->` not in tests
 * - `<!-- checked only: REASON -->` its types are checked, and it isn't run
 *
 * `<!-- setup: LINE -->` anywhere is a line for the shell that readers don't see. A block
 * of the language `output` is what the block before it prints.
 *
 * @module
 */

/** How a reader takes a block. */
export type BlockUse =
  | { readonly kind: "run" }
  | { readonly kind: "serve"; readonly until: readonly string[] }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "after_ctrl_c" }
  | { readonly kind: "not_run"; readonly reason: string }
  | { readonly kind: "checked_only"; readonly reason: string };

/** A fenced block, or a line for the shell that is not shown. */
export interface Block {
  /** The language after the fence; `setup` for a line that is not shown. */
  readonly language: string;
  /** What is between the fences. */
  readonly text: string;
  /** The line of its fence, from 1. */
  readonly line: number;
  /** How it is taken. */
  readonly use: BlockUse;
}

/** A link of a page. */
export interface Link {
  /** Where it leads, as it is written. */
  readonly target: string;
  /** Its line, from 1. */
  readonly line: number;
}

/** A page as its tests see it. */
export interface MarkdownPage {
  /** Blocks in their order. */
  readonly blocks: readonly Block[];
  /** Links and pictures, outside of blocks. */
  readonly links: readonly Link[];
  /** Names that links may end with, after a `#`. */
  readonly anchors: ReadonlySet<string>;
}

const FENCE = /^\s*(`{3,}|~{3,})\s*([\w-]*)\s*$/;
const COMMENT = /^\s*<!--\s*(.*?)\s*-->\s*$/;
const LINK = /!?\[(?:[^\]\\]|\\.|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)/g;
const HTML_LINK = /\b(?:src|srcset|href)="([^"\s]+)"/g;

/**
 * Reads a page.
 *
 * @throws {SyntaxError} When a block does not end, or a comment before one says
 * what no test knows.
 */
export function parsePage(text: string): MarkdownPage {
  const blocks: Block[] = [];
  const prose: string[] = [];
  const anchors = new Set<string>();
  let comment: string | undefined;
  const lines = joinComments(text.split("\n"));
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    if (fence !== null) {
      const [, marks = "", language = ""] = fence;
      const end = lines.findIndex((other, index) =>
        index > at && other.trim() === marks
      );
      if (end === -1) {
        throw new SyntaxError(
          `Cannot read page: the block of line ${at + 1} does not end`,
        );
      }
      const indent = line.length - line.trimStart().length;
      const body = lines.slice(at + 1, end).map((one) => one.slice(indent));
      blocks.push({
        language,
        text: `${body.join("\n")}\n`,
        line: at + 1,
        use: parseUse(comment, at + 1),
      });
      prose.push(...lines.slice(at, end + 1).map(() => ""));
      comment = undefined;
      at = end;
      continue;
    }
    const said = COMMENT.exec(line)?.[1];
    if (said?.startsWith("setup:")) {
      blocks.push({
        language: "setup",
        text: `${said.slice("setup:".length).trim()}\n`,
        line: at + 1,
        use: { kind: "run" },
      });
    }
    if (line.trim() !== "") comment = said;
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading !== undefined) addAnchor(anchors, heading);
    for (const [, id = ""] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) {
      anchors.add(id);
    }
    prose.push(line);
  }
  return { blocks, links: linksIn(prose), anchors };
}

/** A comment that goes over lines is put on its first one; lines keep their numbers. */
function joinComments(lines: readonly string[]): readonly string[] {
  const joined = [...lines];
  for (let at = 0; at < joined.length; at++) {
    const line = joined[at] ?? "";
    if (!line.trimStart().startsWith("<!--") || line.includes("-->")) continue;
    const end = joined.findIndex((other, index) =>
      index > at && other.includes("-->")
    );
    if (end === -1) continue;
    joined[at] = joined.slice(at, end + 1).map((one) => one.trim()).join(" ");
    joined.fill("", at + 1, end + 1);
  }
  return joined;
}

function parseUse(comment: string | undefined, line: number): BlockUse {
  if (comment === undefined || /^(deno-fmt|begin |setup:)/.test(comment)) {
    return { kind: "run" };
  }
  if (comment === "after Ctrl+C") return { kind: "after_ctrl_c" };
  const [, word, rest = ""] = /^([a-z ]+):\s*(.+)$/.exec(comment) ?? [];
  switch (word) {
    case "serve":
      return { kind: "serve", until: rest.split(",").map((one) => one.trim()) };
    case "file":
      return { kind: "file", path: rest };
    case "not run":
      return { kind: "not_run", reason: rest };
    case "checked only":
      return { kind: "checked_only", reason: rest };
  }
  throw new SyntaxError(
    `Cannot read page: the comment "${comment}" before the block of line ${line} is not known`,
  );
}

/** The name a forge gives a heading; the second of the same text gets a number. */
function addAnchor(anchors: Set<string>, heading: string): void {
  const name = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<[^>]+>/g, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
  let unique = name;
  for (let number = 1; anchors.has(unique); number++) {
    unique = `${name}-${number}`;
  }
  anchors.add(unique);
}

/** Links of a paragraph may break their line, so paragraphs are looked at whole. */
function linksIn(lines: readonly string[]): readonly Link[] {
  const text = lines.join("\n").replaceAll(
    /`[^`\n]*`/g,
    (code) => " ".repeat(code.length),
  );
  return [...text.matchAll(LINK), ...text.matchAll(HTML_LINK)].map((found) => ({
    target: found[1] ?? "",
    line: text.slice(0, found.index).split("\n").length,
  }));
}
