/**
 * What names, values and labels of secrets may be, and how many there may be.
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

/** Names that a worker has at most. */
export const MAX_SECRETS_PER_WORKER = 100;

/** Characters of a name at most. */
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

/** What is wrong with a text. */
interface SecretFault {
  /** What kind of thing is wrong. */
  readonly code: string;
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
export function secretValueFault(input: unknown): SecretFault | undefined {
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
export function labelFault(input: unknown): SecretFault | undefined {
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
    ? { code: "bad_text", state: "the name has invisible characters" }
    : undefined;
}
