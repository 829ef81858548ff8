/**
 * API keys: the routes that list, make, read, rotate and end them.
 *
 * @module
 */

import { seesPayloads, toAdministrator } from "../../access/caller.ts";
import { mintToken } from "../../access/credential_token.ts";
import type { ApiKey } from "../../domain/records.ts";
import { endOfKey, hasEnded } from "../../engine/credential_records.ts";
import { readGuard } from "../../engine/record_writes.ts";
import { empty, json, type JsonAnswer } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getTenant,
} from "../../http/call.ts";
import { tagOfRecord } from "../../http/etag.ts";
import { invalidRequest, problem } from "../../http/problem_answer.ts";
import { type AnyRoute, optionalBody, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { buildAuditWrite } from "../record_plan.ts";
import { type Planned, RecordResource } from "../record_resource.ts";
import { countActiveOwners } from "../users/user_fields.ts";
import {
  KEY,
  KEY_FIELDS,
  MADE_KEY,
  NEW_KEY,
  type NewKey,
  ROTATION,
  type Rotation,
  viewKey,
} from "./key_fields.ts";
import { beyondCaller, outdatedCaller, roomForKey } from "./key_rules.ts";

const MADE = {
  description: "The key, with its secret",
  shape: MADE_KEY,
  headers: { Location: "Where the key is" },
};

/** The routes of API keys. */
export function keyRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { store, repositories } = parts.engine.parts;
  const resource = new RecordResource<ApiKey>({
    noun: "key",
    name: "Key",
    path: "/v1/keys/:id",
    tags: ["keys"],
    access: {
      read: { kind: "member", role: "admin", scope: "keys:read" },
      write: { kind: "member", role: "admin", scope: "keys:write" },
    },
    shape: KEY,
    fields: KEY_FIELDS,
    store,
    repository: repositories.keys,
    view: viewKey,
    // The tag ignores when the key was used: use does not change the key.
    tag: (key) => tagOfRecord(key, ["version", "digest", "lastUsedAtMs"]),
  });
  return [
    resource.listRoute({
      summary: "List API keys",
      answer: "A page of keys, without their secrets",
      pageName: "ApiKeyList",
      cursors: parts.cursors,
      filter: "keys",
    }),
    resource.createRoute({
      summary: "Create an API key",
      description: "A key never has rights that its maker lacks. Only " +
        "a digest of the secret is kept, so this answer alone shows it.",
      body: requiredBody(NEW_KEY, {
        example: { name: "ci", scopes: ["tasks:read", "tasks:write"] },
      }),
      answer: MADE,
      problems: ["quota_exceeded", "read_only"],
      plan: (call) => planKey(call, parts),
    }),
    resource.readRoute({
      summary: "Read an API key",
      answer: "The key, without its secret",
    }),
    rotateRoute(parts, resource),
    resource.removeRoute({
      summary: "Revoke an API key",
      description: "It stops working at once. The last key with the role of " +
        "an owner stays while no owner has logged in at the identity " +
        "provider; another one counts if it lasts as long, or a week.",
      problems: ["last_owner"],
      plan: (call, key) => planRemoval(call, key, parts),
    }),
  ];
}

/** The route that rotates a key. */
function rotateRoute(
  parts: ApiParts,
  resource: RecordResource<ApiKey>,
): AnyRoute {
  return resource.route({
    method: "POST",
    path: "/v1/keys/:id/rotate",
    operationId: "rotateKey",
    summary: "Replace an API key",
    description: "The new key has an id and a secret of its own and is like " +
      "the old one otherwise; it belongs to the user who asks for it. The " +
      "old one ends at once, or after the overlap. Until then it does not " +
      "count for the plan's `keys`, unless as many others go on like this.",
    body: optionalBody(ROTATION),
    answers: { 201: MADE },
    isIdempotent: true,
    problems: ["quota_exceeded", "wrong_state"],
    handle: (call) =>
      resource.commit(call, (key) => planRotation(call, key, parts)),
  });
}

/** Plans a new key. */
async function planKey(
  call: Call<unknown, NewKey>,
  parts: ApiParts,
): Promise<Planned> {
  const { engine } = parts;
  const { id: tenantId } = getTenant(call);
  const caller = getCaller(call);
  const { nowMs, body } = call;
  const { name, role, scopes, networks, expires_at: expiresAtMs } = body;
  if (typeof expiresAtMs === "number" && expiresAtMs <= nowMs) {
    return invalidRequest([{
      pointer: "/expires_at",
      code: "too_small",
      detail: "Cannot create key: it would have expired already",
    }]);
  }
  const { id, text, digest } = mintToken("dk");
  const key: ApiKey = {
    tenantId,
    id,
    version: 1,
    name,
    digest,
    role: role ?? undefined,
    scopes: scopes ?? undefined,
    networks: networks.length === 0 ? undefined : [...new Set(networks)],
    payloads: body.payloads ?? seesPayloads(caller),
    madeBy: toAdministrator(caller).userId,
    createdAtMs: nowMs,
    expiresAtMs: expiresAtMs ?? undefined,
  };
  const beyond = beyondCaller(caller, key);
  if (beyond !== undefined) return beyond;
  const guard = await readGuard(engine.parts, tenantId, "access");
  const refused = await outdatedCaller(engine.parts, caller, key);
  if (refused !== undefined) return refused;
  const room = await roomForKey(call, parts);
  if (room.kind !== "room") return room;
  return {
    kind: "plan",
    answer: madeKey(call, key, text),
    writes: [
      engine.parts.repositories.keys.insert(key),
      ...room.writes,
      guard,
      buildAuditWrite(call, {
        action: "key.created",
        target: key.id,
        detail: describeRights(key),
      }),
      // The answer that is kept for a repeated request never has a secret.
      ...call.extraWrites(madeKey(call, key, null)),
    ],
  };
}

