/**
 * The operator's routes to tenants.
 *
 * @module
 */

import { queryOf } from "../../../shared/schema/query.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { actorOf } from "../../access/caller.ts";
import type { Tenant } from "../../domain/records.ts";
import { auditWrite } from "../../engine/audit_write.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf } from "../../http/call.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange, answerOfRead, etagOf } from "../../http/etag.ts";
import {
  answerPage,
  PAGE_FIELDS,
  pageShape,
  readBookPage,
} from "../../http/page.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
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

/** The tenant of a call's path, by domain or id. */
async function findTenant(
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
async function putTenant(
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

const ACCESS = { kind: "operator" } as const;
const TAGS = ["operator"];

/** The routes by which the operator looks after tenants. */
export function operatorRoutes(
  parts: ApiParts,
  options: TenantRemovalOptions = {},
): readonly AnyRoute[] {
  return [
    listRoute(parts),
    readRoute(parts),
    putRoute(parts),
    removeRoute(parts, options),
  ];
}

function listRoute(parts: ApiParts): AnyRoute {
  const { repositories } = parts.engine.parts;
  const { accounts } = parts;
  return defineRoute({
    method: "GET",
    path: "/",
    hosts: "accounts_admin",
    operationId: "listTenants",
    summary: "List tenants",
    tags: TAGS,
    access: ACCESS,
    query: queryOf(PAGE_FIELDS),
    answers: {
      200: {
        description: "A page of tenants, by their ids",
        shape: pageShape("TenantList", TENANT),
      },
    },
    problems: ["bad_cursor"],
    handle: (call) =>
      answerPage(call, {
        cursors: parts.cursors,
        tenantId: REGISTRY,
        filter: "tenants",
        query: call.query,
        url: `${call.baseUrl}/`,
        read: (position) =>
          readBookPage(repositories.tenants, {
            tenantId: REGISTRY,
            query: call.query,
            position,
            view: (tenant: Tenant) =>
              viewTenant(tenant, {
                baseUrl: call.baseUrl,
                serviceHost: accounts.serviceHost,
              }),
          }),
      }),
  });
}

function readRoute(parts: ApiParts): AnyRoute {
  const { accounts } = parts;
  return defineRoute({
    method: "GET",
    path: "/:domain",
    hosts: "accounts_admin",
    operationId: "getTenant",
    summary: "Read a tenant, by its domain or id",
    tags: TAGS,
    access: ACCESS,
    answers: { 200: { description: "The tenant", shape: TENANT } },
    conditions: "read",
    problems: [],
    handle: async (call) => {
      const tenant = await findTenant(call, parts);
      if ("code" in tenant) return tenant;
      const etag = etagOf(tenant.version);
      const { baseUrl } = call;
      return answerOfRead(call, etag) ??
        json(
          viewTenant(tenant, { baseUrl, serviceHost: accounts.serviceHost }),
          { headers: { etag } },
        );
    },
  });
}

function putRoute(parts: ApiParts): AnyRoute {
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
    handle: (call) => putTenant(call, parts),
  });
}

function removeRoute(
  parts: ApiParts,
  { onRemoved }: TenantRemovalOptions,
): AnyRoute {
  const { engine } = parts;
  return defineRoute({
    method: "DELETE",
    path: "/:domain",
    hosts: "accounts_admin",
    operationId: "removeTenant",
    summary: "Remove a tenant for good",
    description: "It is not served any more, and its data key is destroyed, " +
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
        const tenant = await findTenant(call, parts);
        if ("code" in tenant) return tenant;
        return await planTenantRemoval(call, {
          tenant,
          parts: engine.parts,
          onRemoved,
        });
      }),
  });
}
