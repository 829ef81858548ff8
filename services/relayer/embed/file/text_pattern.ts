/**
 * Patterns of a tokenizer's file: a plain text, or a regular expression of the
 * few forms that such files have, one kind of character and how often. A file
 * may come from anywhere, and such expressions cannot take more than one look
 * at each character.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { type JsonObject, ModelFileError, toText } from "./model_json.ts";

/** The longest text of a pattern. */
export const MAX_PATTERN_CHARS = 256;

/**
 * Kinds of characters, by their letter. The library that reads such files
 * takes them by Unicode, and JavaScript takes them by ASCII.
 */
const KINDS: Readonly<Record<string, string>> = {
  ...{ s: "\\p{White_Space}", S: "\\P{White_Space}" },
  ...{ d: "\\p{Nd}", D: "\\P{Nd}" },
  w: "\\p{L}\\p{M}\\p{Nd}\\p{Pc}",
};
const KIND = /\\([sSdDw])/g;
const CLASS = String
  .raw`\\[sSdDw]|\\[pP]\{\w{1,32}\}|\[\^?(?:[^\[\]\\&~^-]|\\.)+\]`;
const SIMPLE = new RegExp(
  String.raw`^(${CLASS}|[^\\^$.*+?()[\]{}|]|\\[^\w])(\+|\{\d{1,2},\d{0,2}\})?$`,
  "u",
);

/**
 * Reads `{"String": …}` or `{"Regex": …}` as an expression that finds all
 * places.
 *
 * @throws {ModelFileError} when it is something else, or not simple
 */
export function readPattern(pattern: JsonObject): RegExp {
  const { String: plain, Regex: regex } = pattern;
  if (plain !== undefined) {
    const text = toText(plain, "a pattern");
    if (text !== "" && text.length <= MAX_PATTERN_CHARS) {
      return new RegExp(escaped(text), "gu");
    }
    throw new ModelFileError("a pattern is empty or too long");
  }
  const source = toText(regex, "a pattern");
  const parts = source.length <= MAX_PATTERN_CHARS ? SIMPLE.exec(source) : null;
  const expression = parts === null ? undefined : compiled(parts);
  if (expression !== undefined) return expression;
  throw new ModelFileError(
    `the regular expression ${quote(source, { maxChars: 80 })} is not one ` +
      "kind of character and how often",
  );
}

function compiled(
  [, kind = "", often = ""]: RegExpExecArray,
): RegExp | undefined {
  const inner = kind.replace(KIND, (_, letter: string) => KINDS[letter] ?? "");
  try {
    return new RegExp(
      (kind.startsWith("[") ? inner : `[${inner}]`) + often,
      "gu",
    );
  } catch {
    return undefined;
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
