/**
 * Changes an entry in settings that are JSON, and keeps everything else as it
 * is: comments, order, indentation, trailing commas.
 *
 * @module
 */

import type { EntryChange } from "./clients.ts";
import { type JsonMember, type JsonNode, readJsonText } from "./json_text.ts";

/** A member, and the object that has it. */
interface Place {
  readonly from: readonly JsonMember[];
  readonly member: JsonMember;
}

/**
 * Changes an entry; members that a user has added to it, such as an
 * environment, stay. The removal of the last entry removes what held it.
 *
 * @returns The text with the change; the same text when it is already so.
 * @throws {SyntaxError} with the reason why it cannot be changed
 */
export function editJson(text: string, { path, values }: EntryChange): string {
  const root = readJsonText(text);
  const valueBelow = (depth: number): unknown =>
    path.slice(depth).reduceRight<unknown>(
      (value, name) => ({ [name]: value }),
      values,
    );
  if (root === undefined) {
    if (values === undefined) return text;
    const isBare = text.trim() === "";
    const head = isBare ? /^\uFEFF?/.exec(text)?.[0] ?? "" : `${text}\n`;
    return `${head}${JSON.stringify(valueBelow(0), null, 2)}\n`;
  }
  const unit = findUnit(text, root);
  const places: Place[] = [];
  let node = root;
  for (const [depth, name] of path.entries()) {
    const { members } = node;
    if (members === undefined) {
      const what = depth === 0 ? "it" : `"${path[depth - 1]}" in it`;
      throw new SyntaxError(`${what} is no JSON object`);
    }
    // A name that comes twice means the last one, as for `JSON.parse`.
    const member = members.findLast((one) => one.name === name);
    if (member === undefined) {
      if (values === undefined) return text;
      const value = valueBelow(depth + 1);
      return insert(text, { into: node, members, name, value, unit });
    }
    places.push({ from: members, member });
    node = member.node;
  }
  if (values === undefined) {
    const place = places.findLast(({ from }) => from.length > 1) ?? places[0];
    return place === undefined ? text : remove(text, place);
  }
  const named = places.at(-1)?.member ?? root;
  const merged = { ...Object(node.value), ...values };
  if (JSON.stringify(node.value) === JSON.stringify(merged)) return text;
  const body = isOnOneLine(text, node)
    ? JSON.stringify(merged)
    : indented(text, { value: merged, unit, indent: indentAt(text, named) });
  return text.slice(0, node.start) + body + text.slice(node.end);
}

/** Adds a member behind the others. */
function insert(
  text: string,
  { into, members, name, value, unit }: {
    readonly into: JsonNode;
    readonly members: readonly JsonMember[];
    readonly name: string;
    readonly value: unknown;
    readonly unit: string;
  },
): string {
  const key = JSON.stringify(name);
  const eol = lineEnd(text);
  const outer = indentAt(text, into);
  const last = members.at(-1);
  if (last === undefined) {
    const indent = outer + unit;
    const body = indented(text, { value, unit, indent });
    // Comments may be in an object without members.
    const inner = text.slice(into.start + 1, into.end - 1);
    const rest = inner.trim() === "" ? eol + outer : inner;
    const end = /[\r\n][ \t]*$/.test(rest) ? "" : eol + outer;
    return `${text.slice(0, into.start + 1)}${eol}${indent}${key}: ${body}` +
      rest + end + text.slice(into.end - 1);
  }
  if (isOnOneLine(text, into)) {
    const { end } = last.node;
    return `${text.slice(0, end)}, ${key}: ${JSON.stringify(value)}` +
      text.slice(end);
  }
  const indent = indentAt(text, last);
  const body = indented(text, { value, unit, indent });
  // A comment on the line of the last member stays on it.
  const from = last.comma === undefined ? last.node.end : last.comma + 1;
  const rest = text.slice(from);
  const at = from +
    (/^[ \t]*(?:\/\*[^\n]*?\*\/[ \t]*)*(?:\/\/[^\r\n]*)?(?=\r?\n)/
      .exec(rest)?.[0].length ?? 0);
  const [before, after] = last.comma === undefined ? [",", ""] : ["", ","];
  return `${text.slice(0, from)}${before}${text.slice(from, at)}${eol}` +
    `${indent}${key}: ${body}${after}${text.slice(at)}`;
}

function remove(text: string, { from, member }: Place): string {
  const { start, comma, node } = member;
  const end = comma === undefined ? node.end : comma + 1;
  const first = start - indentAt(text, member).length;
  // The whole line goes when nothing else is on it.
  const isAlone = first === 0 || text[first - 1] === "\n";
  const gap = isAlone ? /^[ \t]*\r?\n/.exec(text.slice(end))?.[0] : undefined;
  const rest = gap === undefined
    ? text.slice(0, start) + text.slice(end)
    : text.slice(0, first) + text.slice(end + gap.length);
  // The new last member has a comma only if the old one had.
  const isLast = member === from.at(-1) && comma === undefined;
  const left = isLast ? from.at(-2)?.comma : undefined;
  return left === undefined ? rest : rest.slice(0, left) + rest.slice(left + 1);
}

/** A value on lines of its own, whose first one is behind an indentation. */
function indented(
  text: string,
  { value, unit, indent }: {
    readonly value: unknown;
    readonly unit: string;
    readonly indent: string;
  },
): string {
  return JSON.stringify(value, null, unit)
    .replaceAll("\n", lineEnd(text) + indent);
}

function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function isOnOneLine(text: string, { start, end }: JsonNode): boolean {
  return !text.slice(start, end).includes("\n");
}

/** The space that the line of a place begins with. */
function indentAt(
  text: string,
  { start }: { readonly start: number },
): string {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart, start))?.[0] ?? "";
}

/** One level of indentation, as the first member has it. */
function findUnit(text: string, root: JsonNode): string {
  const first = root.members?.[0];
  const indent = first === undefined ? "" : indentAt(text, first);
  return indent === "" || isOnOneLine(text, root) ? "  " : indent;
}
