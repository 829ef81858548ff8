/**
 * The removal of a tenant as its owner and the operator ask for it.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import type { Tenant } from "../../domain/records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { type Answer, empty } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import type { CommitPlan } from "../../http/commit_plan.ts";
import { removalWrites } from "../../engine/tenant_removal.ts";

/** What routes that remove tenants need beside the parts of the API. */
export interface TenantRemovalOptions {
  /**
   * Called when a tenant was removed, whose rest is to be erased.
   * @default the mark in the store has to do
   */
  readonly onRemoved?: (() => void) | undefined;
}

/** A tenant to be removed. */
export interface RemovedTenant extends TenantRemovalOptions {
  /** The tenant as it was read. */
  readonly tenant: Tenant;
  /** The parts of the engine. */
  readonly parts: Pick<EngineParts, "repositories">;
}

/**
 * Plans the removal; the plan is an answer when the conditions of the call do
 * not hold, or when the tenant is being removed already.
 *
 * @throws {Error} when the store fails
 */
export async function planTenantRemoval(
  call: CallContext,
  { tenant, parts, onRemoved }: RemovedTenant,
): Promise<CommitPlan | Answer> {
  const refused = answerOfChange(call, etagOf(tenant.version));
  if (refused !== undefined) return refused;
  if (tenant.status === "closing") return empty();
  return {
    kind: "plan",
    answer: empty(),
    writes: await removalWrites(parts, tenant, {
      nowMs: call.nowMs,
      actor: actorOf(callerOf(call)),
    }),
    afterwards: () => onRemoved?.(),
  };
}
