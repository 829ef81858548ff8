/**
 * Escapes foreign text so that it can safely stand in a line of a log or a
 * message.
 *
 * @module
 */

/**
 * What JSON lets through and a terminal or a line reader might act on: control
 * characters, invisible format characters (they can reverse what is shown) and
 * the two line ends of Unicode.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Matches nearly all text; the first use of `UNSEEN` takes milliseconds. */
const PLAIN = /^[ -~]*$/;

/**
 * Puts `text` between double quotes and escapes what could end the quotes or
 * the line, so that nothing in it can pass for something else. The result is
 * also a valid JSON string. Of a text with more than `maxChars` characters the
 * rest is counted.
 */
export function quote(
  text: string,
  { maxChars = 200 }: { readonly maxChars?: number } = {},
): string {
  return withoutUnseen(JSON.stringify(shorten(text, maxChars)));
}

/**
 * A foreign message as one line: what a terminal or a line reader might act on
 * is escaped. Of a text with more than `maxChars` characters the rest is
 * counted.
 */
export function oneLine(
  text: string,
  { maxChars = 2_000 }: { readonly maxChars?: number } = {},
): string {
  return withoutUnseen(shorten(text, maxChars));
}

function withoutUnseen(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSEEN, escapeUnits);
}

function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const rest = text.length - maxChars;
  return `${text.slice(0, maxChars)}… (${rest} more characters)`;
}

function escapeUnits(character: string): string {
  return character.split("").map((unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  ).join("");
}