/**
 * The answer that shows a new key; `text` is the key itself, null where it must
 * not be shown.
 */
function madeKey(
  { baseUrl }: Pick<CallContext, "baseUrl">,
  key: ApiKey,
  text: string | null,
): JsonAnswer {
  return json({ ...viewKey(key), key: text }, {
    status: 201,
    headers: { location: `${baseUrl}/v1/keys/${key.id}` },
  });
}

/** The rights of a key, for the audit log. */
function describeRights(
  { role, scopes, payloads }: ApiKey,
): {
  readonly role: string | null;
  readonly scopes: readonly string[] | null;
  readonly payloads: boolean;
} {
  return { role: role ?? null, scopes: scopes ?? null, payloads };
}

/**
 * Plans the rotation of a key: a new key with the same rights but another id
 * and secret. The old key ends at once or after the overlap.
 */
async function planRotation(
  call: Call<unknown, Rotation>,
  key: ApiKey,
  parts: ApiParts,
): Promise<Planned> {
  const { engine } = parts;
  const { keys } = engine.parts.repositories;
  const { nowMs } = call;
  const { tenantId } = key;
  const caller = getCaller(call);
  const overlapMs = call.body.overlap;
  const guard = await readGuard(engine.parts, tenantId, "access");
  const refused = beyondCaller(caller, key) ??
    await outdatedCaller(engine.parts, caller, key);
  if (refused !== undefined) return refused;
  if (hasEnded(key, nowMs)) {
    return problem("wrong_state", {
      detail: "Cannot rotate key: it has expired; create another one",
      extensions: { state: "expired" },
    });
  }
  const hasOverlap = overlapMs > 0;
  const room = await roomForKey(call, parts, { key, hasOverlap });
  if (room.kind !== "room") return room;
  const { id, text, digest } = mintToken("dk");
  // The end of an earlier overlap concerns the old key alone.
  const { lastUsedAtMs: _, replacedUntilMs, ...same } = key;
  const next: ApiKey = {
    ...same,
    id,
    version: 1,
    digest,
    madeBy: toAdministrator(caller).userId,
    createdAtMs: nowMs,
  };
  return {
    kind: "plan",
    answer: madeKey(call, next, text),
    writes: [
      keys.insert(next),
      overlapMs === 0 ? keys.remove(key) : keys.update(key, {
        ...key,
        version: key.version + 1,
        replacedUntilMs: Math.min(
          replacedUntilMs ?? Infinity,
          nowMs + overlapMs,
        ),
      }),
      ...room.writes,
      guard,
      buildAuditWrite(call, {
        action: "key.rotated",
        target: key.id,
        detail: {
          ...describeRights(next),
          successor: id,
          overlap_ms: overlapMs,
        },
      }),
      // The answer that is kept for a repeated request never has a secret.
      ...call.extraWrites(madeKey(call, next, null)),
    ],
  };
}

/** Plans the removal of a key. */
async function planRemoval(
  call: CallContext,
  key: ApiKey,
  parts: ApiParts,
): Promise<Planned> {
  const { engine } = parts;
  const { tenantId, id } = key;
  const refused = beyondCaller(getCaller(call), key);
  if (refused !== undefined) return refused;
  // The guard is read before the records are counted that it protects.
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
      engine.parts.repositories.keys.remove(key),
      guard,
      buildAuditWrite(call, { action: "key.removed", target: id }),
    ],
  };
}

/**
 * How long a key must still last to count as a way in: a week, which leaves
 * time to make another one.
 */
const LASTING_MS = 7 * 86_400_000;

/**
 * Tells whether the tenant would have no administrator without a key. An owner
 * who has never logged in by an accepted issuer may never do so, and a key that
 * ends soon does not count either.
 */
async function isLastWayIn(
  { engine, issuer }: Pick<ApiParts, "engine" | "issuer">,
  key: ApiKey,
  nowMs: number,
): Promise<boolean> {
  if (!opensAll(key, nowMs)) return false;
  const owners = issuer === undefined
    ? 0
    : await countActiveOwners(engine.parts, key.tenantId, issuer);
  if (owners > 0) return false;
  const endMs = Math.min(endOfKey(key) ?? Infinity, nowMs + LASTING_MS);
  const keys = await engine.parts.repositories.keys.all(key.tenantId);
  return !keys.some((other) =>
    other.id !== key.id && opensAll(other, nowMs) &&
    (endOfKey(other) ?? Infinity) >= endMs
  );
}

/** Tells whether a key can make any other key as long as it lasts. */
function opensAll(key: ApiKey, nowMs: number): boolean {
  return key.role === "owner" && !hasEnded(key, nowMs);
}
