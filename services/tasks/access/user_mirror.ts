/**
 * The port to a place where users are kept as well, so that somebody who is
 * added here can log in there.
 *
 * @module
 */

/** A user as the mirror gets to know one. */
export interface MirroredUser {
  /** The tenant's domain. */
  readonly tenant: string;
  /** The id of the user in this service. */
  readonly userId: string;
  /** The address. */
  readonly email: string;
  /** The name; absent when there is none. */
  readonly name?: string;
  /** Whether the user may log in. */
  readonly isBlocked: boolean;
}

/** What of a user has changed; what is absent has not. */
export type MirroredUserChange = Partial<
  Pick<MirroredUser, "email" | "name" | "isBlocked">
>;

/** What mirroring comes to. */
export type MirrorOutcome =
  | {
    readonly kind: "ok";
    /** The user's id at the mirror, which is the `sub` of its tokens. */
    readonly subject: string;
  }
  /** There is a user of that address already. */
  | { readonly kind: "exists" }
  /** There is no such user. */
  | { readonly kind: "not_found" }
  | {
    /** The mirror does not take the token or the values: trying again is idle. */
    readonly kind: "refused";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
  }
  | {
    /** The mirror did not answer, or not now: worth another try. */
    readonly kind: "unavailable";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
    /** After how many milliseconds, where the mirror says so. */
    readonly retryAfterMs?: number;
  };

/** Keeps users in step elsewhere. Methods never reject. */
export interface UserMirror {
  /** Adds a user. */
  create(user: MirroredUser): Promise<MirrorOutcome>;
  /** Changes a user. */
  update(subject: string, change: MirroredUserChange): Promise<MirrorOutcome>;
  /**
   * Removes a user: only one that was added by {@linkcode UserMirror.create},
   * since others may use it for more than this service. One that is gone
   * already is `not_found`.
   */
  remove(subject: string): Promise<MirrorOutcome>;
}
