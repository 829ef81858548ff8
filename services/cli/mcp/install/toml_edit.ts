/**
 * Changes an entry in settings that are TOML, where it is a table of its own,
 * and keeps everything else as it is.
 *
 * @module
 */

import type { EntryChange } from "./clients.ts";

/** A table of the file: its header and all lines up to the next one. */
interface Table {
  /** The parts of its name; none for what stands before all tables. */
  readonly path: readonly string[];
  /** Where its header starts. */
  readonly start: number;
  /** The place behind the line of its header. */
  readonly bodyStart: number;
  /** The values that it sets. */
  readonly statements: Statement[];
}

/** A value that is set; it may have several lines. */
interface Statement {
  /** The first part of its name. */
  readonly key: string;
  /** Where its line starts. */
  readonly start: number;
  /** The place behind its last line. */
  readonly end: number;
}

/**
 * Changes an entry. Other values of its table stay, such as a time-out; a table
 * is removed with those below it.
 *
 * @returns The text with the change; the same text when it is already so.
 * @throws {SyntaxError} with the reason why it cannot be changed
 */
export function editToml(text: string, { path, values }: EntryChange): string {
  const [section, name] = path;
  const ours = readTables(text, section).filter((table) =>
    table.path[0] === section && table.path[1] === name
  );
  if (values === undefined) {
    return ours.reduceRight((rest, table) => cut(rest, table), text);
  }
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = Object.entries(values)
    .map(([key, value]) => `${key} = ${toToml(value)}${eol}`).join("");
  const table = ours.find((one) => one.path.length === 2);
  if (table === undefined) {
    const key = /^[A-Za-z0-9_-]+$/.test(name) ? name : toToml(name);
    const end = text === "" || text.endsWith("\n") ? text : text + eol;
    const gap = end.trim() === "" || /\n\r?\n$/.test(end) ? "" : eol;
    return `${end}${gap}[${section}.${key}]${eol}${lines}`;
  }
  const set = table.statements.filter(({ key }) => Object.hasOwn(values, key));
  const old = set.map(({ start, end }) => text.slice(start, end)).join("");
  if (old === lines) return text;
  const rest = set.reduceRight(
    (left, { start, end }) => left.slice(0, start) + left.slice(end),
    text,
  );
  const head = rest.slice(0, table.bodyStart);
  const isClosed = head.endsWith("\n");
  return head + (isClosed ? "" : eol) + lines + rest.slice(table.bodyStart);
}

/**
 * Removes a table up to its last value. Comments behind that belong to what
 * follows.
 */
function cut(text: string, { start, bodyStart, statements }: Table): string {
  const before = text.slice(0, start);
  const after = text.slice(statements.at(-1)?.end ?? bodyStart);
  // One blank line between two tables is enough.
  return after.trim() === ""
    ? before.replace(/(\r?\n)(?:[ \t]*\r?\n)+$/, "$1")
    : /(?:^|\n)\r?\n$/.test(before)
    ? before + after.replace(/^(?:[ \t]*\r?\n)+/, "")
    : before + after;
}

/** A value as TOML. The escapes of a basic string are those of JSON, and DEL. */
function toToml(value: string | readonly string[]): string {
  return typeof value === "string"
    ? JSON.stringify(value).replaceAll("\x7f", "\\u007f")
    : `[${value.map(toToml).join(", ")}]`;
}

const STRING_OR_COMMENT =
  /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*/g;
const LINE = /[^\n]*\n|[^\n]+$/g;
const HEADER = /^(\s*\[\[?)([^[\]]*)\]\]?\s*$/;
const KEY = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+/g;

/** Finds the tables, and what each of them sets. */
function readTables(text: string, section: string): readonly Table[] {
  // Of the same length, with nothing in strings and comments to be found.
  const plain = text.replaceAll(
    STRING_OR_COMMENT,
    (part) => (part.startsWith("#") ? " " : "s").repeat(part.length),
  );
  let table: Table = { path: [], start: 0, bodyStart: 0, statements: [] };
  const tables = [table];
  let open: Omit<Statement, "end"> | undefined;
  let depth = 0;
  for (const { 0: line, index: start } of plain.matchAll(LINE)) {
    const end = start + line.length;
    const header = open === undefined ? HEADER.exec(line) : null;
    if (header !== null) {
      const [, bracket = "", name = ""] = header;
      const at = start + bracket.length;
      const path = splitKey(text.slice(at, at + name.length));
      if (path === undefined) throw badLine(text, start);
      if (path[0] === section && bracket.endsWith("[[")) throw odd(section);
      table = { path, start, bodyStart: end, statements: [] };
      tables.push(table);
      continue;
    }
    if (open === undefined && line.trim() !== "") {
      const [name = ""] = line.split("=", 1);
      const key = splitKey(text.slice(start, start + name.length))?.[0];
      if (key === undefined) throw badLine(text, start);
      // `mcp_servers = {…}` and dotted names need another kind of edit.
      const isInline = table.path.length < 2 &&
        (table.path[0] ?? key) === section;
      if (isInline) throw odd(section);
      open = { key, start };
    }
    if (/["']/.test(line)) throw badLine(text, start);
    depth += line.split(/[[{]/).length - line.split(/[\]}]/).length;
    if (depth === 0 && open !== undefined) {
      table.statements.push({ ...open, end });
      open = undefined;
    }
  }
  if (depth !== 0) throw badLine(text, text.length);
  return tables;
}

function odd(section: string): SyntaxError {
  return new SyntaxError(
    `"${section}" in it is not written as tables; write it as ` +
      `[${section}.name], or add the server by hand`,
  );
}

function badLine(text: string, at: number): SyntaxError {
  const line = text.slice(0, at).split("\n").length;
  return new SyntaxError(`line ${line} is not TOML`);
}

/** The parts of a dotted name; undefined for another text. */
function splitKey(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  const form = text.replaceAll(KEY, (part) => {
    parts.push(unquoted(part));
    return "k";
  });
  return /^\s*k(?:\s*\.\s*k)*\s*$/.test(form) ? parts : undefined;
}

function unquoted(part: string): string {
  if (part.startsWith("'")) return part.slice(1, -1);
  if (!part.startsWith('"')) return part;
  try {
    return String(JSON.parse(part));
  } catch {
    // An escape that JSON does not have: no name of ours has one.
    return part;
  }
}
