/**
 * The route that tells callers who they are.
 *
 * @module
 */

import {
  administratorOf,
  scopesOf,
  seesPayloads,
} from "../../access/caller.ts";
import { SCOPES } from "../../access/scope.ts";
import type { ApiParts } from "../api_parts.ts";
import { json } from "../../http/answer.ts";
import { callerOf, tenantOf } from "../../http/call.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { TENANT_EXAMPLE } from "../accounts/tenant_schema.ts";
import { list, nullable } from "../../../shared/schema/composite.ts";
import { described, named } from "../../../shared/schema/schema.ts";
import { boolean, choice, text } from "../../../shared/schema/values.ts";
import { object } from "../../../shared/schema/object.ts";
import { viewKey } from "../keys/key_view.ts";
import { viewUser } from "../users/user_view.ts";
import { KEY } from "../keys/key_schema.ts";
import { USER, USER_EXAMPLE } from "../users/user_schema.ts";

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
