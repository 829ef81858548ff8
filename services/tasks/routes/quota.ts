/**
 * Quotas of a plan that count records.
 *
 * @module
 */

import type { Plan } from "../domain/records.ts";
import type { Store } from "../store/store.ts";
import { problem, type ProblemAnswer } from "../http/problem_answer.ts";
import { countRecords } from "../engine/guard.ts";

/** What is counted, and by what it is bounded. */
export interface QuotaOptions {
  /** The kind of records. */
  readonly kind: "user" | "worker";
  /** The tenant. */
  readonly tenantId: string;
  /** Its plan. */
  readonly plan: Plan;
  /** The limit of the plan. */
  readonly limit: "users" | "workers";
}

/**
 * The problem of one more record, if the plan allows none. It holds at the
 * commit if the guard of the set was read before and is written along.
 */
export async function quotaProblem(
  store: Pick<Store, "records">,
  { kind, tenantId, plan, limit }: QuotaOptions,
): Promise<ProblemAnswer | undefined> {
  const allowed = plan.limits[limit];
  if (allowed === null) return undefined;
  const used = await countRecords(store, { kind, tenantId, cap: allowed });
  if (used < allowed) return undefined;
  return quotaExceeded({
    detail: `Cannot create ${kind}: the plan "${plan.id}" allows ` +
      `${allowed} ${limit}`,
    plan,
    allowed,
    used,
  });
}

/** The problem of more than a plan allows. */
export function quotaExceeded(
  { detail, plan, allowed, used }: {
    readonly detail: string;
    readonly plan: Plan;
    readonly allowed: number;
    readonly used: number;
  },
): ProblemAnswer {
  return problem("quota_exceeded", {
    detail,
    extensions: { limit: allowed, used, plan: plan.id },
  });
}
