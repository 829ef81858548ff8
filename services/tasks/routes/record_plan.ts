/**
 * What changes of records have in common: why one is refused, the next version, the
 * line of the audit log, and quotas that count records.
 *
 * @module
 */

import { readOnlyFaults } from "../../shared/schema/read_only.ts";
import { actorOf } from "../access/caller.ts";
import {
  type AuditFact,
  auditWrite,
  countRecords,
} from "../engine/record_writes.ts";
import { type CallContext, callerOf, tenantOf } from "../http/call.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../http/problem_answer.ts";
import type { Write } from "../store/store.ts";
import type { ApiParts } from "./api_parts.ts";

/** The problem of a record that is not there. */
export function noSuchRecord(noun: string, namedBy: string): ProblemAnswer {
  return problem("not_found", {
    detail: `Cannot find ${noun}: there is none with this ${namedBy}`,
  });
}

/** The problem of read-only members that a client sends and that are others. */
export function readOnlyProblem(
  check: Parameters<typeof readOnlyFaults>[0],
): ProblemAnswer | undefined {
  const faults = readOnlyFaults(check);
  return faults.length > 0 ? invalidRequest(faults) : undefined;
}

/** The next version of a record, changed by a call. */
export function nextVersion<
  Value extends { readonly version: number; readonly updatedAtMs: number },
>(changed: Value, { nowMs }: Pick<CallContext, "nowMs">): Value {
  return { ...changed, version: changed.version + 1, updatedAtMs: nowMs };
}

/** What a call does, for the audit log. */
interface Deed extends Omit<AuditFact, "atMs" | "actor"> {
  /**
   * Whose log it is kept in.
   * @default that of the call's tenant
   */
  readonly tenantId?: string;
}

/** The write that notes what a call does; it belongs into the transaction of it. */
export function auditOf(
  call: Pick<CallContext, "caller" | "tenant" | "nowMs">,
  { tenantId = tenantOf(call).id, ...fact }: Deed,
): Write {
  const actor = actorOf(callerOf(call));
  return auditWrite(tenantId, { ...fact, atMs: call.nowMs, actor });
}

/**
 * The problem of one more record, if the plan of the call's tenant allows none.
 * It holds at the commit if the guard of the set was read before and is written
 * along.
 */
export async function quotaProblem(
  call: Pick<CallContext, "tenant">,
  kind: "user" | "worker",
  { engine, plans }: ApiParts,
): Promise<ProblemAnswer | undefined> {
  const { id: tenantId, plan: planId } = tenantOf(call);
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
