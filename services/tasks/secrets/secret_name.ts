/**
 * Names of secrets.
 *
 * @module
 */

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
