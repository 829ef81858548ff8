/**
 * The text of connection and server errors, fit for logs.
 *
 * @module
 */

const MAX_LENGTH = 200;

/**
 * Says in a few words what went wrong.
 *
 * @param secrets Texts that must not be shown. A server repeats the arguments
 * of a command it does not know, and signing in is a command.
 */
export function redisErrorText(
  error: unknown,
  secrets: readonly string[] = [],
): string {
  let text = plainText(error).replace(/,? with args beginning with:.*/s, "");
  for (const secret of secrets) {
    if (secret !== "") text = text.replaceAll(secret, "***");
  }
  return text.slice(0, MAX_LENGTH);
}

function plainText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A name with several addresses fails with one error for each of them.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(plainText).join("; ");
  }
  return error.message || error.name;
}
