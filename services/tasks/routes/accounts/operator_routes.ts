/**
 * The routes by which the operator looks after tenants.
 *
 * @module
 */

import type { Tenant } from "../../domain/records.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import type { ApiParts } from "../api_parts.ts";
import { json } from "../../http/answer.ts";
import { answerOfRead, etagOf } from "../../http/etag.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import {
  planTenantRemoval,
  type TenantRemovalOptions,
} from "./plan_tenant_removal.ts";
import {
  answerPage,
  PAGE_FIELDS,
  pageShape,
  readBookPage,
} from "../../http/page.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { TENANT } from "./tenant_schema.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import { viewTenant } from "./tenant_view.ts";
import { MADE_TENANT, OPERATED_CHANGES } from "./account_schema.ts";
import { findTenant, putTenant } from "./put_tenant.ts";

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
