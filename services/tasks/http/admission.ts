/**
 * Who was let in.
 *
 * @module
 */

import type { Caller } from "../access/caller.ts";
import type { ProblemAnswer } from "./problem_answer.ts";

/** Who calls, or why nobody is let in. */
export type Admission =
  | {
    readonly kind: "ok";
    /** Who calls; absent where anybody may, and for who holds a lease. */
    readonly caller: Caller | undefined;
    /** The lease whose token was sent, on the routes of a lease alone. */
    readonly lease?: ClaimedLease;
  }
  | ProblemAnswer;

/** A lease that somebody says to hold. Its own route judges that with the task. */
export interface ClaimedLease {
  /** Whether it is known to be theirs; what is not known may be theirs as well. */
  isKnown(): boolean;
  /**
   * Why it is not theirs, by the task as it is stored.
   *
   * @throws {Error} when the store cannot be read
   */
  refusal(): Promise<ProblemAnswer | undefined>;
}
