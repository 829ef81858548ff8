/**
 * The tenant's own account, and who calls.
 *
 * @module
 */

import { list, nullable } from "../../../shared/schema/composite.ts";
import { changesOf, object } from "../../../shared/schema/object.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import {
  described,
  named,
  type ValueOf,
} from "../../../shared/schema/schema.ts";
import { boolean, choice, text } from "../../../shared/schema/values.ts";
import {
  actorOf,
  administratorOf,
  scopesOf,
  seesPayloads,
} from "../../access/caller.ts";
import { SCOPES } from "../../access/scope.ts";
import type { Tenant } from "../../domain/records.ts";
import { auditWrite } from "../../engine/record_writes.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange, answerOfRead, etagOf } from "../../http/etag.ts";
import { invalidRequest, problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import {
  planTenantRemoval,
  type TenantRemovalOptions,
} from "../accounts/create_tenant.ts";
import {
  TENANT,
  TENANT_EXAMPLE,
  TENANT_FIELDS,
  viewTenant,
} from "../accounts/tenant_fields.ts";
import type { ApiParts } from "../api_parts.ts";
import { KEY, viewKey } from "../keys/key_fields.ts";
import { USER, USER_EXAMPLE, viewUser } from "../users/user_fields.ts";

const CHANGES = named(
  "TenantChanges",
  described(object(changesOf(TENANT_FIELDS)), {
    description: "What is given is changed, what is not given stays, and " +
      "null resets to the default",
    examples: [{ timezone: "Europe/Stockholm" }],
  }),
);

const READ = { kind: "member", role: "viewer", scope: "account:read" } as const;
const WRITE = {
  kind: "member",
  role: "owner",
  scope: "account:write",
} as const;

/** The routes of the tenant itself. */
export function accountRoutes(
  parts: ApiParts,
  options: TenantRemovalOptions = {},
): readonly AnyRoute[] {
  const common = {
    path: "/v1/account",
    hosts: "tenant",
    tags: ["account"],
    answers: { 200: { description: "The tenant", shape: TENANT } },
  } as const;
  const change = {
    ...common,
    description: "The plan, the domain and the status are the operator's.",
    access: WRITE,
    conditions: "change",
    problems: ["read_only", "bad_timezone"],
  } as const;
  return [
    defineRoute({
      ...common,
      method: "GET",
      operationId: "getAccount",
      summary: "Read the tenant",
      access: READ,
      conditions: "read",
      problems: [],
      handle: async (call) => {
        const tenant = await readTenant(call, parts);
        if ("kind" in tenant) return tenant;
        const etag = etagOf(tenant.version);
        return answerOfRead(call, etag) ??
          json(view(call, tenant, parts), { headers: { etag } });
      },
    }),
    defineRoute({
      ...change,
      method: "PUT",
      operationId: "updateAccount",
      summary: "Change what is given of the tenant",
      body: requiredBody(CHANGES),
      handle: (call) => changeAccount(call, parts),
    }),
    defineRoute({
      ...change,
      method: "PATCH",
      operationId: "patchAccount",
      summary: "Change the tenant by a merge patch",
      body: requiredBody(CHANGES, {
        mediaTypes: ["application/merge-patch+json", "application/json"],
      }),
      handle: (call) => changeAccount(call, parts),
    }),
    removeRoute(parts, options),
  ];
}

function removeRoute(
  parts: ApiParts,
  { onRemoved }: TenantRemovalOptions,
): AnyRoute {
  const { engine } = parts;
  return defineRoute({
    method: "DELETE",
    path: "/v1/account",
    hosts: "tenant",
    operationId: "removeAccount",
    summary: "Remove the tenant for good",
    description: "Ends the tenant with all it has: tasks, workers, secrets, " +
      "users and keys. The domain stays reserved for 30 days. To be sure that " +
      "it is meant, `confirm` repeats the domain.",
    tags: ["account"],
    access: WRITE,
    query: queryOf({
      confirm: described(text({ maxLength: 63 }), "The domain of the tenant"),
    }),
    answers: { 204: { description: "The tenant is gone" } },
    conditions: "change",
    problems: [],
    handle: (call) => {
      if (call.query.confirm !== tenantOf(call).domain) {
        return invalidRequest([{
          parameter: "confirm",
          code: "wrong_value",
          detail: "Cannot remove the tenant: confirm is not its domain",
        }]);
      }
      return commitPlan(engine.parts.store, async () => {
        const tenant = await readTenant(call, parts);
        if ("kind" in tenant) return tenant;
        return await planTenantRemoval(call, {
          tenant,
          parts: engine.parts,
          onRemoved,
        });
      });
    },
  });
}

async function changeAccount(
  call: Call<unknown, ValueOf<typeof CHANGES>>,
  parts: ApiParts,
): Promise<Answer> {
  const { store, repositories } = parts.engine.parts;
  return await commitPlan(store, async () => {
    const tenant = await readTenant(call, parts);
    if ("kind" in tenant) return tenant;
    const refused = answerOfChange(call, etagOf(tenant.version));
    if (refused !== undefined) return refused;
    const faults = readOnlyFaults({
      given: call.body,
      current: view(call, tenant, parts),
      fields: TENANT_FIELDS,
    });
    if (faults.length > 0) return invalidRequest(faults);
    const { timezone } = call.body;
    const wanted = timezone === null ? "UTC" : timezone ?? tenant.timezone;
    if (wanted === tenant.timezone) {
      return json(view(call, tenant, parts), {
        headers: { etag: etagOf(tenant.version) },
      });
    }
    const next: Tenant = {
      ...tenant,
      version: tenant.version + 1,
      timezone: wanted,
      updatedAtMs: call.nowMs,
    };
    return {
      kind: "plan",
      answer: json(view(call, next, parts), {
        headers: { etag: etagOf(next.version) },
      }),
      writes: [
        repositories.tenants.update(tenant, next),
        auditWrite(tenant.id, {
          atMs: call.nowMs,
          action: "account.updated",
          actor: actorOf(callerOf(call)),
          target: tenant.id,
          detail: { timezone: wanted },
        }),
      ],
    };
  });
}

async function readTenant(
  call: Pick<Call<unknown, unknown>, "tenant">,
  { engine }: ApiParts,
): Promise<Tenant | ReturnType<typeof problem>> {
  const tenant = await engine.parts.repositories.tenants.get(
    REGISTRY,
    tenantOf(call).id,
  );
  // It was there when the request came in.
  if (tenant !== undefined && tenant.status !== "closing") return tenant;
  return problem("tenant_not_found", {
    detail: "Cannot find the tenant: it was removed just now",
  });
}

function view(
  { baseUrl }: Pick<Call<unknown, unknown>, "baseUrl">,
  tenant: Tenant,
  { accounts }: ApiParts,
): ReturnType<typeof viewTenant> {
  return viewTenant(tenant, { baseUrl, serviceHost: accounts.serviceHost });
}

const ME = named(
  "Me",
  described(
    object({
      type: described(
        choice(["user", "key"]),
        "A person with a token, or a program with a key",
      ),
      id: described(text({ maxLength: 64 }), "The id of the user or the key"),
      scopes: described(
        list(choice(SCOPES), { maxItems: 100 }),
        "All that the caller may do",
      ),
      payloads: described(
        boolean(),
        "Whether the caller sees the data and results of tasks",
      ),
      tenant: object({
        id: text({ maxLength: 64 }),
        domain: text({ maxLength: 63 }),
      }),
      user: described(
        nullable(USER),
        "The person, or who made the key; null where there is none",
      ),
      key: described(nullable(KEY), "The key; null for a person"),
    }),
    {
      description: "Who calls",
      examples: [{
        type: "user",
        id: USER_EXAMPLE.id,
        scopes: ["tasks:read"],
        payloads: true,
        tenant: { id: TENANT_EXAMPLE.id, domain: TENANT_EXAMPLE.domain },
        user: USER_EXAMPLE,
        key: null,
      }],
    },
  ),
);

/** The route that tells callers who they are. */
export function meRoute({ engine }: ApiParts): AnyRoute {
  const { repositories } = engine.parts;
  return defineRoute({
    method: "GET",
    path: "/v1/me",
    hosts: "tenant",
    operationId: "getMe",
    summary: "Tell who calls and what the caller may do",
    tags: ["account"],
    access: { kind: "member", role: "viewer", scope: "account:read" },
    answers: { 200: { description: "The caller", shape: ME } },
    problems: [],
    handle: async (call) => {
      const { id: tenantId, domain } = tenantOf(call);
      const caller = callerOf(call);
      const { userId } = administratorOf(caller);
      const keyId = caller.kind === "api_key" ? caller.keyId : undefined;
      const [user, key] = await Promise.all([
        userId === undefined
          ? undefined
          : repositories.users.get(tenantId, userId),
        keyId === undefined
          ? undefined
          : repositories.keys.get(tenantId, keyId),
      ]);
      const scopes = scopesOf(caller);
      return json({
        type: keyId === undefined ? "user" : "key",
        id: keyId ?? userId ?? "",
        scopes: SCOPES.filter((scope) => scopes.has(scope)),
        payloads: seesPayloads(caller),
        tenant: { id: tenantId, domain },
        user: user === undefined ? null : viewUser(user),
        key: key === undefined ? null : viewKey(key),
      });
    },
  });
}
