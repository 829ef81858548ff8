/**
 * Making, rotating and ending keys.
 *
 * @module
 */

import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { actorOf, administratorOf, seesPayloads } from "../../access/caller.ts";
import { mintApiKey } from "../../access/credential_token.ts";
import type { ApiKey } from "../../domain/records.ts";
import { auditWrite, readGuard } from "../../engine/record_writes.ts";
import { endOfKey, hasEnded } from "../../engine/credential_records.ts";
import {
  type Answer,
  empty,
  json,
  type JsonAnswer,
} from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange, tagOfRecord } from "../../http/etag.ts";
import { invalidRequest, problem } from "../../http/problem_answer.ts";
import type { ApiParts } from "../api_parts.ts";
import type { RecordResource } from "../record_resource.ts";
import { countActiveOwners } from "../users/user_fields.ts";
import {
  KEY_FIELDS,
  type NewKey,
  type Rotation,
  viewKey,
} from "./key_fields.ts";
import { beyondCaller, outdatedCaller, roomForKey } from "./key_rules.ts";

/** What the routes of keys work with. */
export interface KeyParts {
  /** The parts of the API. */
  readonly parts: ApiParts;
  /** Finds keys. */
  readonly resource: RecordResource<ApiKey>;
}

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
    role: role ?? undefined,
    ...(scopes === undefined || scopes === null ? {} : { scopes }),
    ...(networks.length === 0 ? {} : { networks: [...new Set(networks)] }),
    payloads,
    madeBy: userId,
    createdAtMs: call.nowMs,
    expiresAtMs: expiresAtMs ?? undefined,
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

/** The answer that shows a new key, with its text where that is shown. */
function madeKey(
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
function powerOf(
  { role, scopes, payloads }: ApiKey,
): {
  readonly role: string | null;
  readonly scopes: readonly string[] | null;
  readonly payloads: boolean;
} {
  return { role: role ?? null, scopes: scopes ?? null, payloads };
}

/** A key that goes on for so long leaves the time to make another one: a week. */
const LASTING_MS = 7 * 86_400_000;

/** The entity tag of a key; that it was used does not change it. */
export function keyTag(key: ApiKey): string {
  return tagOfRecord(key, ["version", "digest", "lastUsedAtMs"]);
}

/** Ends a key. */
export async function removeKey(
  call: Call<unknown, unknown>,
  { parts, resource }: KeyParts,
): Promise<Answer> {
  const { engine, apiKeys } = parts;
  const { store, repositories } = engine.parts;
  const caller = callerOf(call);
  return await commitPlan(store, async () => {
    const key = await resource.find(call);
    if ("code" in key) return key;
    const refused = answerOfChange(call, keyTag(key)) ??
      beyondCaller(caller, key);
    if (refused !== undefined) return refused;
    const { tenantId } = key;
    // It is read before anything is counted that it stands for.
    const guard = await readGuard(engine.parts, tenantId, "access");
    if (await isLastWayIn(parts, key, call.nowMs)) {
      return problem("last_owner", {
        detail: "Cannot remove key: the tenant has no owner who has logged " +
          "in and no other key with the role of one that lasts as long, or a " +
          "week; make another key first",
      });
    }
    return {
      kind: "plan",
      answer: empty(),
      writes: [
        repositories.keys.remove(key),
        guard,
        auditWrite(tenantId, {
          atMs: call.nowMs,
          action: "key.removed",
          actor: actorOf(caller),
          target: key.id,
        }),
      ],
      afterwards: () => apiKeys.forget(tenantId, key.id),
    };
  });
}

/**
 * Makes a key that is like another one but for its id and secret; the other one
 * ends at once or after the overlap.
 */
export async function rotateKey(
  call: Call<unknown, Rotation | undefined>,
  { parts, resource }: KeyParts,
): Promise<Answer> {
  const { engine, apiKeys, plans } = parts;
  const { store, repositories } = engine.parts;
  const caller = callerOf(call);
  const overlapMs = call.body?.overlap ?? 0;
  const { id, text, digest } = mintApiKey();
  return await commitPlan(store, async () => {
    const key = await resource.find(call);
    if ("code" in key) return key;
    const { tenantId } = key;
    const guard = await readGuard(engine.parts, tenantId, "access");
    const refused = beyondCaller(caller, key) ??
      await outdatedCaller(engine.parts, caller, key);
    if (refused !== undefined) return refused;
    if (hasEnded(key, call.nowMs)) {
      return problem("wrong_state", {
        detail: "Cannot rotate key: it has expired; make another one",
        extensions: { state: "expired" },
      });
    }
    const room = await roomForKey(engine.parts, {
      tenantId,
      plan: plans.plan(tenantOf(call).plan),
      nowMs: call.nowMs,
      rotation: { key, hasOverlap: overlapMs > 0 },
    });
    if (room.kind !== "room") return room;
    // The end of an earlier overlap is the old key's alone.
    const { lastUsedAtMs: _, madeBy: __, replacedUntilMs, ...same } = key;
    const { userId } = administratorOf(caller);
    const next: ApiKey = {
      ...same,
      id,
      version: 1,
      digest,
      madeBy: userId,
      createdAtMs: call.nowMs,
    };
    return {
      kind: "plan",
      answer: madeKey(call, next, text),
      writes: [
        repositories.keys.insert(next),
        overlapMs === 0
          ? repositories.keys.remove(key)
          : repositories.keys.update(key, {
            ...key,
            version: key.version + 1,
            replacedUntilMs: Math.min(
              replacedUntilMs ?? Infinity,
              call.nowMs + overlapMs,
            ),
          }),
        ...room.writes,
        guard,
        auditWrite(tenantId, {
          atMs: call.nowMs,
          action: "key.rotated",
          actor: actorOf(caller),
          target: key.id,
          detail: { ...powerOf(next), successor: id, overlap_ms: overlapMs },
        }),
        // What is kept for a repeated request never holds a secret.
        ...call.extraWrites(madeKey(call, next, null)),
      ],
      afterwards: () => apiKeys.forget(tenantId, key.id),
    };
  });
}

/**
 * Tells whether the tenant would have no administrator without a key. Who has not
 * logged in by an issuer whose tokens are accepted may never do so, and a key that
 * is about to end is no way in either.
 */
async function isLastWayIn(
  { engine, issuer }: Pick<ApiParts, "engine" | "issuer">,
  key: ApiKey,
  nowMs: number,
): Promise<boolean> {
  if (!opensAll(key, nowMs)) return false;
  const owners = issuer === undefined
    ? 0
    : await countActiveOwners(engine.parts, key.tenantId, { issuer });
  if (owners > 0) return false;
  const endMs = Math.min(endOfKey(key) ?? Infinity, nowMs + LASTING_MS);
  const keys = await engine.parts.repositories.keys.all(key.tenantId);
  return !keys.some((other) =>
    other.id !== key.id && opensAll(other, nowMs) &&
    (endOfKey(other) ?? Infinity) >= endMs
  );
}

/** Tells whether a key can make any other, for as long as it is there. */
function opensAll(key: ApiKey, nowMs: number): boolean {
  return key.role === "owner" && !hasEnded(key, nowMs);
}
