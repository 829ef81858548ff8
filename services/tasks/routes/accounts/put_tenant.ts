/**
 * How the operator changes tenants, and makes them.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import type { Tenant } from "../../domain/records.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf } from "../../http/call.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { auditWrite } from "../../engine/audit_write.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { viewTenant } from "./tenant_view.ts";
import { OPERATED_FIELDS, type OperatedChanges } from "./account_schema.ts";
import { createTenant } from "./create_tenant.ts";

/** A call that changes a tenant, or makes it. */
export type PutCall = Call<unknown, OperatedChanges>;

/** The tenant of a call's path, by domain or id. */
export async function findTenant(
  { params }: Pick<Call<unknown, unknown>, "params">,
  { engine }: ApiParts,
): Promise<Tenant | ProblemAnswer> {
  const { tenants } = engine.parts.repositories;
  const name = (params["domain"] ?? "").toLowerCase();
  const tenant = await tenants.byAlias(REGISTRY, name) ??
    await tenants.get(REGISTRY, name);
  return tenant ?? problem("not_found", {
    detail: "Cannot find tenant: there is none with this domain",
  });
}

/** Changes what is given of a tenant, or makes it where that is asked for. */
export async function putTenant(
  call: PutCall,
  parts: ApiParts,
): Promise<Answer> {
  const wantsNew = call.header("if-none-match")?.trim() === "*" &&
    call.header("if-match") === undefined;
  if (!wantsNew) return await changeTenant(call, parts);
  const found = await findTenant(call, parts);
  // A removed one may have the domain still, for as long as it is reserved.
  return "code" in found || found.status === "closing"
    ? await makeTenant(call, parts)
    : await changeTenant(call, parts);
}

async function makeTenant(call: PutCall, parts: ApiParts): Promise<Answer> {
  const { status, plan, timezone } = call.body;
  const faults = readOnlyFaults({
    given: call.body,
    current: undefined,
    fields: OPERATED_FIELDS,
  });
  if (faults.length > 0) return invalidRequest(faults);
  const refused = unknownPlan(plan, parts);
  if (refused !== undefined) return refused;
  if (status === "closing") return cannotClose();
  return await createTenant(call, {
    domain: call.params["domain"] ?? "",
    ...(status === undefined || status === null ? {} : { status }),
    ...(plan === undefined || plan === null ? {} : { plan }),
    ...(timezone === undefined || timezone === null ? {} : { timezone }),
    owner: { kind: "key" },
    actor: actorOf(callerOf(call)),
  }, parts);
}

async function changeTenant(call: PutCall, parts: ApiParts): Promise<Answer> {
  const { engine, accounts } = parts;
  const { store, repositories } = engine.parts;
  const place = { baseUrl: call.baseUrl, serviceHost: accounts.serviceHost };
  return await commitPlan(store, async () => {
    const tenant = await findTenant(call, parts);
    if ("code" in tenant) return tenant;
    const refused = answerOfChange(call, etagOf(tenant.version));
    if (refused !== undefined) return refused;
    const faults = readOnlyFaults({
      given: call.body,
      current: viewTenant(tenant, place),
      fields: OPERATED_FIELDS,
    });
    if (faults.length > 0) return invalidRequest(faults);
    if (tenant.status === "closing") {
      return problem("wrong_state", {
        detail: "Cannot change tenant: it was removed, which is for good",
        extensions: { state: "closing" },
      });
    }
    const { status, plan } = call.body;
    if (status === "closing") return cannotClose();
    // A plan that is gone may be sent back as it was read.
    const unknown = plan === tenant.plan ? undefined : unknownPlan(plan, parts);
    if (unknown !== undefined) return unknown;
    const next = nextTenant(tenant, call, parts);
    const answer = json(viewTenant(next, place), {
      headers: { etag: etagOf(next.version) },
    });
    if (next === tenant) return answer;
    return {
      kind: "plan",
      answer,
      writes: [
        repositories.tenants.update(tenant, next),
        auditWrite(tenant.id, {
          atMs: call.nowMs,
          action: actionOf(tenant, next),
          actor: actorOf(callerOf(call)),
          target: tenant.id,
          detail: {
            status: next.status,
            plan: next.plan,
            timezone: next.timezone,
          },
        }),
      ],
    };
  });
}

function nextTenant(
  tenant: Tenant,
  { body: { status, plan, timezone }, nowMs }: PutCall,
  { plans }: ApiParts,
): Tenant {
  const next: Tenant = {
    ...tenant,
    status: status === null ? "active" : status ?? tenant.status,
    plan: plan === null ? plans.defaultPlan.id : plan ?? tenant.plan,
    timezone: timezone === null ? "UTC" : timezone ?? tenant.timezone,
  };
  const isSame = next.status === tenant.status && next.plan === tenant.plan &&
    next.timezone === tenant.timezone;
  return isSame
    ? tenant
    : { ...next, version: tenant.version + 1, updatedAtMs: nowMs };
}

function actionOf(tenant: Tenant, next: Tenant): string {
  if (tenant.status === next.status) return "tenant.updated";
  return next.status === "suspended" ? "tenant.suspended" : "tenant.resumed";
}

function unknownPlan(
  plan: string | null | undefined,
  { plans }: ApiParts,
): ProblemAnswer | undefined {
  if (typeof plan !== "string" || plans.has(plan)) return undefined;
  const known = plans.plans.map(({ id }) => `"${id}"`).join(", ");
  return invalidRequest([{
    pointer: "/plan",
    code: "unknown_plan",
    detail: `Cannot take plan "${plan}": there is none such, known are ` +
      known,
  }]);
}

function cannotClose(): ProblemAnswer {
  return invalidRequest([{
    pointer: "/status",
    code: "excluded",
    detail: 'Cannot set status to "closing": DELETE removes a tenant',
  }]);
}
