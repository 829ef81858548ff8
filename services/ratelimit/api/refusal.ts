/**
 * Requests that get no decision.
 *
 * @module
 */

/** Why a request got no decision. */
export type RefusalKind =
  /** The bytes or the text are no request. */
  | "malformed"
  /** A request that can't be decided: no domain, no descriptors, no unit. */
  | "invalid"
  /** More descriptors, or more bytes, than are taken. */
  | "too_large"
  /** No rules have been loaded yet. */
  | "no_configuration"
  /** The counter store did not answer. */
  | "store_unavailable";

/** A request that got no decision. */
export interface Refusal {
  /** Tells it from a decision. */
  readonly kind: "refused";
  /** The kind of refusal, which gives the status. */
  readonly why: RefusalKind;
  /** What the caller is told. */
  readonly reason: string;
}
