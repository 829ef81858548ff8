/**
 * Changes the entry of an MCP server in a configuration that is TOML, as Codex
 * has it, and keeps everything else as it is.
 *
 * @module
 */

import {
  type EntryChange,
  lineEnd,
  type ServerEntry,
  type TextEdit,
} from "./text_edit.ts";

const SECTION = "mcp_servers";

/** A table of the file: its header and all lines up to the next one. */
interface Table {
  /** The parts of its name; undefined for what stands before all tables. */
  readonly path: readonly string[] | undefined;
  /** Where its header starts. */
  readonly start: number;
  /** The place behind the line of its header. */
  readonly bodyStart: number;
  /** The values that it sets. */
  readonly statements: readonly Statement[];
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
 * Changes the table `[mcp_servers.<name>]`. Other values of it stay, such as a
 * time-out; a table is removed with those below it.
 */
export function tomlEdit(
  text: string,
  { name, entry }: EntryChange,
): TextEdit {
  const scan = scanTables(text);
  if (scan.kind === "refused") return scan;
  const { tables } = scan;
  const ours = tables.filter(({ path }) =>
    path?.[0] === SECTION && path[1] === name
  );
  const changed = entry === undefined
    ? ours.toReversed().reduce((rest, table) => cut(rest, table), text)
    : put(text, {
      name,
      entry,
      table: ours.find(({ path }) => path?.length === 2),
    });
  return changed === text
    ? { kind: "same" }
    : { kind: "edited", text: changed };
}

/** Sets the values of a table; without one, adds it at the end. */
function put(
  text: string,
  { name, entry, table }: {
    readonly name: string;
    readonly entry: ServerEntry;
    readonly table: Table | undefined;
  },
): string {
  const eol = lineEnd(text);
  const { command, args } = entry;
  const lines = `command = ${quoted(command)}${eol}` +
    `args = [${args.map(quoted).join(", ")}]${eol}`;
  if (table === undefined) {
    const key = /^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name);
    const end = text === "" || text.endsWith("\n") ? text : text + eol;
    const gap = end.trim() === "" || /\n\r?\n$/.test(end) ? "" : eol;
    return `${end}${gap}[${SECTION}.${key}]${eol}${lines}`;
  }
  const set = table.statements.filter(({ key }) =>
    key === "command" || key === "args"
  );
  const isSame = set.length === 2 &&
    set.map(({ start, end }) => text.slice(start, end)).join("") === lines;
  if (isSame) return text;
  const rest = set.toReversed().reduce(
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
  const end = statements.at(-1)?.end ?? bodyStart;
  const before = text.slice(0, start);
  const after = text.slice(end);
  // One blank line between two tables is enough.
  return after.trim() === ""
    ? before.replace(/(\r?\n)(?:[ \t]*\r?\n)+$/, "$1")
    : /(?:^|\n)\r?\n$/.test(before)
    ? before + after.replace(/^(?:[ \t]*\r?\n)+/, "")
    : before + after;
}

/** A basic string; its escapes are those of JSON, and DEL. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\x7f", "\\u007f");
}

/** A string, from its first quote on. */
const STRINGS = [
  /"""(?:[^\\]|\\[^])*?"{3,5}/y,
  /'''[^]*?'{3,5}/y,
  /"(?:[^"\\\n]|\\.)*"/y,
  /'[^'\n]*'/y,
];
const HEADER = /\[\[?([^\n]*?)\]\]?[ \t]*(?:#[^\n]*)?\r?(?:\n|$)/y;
const KEY = /(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)/y;

/** A table whose values are still being read. */
interface OpenTable extends Table {
  readonly statements: Statement[];
}

/** Finds the tables: a `[` at the start of a line, outside of all values. */
function scanTables(
  text: string,
):
  | { readonly kind: "tables"; readonly tables: readonly Table[] }
  | { readonly kind: "refused"; readonly reason: string } {
  let table: OpenTable = {
    ...{ path: undefined, start: 0, bodyStart: 0, statements: [] },
  };
  const tables = [table];
  let open: Omit<Statement, "end"> | undefined;
  let depth = 0;
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length) {
    const char = text[at] ?? "";
    if (open === undefined && !/[\s#]/.test(char)) {
      const start = lineStart(text, at);
      const header = char === "[" ? matchAt(HEADER, text, at) : undefined;
      if (header !== undefined) {
        const path = splitKey(header[1] ?? "");
        if (path === undefined) return badLine(text, at);
        if (path[0] === SECTION && header[0].startsWith("[[")) return ODD;
        at += header[0].length;
        table = { path, start, bodyStart: at, statements: [] };
        tables.push(table);
        continue;
      }
      const name = matchAt(KEY, text, at)?.[0];
      if (name === undefined) return badLine(text, at);
      const key = unquoted(name);
      const isInline = table.path === undefined
        ? key === SECTION
        : table.path.length === 1 && table.path[0] === SECTION;
      // `mcp_servers = {…}` and dotted names need another kind of edit.
      if (isInline) return ODD;
      open = { key, start };
      at += name.length;
    } else if (char === "#") {
      at = lineStop(text, at);
    } else if (char === '"' || char === "'") {
      const string = STRINGS.map((one) => matchAt(one, text, at))
        .find((match) => match !== undefined);
      if (string === undefined) return badLine(text, at);
      at += string[0].length;
    } else {
      if (char === "[" || char === "{") depth++;
      if (char === "]" || char === "}") depth--;
      at++;
      if (char === "\n" && depth === 0 && open !== undefined) {
        table.statements.push({ ...open, end: at });
        open = undefined;
      }
    }
  }
  if (depth !== 0) return badLine(text, text.length);
  if (open !== undefined) table.statements.push({ ...open, end: at });
  return { kind: "tables", tables };
}

const ODD = {
  kind: "refused",
  reason: `"${SECTION}" in it is not written as tables; write it as ` +
    `[${SECTION}.name], or add the server by hand`,
} as const;

function badLine(
  text: string,
  at: number,
): { readonly kind: "refused"; readonly reason: string } {
  const line = text.slice(0, at).split("\n").length;
  return { kind: "refused", reason: `line ${line} is not TOML` };
}

function matchAt(
  pattern: RegExp,
  text: string,
  at: number,
): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

function lineStop(text: string, at: number): number {
  const stop = text.indexOf("\n", at);
  return stop === -1 ? text.length : stop;
}

/** The parts of a dotted name; undefined for another text. */
function splitKey(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  let at = 0;
  while (true) {
    at += /^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0;
    const part = matchAt(KEY, text, at)?.[0];
    if (part === undefined) return undefined;
    parts.push(unquoted(part));
    at += part.length;
    at += /^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0;
    if (at === text.length) return parts;
    if (text[at] !== ".") return undefined;
    at++;
  }
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
