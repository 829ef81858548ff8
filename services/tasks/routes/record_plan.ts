/**
 * What all changes of records share: problems, the next version, the audit
 * entry, quotas, and how a change is committed and planned again after a
 * conflict.
 *
 * @module
 */

import { readOnlyFaults } from "../../shared/schema/read_only.ts";
import { toActor } from "../access/caller.ts";
import {
  type AuditFact,
  auditWrite,
  countRecords,
} from "../engine/record_writes.ts";
import type { Answer } from "../http/answer.ts";
import { type CallContext, getCaller, getTenant } from "../http/call.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../http/problem_answer.ts";
import type { Store, TransactionResult, Write } from "../store/store.ts";
import type { ApiParts } from "./api_parts.ts";

/** The problem of a record that does not exist. */
export function noSuchRecord(noun: string, namedBy: string): ProblemAnswer {
  return problem("not_found", {
    detail: `Cannot find ${noun}: none has this ${namedBy}`,
  });
}

/**
 * The problem of read-only members that a client sent with other values;
 * undefined when there are no such members.
 */
export function readOnlyProblem(
  check: Parameters<typeof readOnlyFaults>[0],
): ProblemAnswer | undefined {
  const faults = readOnlyFaults(check);
  return faults.length > 0 ? invalidRequest(faults) : undefined;
}

/** The next version of a record that a call changes. */
export function nextVersion<
  Value extends { readonly version: number; readonly updatedAtMs: number },
>(changed: Value, { nowMs }: Pick<CallContext, "nowMs">): Value {
  return { ...changed, version: changed.version + 1, updatedAtMs: nowMs };
}

/** What a call did, for the audit log. */
interface Deed extends Omit<AuditFact, "atMs" | "actor"> {
  /**
   * The tenant in whose log the entry is kept.
   * @default the call's tenant
   */
  readonly tenantId?: string;
}

/**
 * The write of the audit entry of a call; it belongs in the transaction of the
 * change.
 */
export function buildAuditWrite(
  call: Pick<CallContext, "caller" | "tenant" | "nowMs">,
  { tenantId = getTenant(call).id, ...fact }: Deed,
): Write {
  const actor = toActor(getCaller(call));
  return auditWrite(tenantId, { ...fact, atMs: call.nowMs, actor });
}

/**
 * The problem of creating one more record when the plan of the call's tenant is
 * used up; undefined when there is room. The outcome still holds at the commit
 * if the guard of the set was read before and is written with it.
 */
export async function quotaProblem(
  call: Pick<CallContext, "tenant">,
  kind: "user" | "worker",
  { engine, plans }: ApiParts,
): Promise<ProblemAnswer | undefined> {
  const { id: tenantId, plan: planId } = getTenant(call);
  const plan = plans.plan(planId);
  const limit = `${kind}s` as const;
  const allowed = plan.limits[limit];
  if (allowed === null) return undefined;
  const { store } = engine.parts;
  const used = await countRecords(store, { kind, tenantId, cap: allowed });
  if (used < allowed) return undefined;
  return problem("quota_exceeded", {
    detail: `Cannot create ${kind}: the plan "${plan.id}" allows ` +
      `${allowed} ${limit}`,
    extensions: { limit: allowed, used, plan: plan.id },
  });
}

/**
 * The problem of creating one more record of a kind that each tenant may have so
 * many of, whatever its plan; as with {@linkcode quotaProblem}.
 */
export async function fixedQuotaProblem(
  call: Pick<CallContext, "tenant">,
  { engine }: Pick<ApiParts, "engine">,
  { kind, limit }: {
    readonly kind: "calendar" | "webhook" | "alert";
    readonly limit: number;
  },
): Promise<ProblemAnswer | undefined> {
  const { id: tenantId, plan } = getTenant(call);
  const { store } = engine.parts;
  const used = await countRecords(store, { kind, tenantId, cap: limit });
  return used < limit ? undefined : problem("quota_exceeded", {
    detail: `Cannot create ${kind}: a tenant has ${limit} at the most`,
    extensions: { limit, used, plan },
  });
}

/** The writes of a change, and the answer after their commit. */
export interface CommitPlan {
  /** Tells a plan from an answer. */
  readonly kind: "plan";
  /** The writes of one transaction. */
  readonly writes: readonly Write[];
  /** The answer after the commit, or a function that makes it then. */
  readonly answer: Answer | (() => Promise<Answer>);
  /**
   * The answer to a conflict that planning again cannot solve, such as a name
   * that is taken; undefined to plan again.
   * @default always plan again
   */
  readonly onConflict?: (conflict: Conflict) => Answer | undefined;
  /**
   * Called once after the commit.
   * @default not called
   */
  readonly afterwards?: () => void;
}

/** A transaction that conflicted with the stored records. */
type Conflict = Extract<
  TransactionResult,
  { readonly kind: "conflict" }
>;

/** How often a change is planned before it fails. */
const MAX_TRIES = 30;

/**
 * Makes a plan and commits it. After a conflict, makes a new plan from the
 * records as they are then. A plan that is an answer is returned as it is.
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
        detail: "Cannot continue: a request with the same Idempotency-Key " +
          "was answered meanwhile; send it again for that answer",
        retryAfterMs: 1_000,
      });
    }
    const answer = plan.onConflict?.(result);
    if (answer !== undefined) return answer;
  }
  return problem("overloaded", {
    detail: "Cannot write: others keep changing it",
    retryAfterMs: 1_000,
  });
}
