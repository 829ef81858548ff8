/**
 * The operator's routes to tenants.
 *
 * @module
 */

import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { actorOf } from "../../access/caller.ts";
import type { Tenant } from "../../domain/records.ts";
import { auditWrite } from "../../engine/record_writes.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf } from "../../http/call.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { RecordResource } from "../record_resource.ts";
import {
  createTenant,
  planTenantRemoval,
  type TenantRemovalOptions,
} from "./create_tenant.ts";
import {
  MADE_TENANT,
  OPERATED_CHANGES,
  OPERATED_FIELDS,
  type OperatedChanges,
  TENANT,
  viewTenant,
} from "./tenant_fields.ts";

/** A call that changes a tenant, or makes it. */
type PutCall = Call<unknown, OperatedChanges>;

/** What the operator's routes work with. */
interface OperatedTenants {
  /** The parts of the API. */
  readonly parts: ApiParts;
  /** Finds tenants. */
  readonly resource: RecordResource<Tenant>;
}

/** Changes what is given of a tenant, or makes it where that is asked for. */
async function putTenant(
  call: PutCall,
  operated: OperatedTenants,
): Promise<Answer> {
  const { parts } = operated;
  const wantsNew = call.header("if-none-match")?.trim() === "*" &&
    call.header("if-match") === undefined;
  if (!wantsNew) return await changeTenant(call, operated);
  const found = await operated.resource.find(call);
  // A removed one may have the domain still, for as long as it is reserved.
  return "code" in found || found.status === "closing"
    ? await makeTenant(call, parts)
    : await changeTenant(call, operated);
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

async function changeTenant(
  call: PutCall,
  operated: OperatedTenants,
): Promise<Answer> {
  const { parts } = operated;
  const { engine, accounts } = parts;
  const { store, repositories } = engine.parts;
  const place = { baseUrl: call.baseUrl, serviceHost: accounts.serviceHost };
  return await commitPlan(store, async () => {
    const tenant = await operated.resource.find(call);
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

const ACCESS = { kind: "operator" } as const;
const TAGS = ["operator"];

/** The routes by which the operator looks after tenants. */
export function operatorRoutes(
  parts: ApiParts,
  options: TenantRemovalOptions = {},
): readonly AnyRoute[] {
  const { tenants } = parts.engine.parts.repositories;
  const { serviceHost } = parts.accounts;
  const resource = new RecordResource<Tenant>({
    noun: "tenant",
    operations: ["Tenant", "Tenants"],
    summaries: {
      list: "List tenants",
      read: "Read a tenant, by its domain or id",
    },
    answers: { list: "A page of tenants, by their ids", read: "The tenant" },
    hosts: "accounts_admin",
    path: "/",
    param: "domain",
    tags: TAGS,
    access: ACCESS,
    shape: TENANT,
    pageName: "TenantList",
    repository: tenants,
    cursors: parts.cursors,
    filter: "tenants",
    ownerOf: () => REGISTRY,
    lookUp: async (_, segment) => {
      const name = segment.toLowerCase();
      return await tenants.byAlias(REGISTRY, name) ??
        await tenants.get(REGISTRY, name);
    },
    view: (tenant, { baseUrl }) => viewTenant(tenant, { baseUrl, serviceHost }),
    tag: ({ version }) => etagOf(version),
  });
  const operated: OperatedTenants = { parts, resource };
  return [
    resource.listRoute(),
    resource.readRoute(),
    putRoute(operated),
    removeRoute(operated, options),
  ];
}

function putRoute(operated: OperatedTenants): AnyRoute {
  return defineRoute({
    method: "PUT",
    path: "/:domain",
    hosts: "accounts_admin",
    operationId: "putTenant",
    summary: "Change a tenant, or make it",
    description: "Suspends and resumes it, changes plan and time zone. With " +
      "`If-None-Match: *` it makes a tenant that is not there yet, whatever " +
      "ACCOUNTS_MODE says; without, one that is not there is not found.",
    tags: TAGS,
    access: ACCESS,
    body: requiredBody(OPERATED_CHANGES),
    answers: {
      200: { description: "The tenant", shape: TENANT },
      201: {
        description: "The tenant that was made, with the key of its owner",
        shape: MADE_TENANT,
        headers: { Location: "Where the tenant is" },
      },
    },
    conditions: "change",
    problems: ["domain_taken", "read_only", "bad_timezone", "wrong_state"],
    handle: (call) => putTenant(call, operated),
  });
}

function removeRoute(
  operated: OperatedTenants,
  { onRemoved }: TenantRemovalOptions,
): AnyRoute {
  const { engine } = operated.parts;
  return defineRoute({
    method: "DELETE",
    path: "/:domain",
    hosts: "accounts_admin",
    operationId: "removeTenant",
    summary: "Remove a tenant for good",
    description: "It is no longer served, and its data key is destroyed, " +
      "so its secrets cannot be opened again. Its tasks are canceled and all " +
      "it has is erased in the background, but for the audit log. The domain " +
      "stays reserved for 30 days. One that is being removed already stays so.",
    tags: TAGS,
    access: ACCESS,
    answers: { 204: { description: "The tenant is gone" } },
    conditions: "change",
    problems: [],
    handle: (call) =>
      commitPlan(engine.parts.store, async () => {
        const tenant = await operated.resource.find(call);
        if ("code" in tenant) return tenant;
        return await planTenantRemoval(call, {
          tenant,
          parts: engine.parts,
          onRemoved,
        });
      }),
  });
}
