/**
 * Changes the entry of an MCP server in a configuration that is JSON, and keeps
 * everything else as it is: comments, order, indentation, trailing commas.
 *
 * @module
 */

import {
  type JsonMember,
  type JsonNode,
  type JsonObject,
  jsonValue,
  readJsonText,
} from "./json_text.ts";
import {
  type EditEntry,
  lineEnd,
  type ServerEntry,
  type TextEdit,
} from "./text_edit.ts";

/** How a client's JSON lists its servers. */
interface JsonForm {
  /** The member that holds the servers by name. */
  readonly section: "mcpServers" | "servers";
  /** Whether an entry has to say that it is a program. */
  readonly hasType: boolean;
}

/** Makes the edit for a client. */
export function jsonEdit({ section, hasType }: JsonForm): EditEntry {
  return (text, { name, entry }) => {
    const value = entry && toJson(entry, hasType);
    try {
      return changeText(text, { path: [section, name], value });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return { kind: "refused", reason: error.message };
    }
  };
}

function toJson({ command, args }: ServerEntry, hasType: boolean): unknown {
  return { ...(hasType ? { type: "stdio" } : {}), command, args };
}

interface Change {
  /** The section and the name in it. */
  readonly path: readonly [string, string];
  /** The value; undefined removes it. */
  readonly value: unknown;
}

function changeText(text: string, { path, value }: Change): TextEdit {
  const root = readJsonText(text);
  const [section, name] = path;
  if (root === undefined) {
    if (value === undefined) return { kind: "same" };
    const whole = toText({ [section]: { [name]: value } }, "  ");
    const isBare = text.replace("\uFEFF", "").trim() === "";
    const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
    return edited(isBare ? `${mark}${whole}\n` : `${text}\n${whole}\n`);
  }
  if (root.kind !== "object") return refused("it is no JSON object");
  const unit = findUnit(text, root);
  const found = findMember(root, section);
  if (found === undefined) {
    if (value === undefined) return { kind: "same" };
    return edited(
      insert(text, {
        into: root,
        name: section,
        value: { [name]: value },
        unit,
      }),
    );
  }
  const servers = found.node;
  if (servers.kind !== "object") {
    return refused(`"${section}" in it is no JSON object`);
  }
  const member = findMember(servers, name);
  if (member === undefined) {
    if (value === undefined) return { kind: "same" };
    return edited(insert(text, { into: servers, name, value, unit }));
  }
  if (value === undefined) {
    const isLast = servers.members.length === 1;
    return edited(
      isLast
        ? remove(text, { from: root, member: found })
        : remove(text, { from: servers, member }),
    );
  }
  // Members that the user has added, such as an environment, stay.
  const old = jsonValue(member.node);
  const merged = { ...Object(old), ...Object(value) };
  if (isSame(old, merged)) return { kind: "same" };
  return edited(replace(text, { member, value: merged, unit }));
}

function edited(text: string): TextEdit {
  return { kind: "edited", text };
}

function refused(reason: string): TextEdit {
  return { kind: "refused", reason };
}

/** A name that comes twice means the last one, as for `JSON.parse`. */
function findMember(of: JsonObject, name: string): JsonMember | undefined {
  return of.members.findLast((member) => member.name === name);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function insert(
  text: string,
  { into, name, value, unit }: {
    readonly into: JsonObject;
    readonly name: string;
    readonly value: unknown;
    readonly unit: string;
  },
): string {
  const last = into.members.at(-1);
  const outer = indentAt(text, into.start);
  if (last !== undefined && isOnOneLine(text, into)) {
    const member = `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
    const { end } = last.node;
    return splice(text, { start: end, end }, `, ${member}`);
  }
  const indent = last === undefined ? outer + unit : indentAt(text, last.start);
  const eol = lineEnd(text);
  const body = toText(value, unit).replaceAll("\n", eol + indent);
  const member = `${eol}${indent}${JSON.stringify(name)}: ${body}`;
  if (last !== undefined) {
    // A comment on the line of the last member stays on it.
    const from = last.comma === undefined ? last.node.end : last.comma + 1;
    const at = from + restOfLine(text.slice(from));
    const [before, after] = last.comma === undefined ? [",", ""] : ["", ","];
    return text.slice(0, from) + before + text.slice(from, at) + member +
      after + text.slice(at);
  }
  // Comments may be in an object without members.
  const inner = text.slice(into.start + 1, into.end - 1);
  const rest = inner.trim() === "" ? `${eol}${outer}` : inner;
  const isClosed = /[\r\n][ \t]*$/.test(rest);
  return splice(
    text,
    { start: into.start + 1, end: into.end - 1 },
    member + rest + (isClosed ? "" : `${eol}${outer}`),
  );
}

/**
 * How many characters of a line are space and comments, when nothing else
 * follows on it; else 0.
 */
function restOfLine(text: string): number {
  return /^[ \t]*(?:\/\*[^\n]*?\*\/[ \t]*)*(?:\/\/[^\r\n]*)?(?=\r?\n)/
    .exec(text)?.[0].length ?? 0;
}

function replace(
  text: string,
  { member, value, unit }: {
    readonly member: JsonMember;
    readonly value: unknown;
    readonly unit: string;
  },
): string {
  const { node } = member;
  const isShort = !text.slice(node.start, node.end).includes("\n");
  const eol = lineEnd(text);
  const body = isShort ? JSON.stringify(value) : toText(value, unit)
    .replaceAll("\n", eol + indentAt(text, member.start));
  return splice(text, node, body);
}

function remove(
  text: string,
  { from, member }: { readonly from: JsonObject; readonly member: JsonMember },
): string {
  const last = member.comma === undefined ? member.node.end : member.comma + 1;
  const indent = indentAt(text, member.start);
  const first = member.start - indent.length;
  // The whole line goes when nothing else is on it.
  const isAlone = first === 0 || text[first - 1] === "\n";
  const lineBreak = isAlone ? /^[ \t]*\r?\n/.exec(text.slice(last))?.[0] : "";
  const end = last + (lineBreak?.length ?? 0);
  const start = lineBreak ? first : member.start;
  const rest = splice(text, { start, end }, "");
  const earlier = from.members[from.members.indexOf(member) - 1];
  const isLast = member === from.members.at(-1);
  return isLast && member.comma === undefined && earlier?.comma !== undefined
    ? splice(rest, { start: earlier.comma, end: earlier.comma + 1 }, "")
    : rest;
}

function splice(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  by: string,
): string {
  return text.slice(0, start) + by + text.slice(end);
}

function toText(value: unknown, unit: string): string {
  return JSON.stringify(value, null, unit);
}

function isOnOneLine(text: string, { start, end }: JsonNode): boolean {
  return !text.slice(start, end).includes("\n");
}

/** The space that the line of a place begins with. */
function indentAt(text: string, at: number): string {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart, at))?.[0] ?? "";
}

/** One level of indentation, as the first member has it. */
function findUnit(text: string, root: JsonObject): string {
  const [first] = root.members;
  const indent = first === undefined ? "" : indentAt(text, first.start);
  return indent === "" || isOnOneLine(text, root) ? "  " : indent;
}
