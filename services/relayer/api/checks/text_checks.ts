/**
 * Checks of texts, names and ids.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { quote } from "../../../shared/quote.ts";
import { bad, type Check, type Checked, good } from "./check.ts";

/** Longest text that is remembered, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 1_048_576;

/** Longest text that a model gets, in bytes of UTF-8. */
export const MAX_MODEL_TEXT_BYTES = 65_536;

const MAX_NAME_BYTES = 255;
const CONTROL = /\p{Cc}/u;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Takes a text with something in it, of at most `maxBytes` of UTF-8. One that
 * has half a surrogate pair has no UTF-8 at all, so it is refused.
 */
export function text(maxBytes: number): Check<string> {
  return (value, name) => {
    if (value === undefined) return bad(name, "is not given");
    if (typeof value !== "string") return bad(name, "is no string");
    if (!value.isWellFormed()) return bad(name, "has half a surrogate pair");
    if (Buffer.byteLength(value) > maxBytes) {
      return bad(name, `has more than ${maxBytes} bytes`);
    }
    return value.trim() === "" ? bad(name, "is blank") : good(value);
  };
}

const NAME = text(MAX_NAME_BYTES);

/** Takes a name: a short text without control characters. */
export function shortName(
  value: unknown,
  name: string,
): Checked<string> {
  const checked = NAME(value, name);
  return checked.kind === "ok" && CONTROL.test(checked.value)
    ? bad(name, "has a control character")
    : checked;
}

/** Takes the id of a job or a memory. */
export function recordId(
  value: unknown,
  name: string,
): Checked<string> {
  return typeof value === "string" && isRecordId(value)
    ? good(value)
    : bad(name, "is no id: 1 to 64 letters, digits, _ and - are taken");
}

/** Whether a text has the form of an id of a job or a memory. */
export function isRecordId(id: string): boolean {
  return ID.test(id);
}

/** Takes one of some words. */
export function word<W extends string>(words: readonly W[]): Check<W> {
  return (value, name) => {
    const found = words.find((one) => one === value);
    return found === undefined
      ? bad(name, `is none of ${words.map((one) => quote(one)).join(", ")}`)
      : good(found);
  };
}

/** Takes bytes, at least one, as base64 with its padding (RFC 4648, 4). */
export function base64(
  value: unknown,
  name: string,
): Checked<Uint8Array<ArrayBuffer>> {
  if (value === undefined) return bad(name, "is not given");
  if (typeof value !== "string" || value.length % 4 !== 0) {
    return bad(name, "is no base64");
  }
  if (!BASE64.test(value)) return bad(name, "is no base64");
  return value === ""
    ? bad(name, "is empty")
    : good(new Uint8Array(Buffer.from(value, "base64")));
}
