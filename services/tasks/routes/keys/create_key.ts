/**
 * Making a key.
 *
 * @module
 */

import { mintApiKey } from "../../access/credential_token.ts";
import { actorOf, administratorOf, seesPayloads } from "../../access/caller.ts";
import type { ApiKey } from "../../domain/records.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, json, type JsonAnswer } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { auditWrite } from "../../engine/audit_write.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { readGuard } from "../../engine/guard.ts";
import { roomForKey } from "./key_quota.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { viewKey } from "./key_view.ts";
import { beyondCaller, outdatedCaller } from "./key_rules.ts";
import { KEY_FIELDS, type NewKey } from "./key_schema.ts";

/** Makes a key. */
export async function createKey(
  call: Call<unknown, NewKey>,
  parts: ApiParts,
): Promise<Answer> {
  const tenant = tenantOf(call);
  const caller = callerOf(call);
  const { engine, plans } = parts;
  const { store, repositories } = engine.parts;
  const faults = readOnlyFaults({
    given: call.body,
    current: undefined,
    fields: KEY_FIELDS,
  });
  if (faults.length > 0) return invalidRequest(faults);
  const { name, role, scopes, networks, expires_at: expiresAtMs } = call.body;
  const { payloads = seesPayloads(caller) } = call.body;
  if (typeof expiresAtMs === "number" && expiresAtMs <= call.nowMs) {
    return invalidRequest([{
      pointer: "/expires_at",
      code: "too_small",
      detail: "Cannot make key: it would have expired already",
    }]);
  }
  const { userId } = administratorOf(caller);
  const { id, text, digest } = mintApiKey();
  const key: ApiKey = {
    tenantId: tenant.id,
    id,
    version: 1,
    name,
    digest,
    ...(typeof role === "string" ? { role } : {}),
    ...(scopes === undefined || scopes === null ? {} : { scopes }),
    ...(networks.length === 0 ? {} : { networks: [...new Set(networks)] }),
    payloads,
    ...(userId === undefined ? {} : { madeBy: userId }),
    createdAtMs: call.nowMs,
    ...(typeof expiresAtMs === "number" ? { expiresAtMs } : {}),
  };
  const beyond = beyondCaller(caller, key);
  if (beyond !== undefined) return beyond;
  const answer = madeKey(call, key, text);
  return await commitPlan(store, async () => {
    const guard = await readGuard(engine.parts, tenant.id, "access");
    const refused = await outdatedCaller(engine.parts, caller, key);
    if (refused !== undefined) return refused;
    const room = await roomForKey(engine.parts, {
      tenantId: tenant.id,
      plan: plans.plan(tenant.plan),
      nowMs: call.nowMs,
    });
    if (room.kind !== "room") return room;
    return {
      kind: "plan",
      answer,
      writes: [
        repositories.keys.insert(key),
        ...room.writes,
        guard,
        auditWrite(tenant.id, {
          atMs: call.nowMs,
          action: "key.created",
          actor: actorOf(caller),
          target: key.id,
          detail: powerOf(key),
        }),
        // What is kept for a repeated request never holds a secret.
        ...call.extraWrites(madeKey(call, key, null)),
      ],
    };
  });
}

/** The answer that shows a new key, with its text where that is to be seen. */
export function madeKey(
  { baseUrl }: Pick<Call<unknown, unknown>, "baseUrl">,
  key: ApiKey,
  text: string | null,
): JsonAnswer {
  return json({ ...viewKey(key), key: text }, {
    status: 201,
    headers: { location: `${baseUrl}/v1/keys/${key.id}` },
  });
}

/** What a key may do, for the audit log. */
export function powerOf(
  { role, scopes, payloads }: ApiKey,
): {
  readonly role: string | null;
  readonly scopes: readonly string[] | null;
  readonly payloads: boolean;
} {
  return { role: role ?? null, scopes: scopes ?? null, payloads };
}
