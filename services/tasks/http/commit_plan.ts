/**
 * Commits changes of records, and plans them again after a conflict.
 *
 * @module
 */

import type { Store, TransactionResult, Write } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { problem } from "./problem_answer.ts";

/** The writes of a change, and the answer once they are committed. */
export interface CommitPlan {
  /** What it is. */
  readonly kind: "plan";
  /** The writes of one transaction. */
  readonly writes: readonly Write[];
  /** The answer after the commit, or what makes it then. */
  readonly answer: Answer | (() => Promise<Answer>);
  /**
   * The answer to a conflict that another look cannot solve, such as a name
   * that is taken; undefined for another look.
   * @default always another look
   */
  readonly onConflict?: (conflict: Conflict) => Answer | undefined;
  /**
   * Called once after the commit.
   * @default nothing is
   */
  readonly afterwards?: () => void;
}

/** A transaction that did not fit. */
type Conflict = Extract<
  TransactionResult,
  { readonly kind: "conflict" }
>;

/** How often a change is planned before it is given up. */
const MAX_TRIES = 30;

/**
 * Asks for a plan and commits it; asks again when what the plan was made of has
 * changed meanwhile. A plan that is an answer is given as it is.
 *
 * @throws {Error} when the store fails
 */
export async function commitPlan(
  store: Pick<Store, "commit">,
  makePlan: () => Promise<CommitPlan | Answer>,
): Promise<Answer> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const plan = await makePlan();
    if (plan.kind !== "plan") return plan;
    const [result] = await store.commit([{ writes: plan.writes }]);
    if (result?.kind === "ok") {
      plan.afterwards?.();
      const { answer } = plan;
      return typeof answer === "function" ? await answer() : answer;
    }
    if (result === undefined) throw new Error("Cannot commit: no answer");
    if (result.reason === "idempotency") {
      return problem("idempotency_in_progress", {
        detail: "Cannot go on: a request with the same Idempotency-Key was " +
          "answered meanwhile; send it again for that answer",
        retryAfterMs: 1_000,
      });
    }
    const answer = plan.onConflict?.(result);
    if (answer !== undefined) return answer;
  }
  return problem("overloaded", {
    detail: "Cannot write: it was changed by others each time",
    retryAfterMs: 1_000,
  });
}
