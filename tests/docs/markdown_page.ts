/**
 * Parses a Markdown page into what its tests need: code blocks, headings,
 * links.
 *
 * A comment directly before a block says how the reader uses the block:
 *
 * - `<!-- serve: A, B -->` run in a terminal of its own, until Ctrl+C; the page
 *   continues when its output contains A and B
 * - `<!-- file: PATH -->` saved as PATH
 * - `<!-- after Ctrl+C -->` run once the serving commands are stopped
 * - `<!-- not run: REASON -->` not run in tests
 * - `<!-- checked only: REASON -->` type-checked, but not run
 *
 * `<!-- setup: LINE -->` anywhere is a line for the shell that readers don't
 * see. A block of the language `output` is what the block before it prints.
 *
 * @module
 */

/** How a reader uses a block. */
export type BlockUse =
  | { readonly kind: "run" }
  | { readonly kind: "serve"; readonly until: readonly string[] }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "after_ctrl_c" }
  | { readonly kind: "not_run"; readonly reason: string }
  | { readonly kind: "checked_only"; readonly reason: string };

/** A fenced block, or a setup line for the shell that readers don't see. */
export interface Block {
  /** The language after the fence; `setup` for a setup line. */
  readonly language: string;
  /** The text between the fences. */
  readonly text: string;
  /** The line number of the fence, from 1. */
  readonly line: number;
  /** How the reader uses the block. */
  readonly use: BlockUse;
}

/** A link in a page. */
export interface Link {
  /** The target of the link, as written. */
  readonly target: string;
  /** The line number of the link, from 1. */
  readonly line: number;
}

/** The parts of a page that tests look at. */
export interface MarkdownPage {
  /** The blocks in their order. */
  readonly blocks: readonly Block[];
  /** The links and pictures outside of blocks. */
  readonly links: readonly Link[];
  /** The text outside of blocks and comments. */
  readonly prose: string;
  /** The names of headings, which links can name after a `#`. */
  readonly anchors: ReadonlySet<string>;
}

const FENCE = /^\s*(`{3,}|~{3,})\s*([\w-]*)\s*$/;
const COMMENT = /^\s*<!--\s*(.*?)\s*-->\s*$/;
const LINK = /!?\[(?:[^\]\\]|\\.|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)/g;
const HTML_LINK = /\b(?:src|srcset|href)="([^"\s]+)"/g;

/**
 * Parses a page.
 *
 * @throws {SyntaxError} When a block does not end, or the comment before a
 * block is not one of those that tests know.
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
  return {
    blocks,
    links: linksIn(prose),
    prose: prose.join("\n").replaceAll(/<!--[^]*?-->/g, ""),
    anchors,
  };
}

/**
 * Joins a comment that spans several lines on its first line; all lines keep
 * their numbers.
 */
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

/**
 * Adds the anchor that a forge gives a heading; a second heading with the same
 * text gets a number.
 */
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

/**
 * Finds the links in a paragraph as a whole, since a link may contain a line
 * break.
 */
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
