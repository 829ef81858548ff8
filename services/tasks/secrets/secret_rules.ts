/**
 * The rules for names, values and labels of secrets, and their largest number.
 *
 * @module
 */

/** A secret with its value. */
export interface NamedSecret {
  /** Its name. */
  readonly name: string;
  /** Its value. */
  readonly value: string;
}

/** Most secrets of a worker, counted by name. */
export const MAX_SECRETS_PER_WORKER = 100;

/** Most characters of a name. */
export const MAX_SECRET_NAME_CHARS = 64;

/** The form of a name, for messages. */
export const SECRET_NAME_FORM: string =
  `capital letters, digits and "_", no digit first, at most ` +
  `${MAX_SECRET_NAME_CHARS} characters`;

const SECRET_NAME = /^[A-Z_][A-Z0-9_]*$/;

/** Whether a text can be the name of a secret. */
export function isSecretName(text: string): boolean {
  return text.length <= MAX_SECRET_NAME_CHARS && SECRET_NAME.test(text);
}

/** A fault of a text. */
interface SecretFault {
  /** The code of the fault. */
  readonly code: string;
  /** The message, to follow "Cannot …:"; has nothing of the text in it. */
  readonly state: string;
}

/** Most bytes of a value in UTF-8. */
export const MAX_SECRET_VALUE_BYTES = 16_384;

/** Most characters of a credential's name. */
export const MAX_LABEL_CHARS = 100;

/** Control and invisible characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Why a value cannot be a secret; `undefined` when it can. */
export function secretValueFault(input: unknown): SecretFault | undefined {
  if (typeof input !== "string") {
    return { code: "wrong_type", state: "the value is not a string" };
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
    : { code: "bad_text", state: "the value is not valid Unicode" };
}

/**
 * Why a text cannot be the name of a credential, which is for people to read;
 * `undefined` when it can. Spaces around the name do not count.
 */
export function labelFault(input: unknown): SecretFault | undefined {
  if (typeof input !== "string") {
    return { code: "wrong_type", state: "the name is not a string" };
  }
  const label = input.trim();
  if (label === "") return { code: "empty", state: "the name is empty" };
  if (label.length > MAX_LABEL_CHARS) {
    const state = `the name has ${label.length} characters, ` +
      `${MAX_LABEL_CHARS} is the most`;
    return { code: "too_long", state };
  }
  return UNSEEN.test(label) || !label.isWellFormed()
    ? { code: "bad_text", state: "the name has invisible characters" }
    : undefined;
}
