/**
 * What the texts of a request for secrets may be: values, names of credentials.
 *
 * @module
 */

import type { SecretProblem } from "./secret_request.ts";

/** What is wrong with a text. */
export interface Fault {
  /** What kind of thing is wrong. */
  readonly code: SecretProblem["code"];
  /** What is wrong, to follow "Cannot …:"; holds nothing of the text. */
  readonly state: string;
}

/** UTF-8 bytes of a value at most. */
export const MAX_SECRET_VALUE_BYTES = 16_384;

/** Characters of a credential's name at most. */
export const MAX_LABEL_CHARS = 100;

/** Control and invisible characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** What keeps a value from being a secret; `undefined` when nothing does. */
export function secretValueFault(input: unknown): Fault | undefined {
  if (typeof input !== "string") {
    return { code: "wrong_type", state: "the value is no string" };
  }
  if (input === "") return { code: "empty", state: "the value is empty" };
  // A text of more characters has more bytes too: no need to encode it.
  const isLong = input.length > MAX_SECRET_VALUE_BYTES ||
    new TextEncoder().encode(input).length > MAX_SECRET_VALUE_BYTES;
  if (isLong) {
    const state = `the value has more than ${MAX_SECRET_VALUE_BYTES} bytes`;
    return { code: "too_long", state };
  }
  return input.isWellFormed()
    ? undefined
    : { code: "bad_text", state: "the value is no valid Unicode" };
}

/**
 * What keeps a text from being the name of a credential, which is for people;
 * `undefined` when nothing does. Spaces around it don't count.
 */
export function labelFault(input: unknown): Fault | undefined {
  if (typeof input !== "string") {
    return { code: "wrong_type", state: "the name is no string" };
  }
  const label = input.trim();
  if (label === "") return { code: "empty", state: "the name is empty" };
  if (label.length > MAX_LABEL_CHARS) {
    const state = `the name has ${label.length} characters, ` +
      `${MAX_LABEL_CHARS} is the most`;
    return { code: "too_long", state };
  }
  return UNSEEN.test(label) || !label.isWellFormed()
    ? { code: "bad_text", state: "the name has characters nobody can see" }
    : undefined;
}
