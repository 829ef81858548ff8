/**
 * Requests that set secrets, their values, and what can be wrong with them.
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

/** What a client asks for. */
export type SecretsRequest =
  | {
    /** Store these values; a name that is there gets a new version. */
    readonly kind: "values";
    /** At least one, each name once. */
    readonly secrets: readonly NamedSecret[];
  }
  | {
    /** Mint a pair of key and secret that a worker logs in with. */
    readonly kind: "credential";
    /** What people call it. */
    readonly name?: string | undefined;
    /** When it stops working, in milliseconds since the epoch. */
    readonly expiresAtMs?: number | undefined;
    /**
     * Whether leases taken with it may carry the worker's secrets.
     *
     * @default {true}
     */
    readonly secrets?: boolean | undefined;
  }
  | {
    /** Rotate the secret that calls to the worker are signed with. */
    readonly kind: "signing";
  };

/** One thing that is wrong with a request. */
export interface SecretProblem {
  /** Where, as a JSON pointer within the body (RFC 6901); empty for all of it. */
  readonly pointer: string;
  /** What kind of thing is wrong. */
  readonly code:
    | "wrong_type"
    | "unknown_field"
    | "unknown_type"
    | "not_allowed"
    | "missing"
    | "bad_name"
    | "empty"
    | "too_long"
    | "too_many"
    | "bad_text"
    | "bad_date"
    | "past";
  /** What is wrong, as a message for the client; never holds a value. */
  readonly detail: string;
}

/** The outcome of reading a request. */
export type SecretsRequestOutcome =
  | { readonly kind: "ok"; readonly request: SecretsRequest }
  | {
    readonly kind: "invalid";
    /** What is wrong, at least one thing and 50 at most. */
    readonly problems: readonly SecretProblem[];
  };

/** What is wrong with a text. */
export interface SecretFault {
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
