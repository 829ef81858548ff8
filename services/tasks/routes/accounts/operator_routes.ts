/**
 * The operator's routes, which read, create, change and remove tenants.
 *
 * @module
 */

import { toActor } from "../../access/caller.ts";
import type { Tenant } from "../../domain/records.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, getCaller } from "../../http/call.ts";
import { formatEtag } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  buildAuditWrite,
  nextVersion,
  noSuchRecord,
  readOnlyProblem,
} from "../record_plan.ts";
import { type Planned, RecordResource } from "../record_resource.ts";
import { changeRecord } from "../record_table.ts";
import { createTenant, planTenantRemoval } from "./create_tenant.ts";
import {
  MADE_TENANT,
  OPERATED_CHANGES,
  OPERATED_FIELDS,
  OPERATED_TABLE,
  type OperatedChanges,
  TENANT,
  viewTenant,
} from "./tenant_fields.ts";

/** A call that changes a tenant, or creates it. */
type PutCall = Call<unknown, OperatedChanges>;

/**
 * The routes by which the operator manages tenants. `onRemoved` is called after
 * a tenant was removed, so that its data is erased at once. Without it, the
 * eraser finds the tenant by the mark in the store.
 */
export function operatorRoutes(
  parts: ApiParts,
  onRemoved?: () => void,
): readonly AnyRoute[] {
  const { store, repositories } = parts.engine.parts;
  const { tenants } = repositories;
  const { serviceHost } = parts.accounts;
  const resource = new RecordResource<Tenant>({
    noun: "tenant",
    name: "Tenant",
    path: "/:domain",
    hosts: "accounts_admin",
    tags: ["operator"],
    access: { read: { kind: "operator" }, write: { kind: "operator" } },
    shape: TENANT,
    fields: OPERATED_FIELDS,
    store,
    repository: tenants,
    find: async ({ params }) => {
      const name = params.domain?.toLowerCase() ?? "";
      return await tenants.byAlias(REGISTRY, name) ??
        await tenants.get(REGISTRY, name) ?? noSuchRecord("tenant", "domain");
    },
    view: (tenant, { baseUrl }) => viewTenant(tenant, { baseUrl, serviceHost }),
    tag: ({ version }) => formatEtag(version),
  });
  return [
    resource.listRoute({
      summary: "List tenants",
      answer: "A page of tenants, by their ids",
      pageName: "TenantList",
      cursors: parts.cursors,
      filter: "tenants",
      getOwner: () => REGISTRY,
    }),
    resource.readRoute({
      summary: "Read a tenant, by its domain or id",
      answer: "The tenant",
    }),
    putRoute(parts, resource),
    resource.removeRoute({
      summary: "Remove a tenant permanently",
      description: "It is no longer served, and its data key is destroyed, " +
        "so its secrets cannot be opened again. Its tasks are canceled and " +
        "all it has is erased in the background, but for the audit log. The " +
        "domain stays reserved for 30 days. One that is being removed already " +
        "stays so.",
      problems: [],
      plan: (call, tenant) =>
        planTenantRemoval(call, tenant, { repositories, onRemoved }),
    }),
  ];
}

function putRoute(
  parts: ApiParts,
  resource: RecordResource<Tenant>,
): AnyRoute {
  return resource.route({
    method: "PUT",
    path: "/:domain",
    operationId: "putTenant",
    summary: "Change or create a tenant",
    description: "Suspends and resumes it, changes plan and time zone. With " +
      "`If-None-Match: *` it makes a tenant that is not there yet, whatever " +
      "ACCOUNTS_MODE says; without, one that is not there is not found.",
    body: requiredBody(OPERATED_CHANGES),
    answers: {
      200: { description: "The tenant", shape: TENANT },
      201: {
        description: "The new tenant, with the key of its owner",
        shape: MADE_TENANT,
        headers: { Location: "Where the tenant is" },
      },
    },
    conditions: "change",
    problems: ["domain_taken", "read_only", "bad_timezone", "wrong_state"],
    handle: async (call) => {
      const wantsNew = call.header("if-none-match")?.trim() === "*" &&
        call.header("if-match") === undefined;
      if (wantsNew) {
        const found = await resource.find(call);
        // A removed tenant may still have the domain, for as long as it is
        // reserved.
        const isFree = "code" in found || found.status === "closing";
        if (isFree) return await makeTenant(call, parts);
      }
      return await resource.change(
        call,
        (tenant) => planChange(call, tenant, { parts, resource }),
        call.body,
      );
    },
  });
}

async function makeTenant(call: PutCall, parts: ApiParts): Promise<Answer> {
  const { body: given } = call;
  const { status, plan, timezone } = given;
  const refused =
    readOnlyProblem({ given, current: undefined, fields: OPERATED_FIELDS }) ??
      unknownPlan(plan, parts);
  if (refused !== undefined) return refused;
  if (status === "closing") return cannotClose();
  return await createTenant(call, {
    domain: call.params.domain ?? "",
    given: {
      status: status ?? undefined,
      plan: plan ?? undefined,
      timezone: timezone ?? undefined,
    },
    owner: { kind: "key" },
    actor: toActor(getCaller(call)),
  }, parts);
}

/** Plans the changes that the operator sent for a tenant. */
async function planChange(
  call: PutCall,
  tenant: Tenant,
  { parts, resource }: {
    readonly parts: ApiParts;
    readonly resource: RecordResource<Tenant>;
  },
): Promise<Planned> {
  const { id } = tenant;
  if (tenant.status === "closing") {
    return problem("wrong_state", {
      detail: "Cannot change tenant: it was removed permanently",
      extensions: { state: "closing" },
    });
  }
  if (call.body.status === "closing") return cannotClose();
  const { record, changed } = changeRecord(OPERATED_TABLE, tenant, {
    changes: call.body,
    resets: { status: "active", plan: parts.plans.defaultPlan.id },
  });
  // A plan that no longer exists may be sent back as it was read.
  const unknown = changed.includes("plan")
    ? unknownPlan(call.body.plan, parts)
    : undefined;
  if (unknown !== undefined) return unknown;
  if (changed.length === 0) return await resource.answer(tenant, call);
  const next = nextVersion(record, call);
  const { status, plan, timezone } = next;
  const action = !changed.includes("status")
    ? "updated"
    : status === "suspended"
    ? "suspended"
    : "resumed";
  return {
    kind: "plan",
    answer: await resource.answer(next, call),
    writes: [
      parts.engine.parts.repositories.tenants.update(tenant, next),
      buildAuditWrite(call, {
        tenantId: id,
        action: `tenant.${action}`,
        target: id,
        detail: { status, plan, timezone },
      }),
    ],
  };
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
