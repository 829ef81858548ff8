/**
 * What clients ask for when they send secrets, and what can be wrong with it.
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
    readonly name?: string;
    /** When it stops working, in milliseconds since the epoch. */
    readonly expiresAtMs?: number;
    /**
     * Whether leases taken with it may carry the worker's secrets.
     *
     * @default {true}
     */
    readonly secrets?: boolean;
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

/** What reading a request comes to. */
export type SecretsRequestOutcome =
  | { readonly kind: "ok"; readonly request: SecretsRequest }
  | {
    readonly kind: "invalid";
    /** What is wrong, at least one thing and 50 at most. */
    readonly problems: readonly SecretProblem[];
  };
