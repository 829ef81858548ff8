/**
 * Who did something.
 *
 * @module
 */

/** Who caused a change, as history and the audit log keep it. */
export interface Actor {
  /** A person, an API key, a worker, or the service itself. */
  readonly type: "user" | "key" | "worker" | "system";
  /** The id of that; `system` is its own. */
  readonly id: string;
}

/** The service itself as the one who acts. */
export const SYSTEM_ACTOR: Actor = { type: "system", id: "system" };
