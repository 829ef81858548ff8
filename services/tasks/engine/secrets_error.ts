/**
 * The failure of everything that needs a secret which no key opens.
 *
 * @module
 */

/**
 * What is sealed cannot be opened, or nothing can be sealed, however often it is
 * tried: the master key that it takes is not there. Answers of the API have the
 * code `secrets_unavailable` then.
 */
export class SecretsError extends Error {
  /** The name by which it shows up in logs. */
  override readonly name = "SecretsError";
}
