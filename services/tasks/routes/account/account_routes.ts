/**
 * The routes of the tenant's own account, and the route that tells callers who
 * they are.
 *
 * @module
 */

import { MAX_DOMAIN_CHARS } from "../accounts/tenant_fields.ts";
import { list, nullable } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import { described, named } from "../../../shared/schema/schema.ts";
import { boolean, choice, text } from "../../../shared/schema/values.ts";
import {
  getScopes,
  seesPayloads,
  toAdministrator,
} from "../../access/caller.ts";
import { SCOPES } from "../../access/scope.ts";
import type { Tenant } from "../../domain/records.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { json } from "../../http/answer.ts";
import { getCaller, getTenant } from "../../http/call.ts";
import { formatEtag } from "../../http/etag.ts";
import { invalidRequest, problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { planTenantRemoval } from "../accounts/create_tenant.ts";
import {
  TENANT,
  TENANT_EXAMPLE,
  TENANT_FIELDS,
  TENANT_TABLE,
  viewTenant,
} from "../accounts/tenant_fields.ts";
import type { ApiParts } from "../api_parts.ts";
import { KEY, viewKey } from "../keys/key_fields.ts";
import { buildAuditWrite, nextVersion } from "../record_plan.ts";
import { RecordResource } from "../record_resource.ts";
import { changeRecord, changesSchema } from "../record_table.ts";
import { USER, USER_EXAMPLE, viewUser } from "../users/user_fields.ts";

const CHANGES = changesSchema("TenantChanges", TENANT_FIELDS, {
  timezone: "Europe/Stockholm",
});

/**
 * The routes of the tenant itself. `onRemoved` is called after the tenant was
 * removed, so that its data is erased at once. Without it, the eraser finds the
 * tenant by the mark in the store.
 */
export function accountRoutes(
  parts: ApiParts,
  onRemoved?: () => void,
): readonly AnyRoute[] {
  const { store, repositories } = parts.engine.parts;
  const { serviceHost } = parts.accounts;
  const resource = new RecordResource<Tenant>({
    noun: "tenant",
    name: "Account",
    path: "/v1/account",
    tags: ["account"],
    access: {
      read: { kind: "member", role: "viewer", scope: "account:read" },
      write: { kind: "member", role: "owner", scope: "account:write" },
    },
    shape: TENANT,
    fields: TENANT_FIELDS,
    store,
    repository: repositories.tenants,
    find: async (call) => {
      const { id } = getTenant(call);
      const tenant = await repositories.tenants.get(REGISTRY, id);
      // The tenant existed when the request came in.
      return tenant !== undefined && tenant.status !== "closing"
        ? tenant
        : problem("tenant_not_found", {
          detail: "Cannot find the tenant: it was removed just now",
        });
    },
    view: (tenant, { baseUrl }) => viewTenant(tenant, { baseUrl, serviceHost }),
    tag: ({ version }) => formatEtag(version),
  });
  return [
    resource.readRoute({ summary: "Read the tenant", answer: "The tenant" }),
    ...resource.changeRoutes({
      of: "the tenant",
      description: "The plan, the domain and the status are the operator's.",
      body: CHANGES,
      problems: ["read_only", "bad_timezone"],
      plan: async (call, tenant) => {
        const { record, changed } = changeRecord(TENANT_TABLE, tenant, {
          changes: call.body,
        });
        if (changed.length === 0) return await resource.answer(tenant, call);
        const next = nextVersion(record, call);
        return {
          kind: "plan",
          answer: await resource.answer(next, call),
          writes: [
            repositories.tenants.update(tenant, next),
            buildAuditWrite(call, {
              action: "account.updated",
              target: tenant.id,
              detail: { timezone: next.timezone },
            }),
          ],
        };
      },
    }),
    removeRoute(parts, { resource, onRemoved }),
  ];
}

function removeRoute(
  { engine }: ApiParts,
  { resource, onRemoved }: {
    readonly resource: RecordResource<Tenant>;
    readonly onRemoved: (() => void) | undefined;
  },
): AnyRoute {
  const { repositories } = engine.parts;
  return resource.route({
    method: "DELETE",
    path: "/v1/account",
    operationId: "removeAccount",
    summary: "Remove the tenant permanently",
    description: "Ends the tenant with all it has: tasks, workers, secrets, " +
      "users and keys. The domain stays reserved for 30 days. To be sure that " +
      "it is meant, `confirm` repeats the domain.",
    query: querySchema({
      confirm: described(
        text({ maxLength: MAX_DOMAIN_CHARS }),
        "The domain of the tenant",
      ),
    }),
    answers: { 204: { description: "The tenant is gone" } },
    conditions: "change",
    problems: [],
    handle: (call) => {
      if (call.query.confirm !== getTenant(call).domain) {
        return invalidRequest([{
          parameter: "confirm",
          code: "wrong_value",
          detail: "Cannot remove the tenant: confirm is not its domain",
        }]);
      }
      return resource.change(
        call,
        (tenant) =>
          planTenantRemoval(call, tenant, { repositories, onRemoved }),
      );
    },
  });
}

const ME = named(
  "Me",
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
    tenant: described(
      object({
        id: described(text({ maxLength: 64 }), "Begins with `ten_`"),
        domain: described(
          text({ maxLength: MAX_DOMAIN_CHARS }),
          "The label of its host name",
        ),
      }),
      "Whose tasks the caller sees",
    ),
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
);

/** The route that tells callers who they are. */
export function meRoute({ engine }: ApiParts): AnyRoute {
  const { repositories } = engine.parts;
  return defineRoute({
    method: "GET",
    path: "/v1/me",
    hosts: "tenant",
    operationId: "getMe",
    summary: "Read the caller and its rights",
    tags: ["account"],
    access: { kind: "member", role: "viewer", scope: "account:read" },
    answers: { 200: { description: "The caller", shape: ME } },
    problems: [],
    handle: async (call) => {
      const { id: tenantId, domain } = getTenant(call);
      const caller = getCaller(call);
      const { userId } = toAdministrator(caller);
      const keyId = caller.kind === "api_key" ? caller.keyId : undefined;
      const [user, key] = await Promise.all([
        userId === undefined
          ? undefined
          : repositories.users.get(tenantId, userId),
        keyId === undefined
          ? undefined
          : repositories.keys.get(tenantId, keyId),
      ]);
      const scopes = getScopes(caller);
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
