/**
 * Reads pages of Markdown: a text for each section, with the headings that it
 * stands under.
 *
 * @module
 */

import { type ImportedRecord, type ImportedText, readTime } from "./record.ts";

/** A page of a folder. */
interface MarkdownPage {
  /** Its path within the folder. */
  readonly path: string;
  /** Its content. */
  readonly content: string;
  /** When the file was changed, in milliseconds since the epoch. */
  readonly changedAtMs?: number | undefined;
}

const FRONT_MATTER = /^\ufeff?---\r?\n(.*?)\r?\n---(?:\r?\n|$)/s;
const DATE =
  /^(?:date|created|created_at):\s*["']?(\d{4}-\d{2}-\d{2}[^"'\s]*)/m;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*\s*$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})/;

/**
 * Reads a page. Its time is the date of its front matter, or else that of the
 * file.
 */
export function readMarkdown(page: MarkdownPage): ImportedRecord {
  const { path, changedAtMs } = page;
  const front = FRONT_MATTER.exec(page.content);
  const content = page.content.slice(front?.[0].length ?? 0).toWellFormed();
  const atMs = readTime(DATE.exec(front?.[1] ?? "")?.[1]) ?? changedAtMs;
  return {
    id: path,
    texts: [...sections(content)].map((text, at): ImportedText => ({
      ...{ id: String(at), text, role: "note", atMs },
      metadata: { path: path.slice(-255).toWellFormed() },
    })),
  };
}

/** Yields the sections that have more than a heading. */
function* sections(content: string): Generator<string> {
  const headings: string[] = [];
  let body: string[] = [];
  let fence: string | undefined;
  const take = (): string | undefined => {
    const text = body.join("\n").trim();
    body = [];
    const above = headings.filter((heading) => heading !== undefined);
    return text === "" ? undefined : [above.join(" > "), text]
      .filter((part) => part !== "").join("\n\n");
  };
  for (const line of content.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
    }
    const heading = fence === undefined ? HEADING.exec(line) : null;
    if (heading === null) {
      body.push(line);
      continue;
    }
    const section = take();
    if (section !== undefined) yield section;
    const depth = heading[1]?.length ?? 1;
    headings.length = Math.min(headings.length, depth - 1);
    headings[depth - 1] = heading[2] ?? "";
  }
  const section = take();
  if (section !== undefined) yield section;
}
