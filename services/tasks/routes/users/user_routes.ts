/**
 * The routes of users: they list, add, read, change and remove them.
 *
 * @module
 */

import { seesPayloads, toAdministrator } from "../../access/caller.ts";
import {
  isActiveOwner,
  mayChangeUser,
  mayGrantRole,
} from "../../access/user_rules.ts";
import type { User } from "../../domain/records.ts";
import { readGuard } from "../../engine/record_writes.ts";
import type { MirrorState } from "../../engine/user_mirroring.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getTenant,
} from "../../http/call.ts";
import { tagOfRecord } from "../../http/etag.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { buildAuditWrite, nextVersion, quotaProblem } from "../record_plan.ts";
import { type Planned, RecordResource } from "../record_resource.ts";
import { changeRecord } from "../record_table.ts";
import {
  countActiveOwners,
  identityRemovals,
  keysThatEnd,
  type NewUser,
  USER,
  USER_CHANGES,
  USER_FIELDS,
  USER_TABLE,
  type UserChanges,
  viewUser,
} from "./user_fields.ts";

/** The header that shows the {@linkcode MirrorState}. */
const MIRROR_HEADER = "user-mirror";

/** The description of the header, for the document. */
const MIRROR_HEADERS: Readonly<Record<string, string>> = {
  "User-Mirror": "Where users are mirrored at an identity provider: `ok`, " +
    "`exists` (it had one of that address, which is left alone) or `failed` " +
    "(the change holds here; the provider is asked again after a minute, and " +
    "then less and less often, until it has made the change)",
};

/** The routes of users. */
export function userRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { store, repositories } = parts.engine.parts;
  const resource = new RecordResource<User>({
    noun: "user",
    name: "User",
    path: "/v1/users/:id",
    tags: ["users"],
    access: {
      read: { kind: "member", role: "viewer", scope: "users:read" },
      write: { kind: "member", role: "admin", scope: "users:write" },
    },
    shape: USER,
    fields: USER_FIELDS,
    store,
    repository: repositories.users,
    view: viewUser,
    tag: userTag,
  });
  return [
    resource.listRoute({
      summary: "List users",
      answer: "A page of users, by their ids",
      pageName: "UserList",
      cursors: parts.cursors,
      filter: "users",
    }),
    resource.createRoute({
      summary: "Add a user",
      description: "A caller can give no role above their own. The person " +
        "logs in at the identity provider and is known by the verified " +
        "address the first time.",
      body: requiredBody(USER, {
        example: { email: "ada@example.com", name: "Ada", role: "admin" },
      }),
      answer: {
        description: "The user",
        shape: USER,
        headers: {
          Location: "Where the user is",
          ETag: "The entity tag of this version",
          ...MIRROR_HEADERS,
        },
      },
      problems: ["email_taken", "quota_exceeded", "read_only"],
      plan: (call) => planUser(call, parts),
    }),
    resource.readRoute({ summary: "Read a user", answer: "The user" }),
    ...resource.changeRoutes({
      of: "a user",
      description:
        "The last active owner stays one, and no caller raises their " +
        "own role. Who is disabled loses the keys they made; who is lowered " +
        "loses those with rights that they no longer have.",
      body: USER_CHANGES,
      headers: MIRROR_HEADERS,
      problems: ["email_taken", "last_owner", "read_only"],
      plan: (call, user) => planChange(call, user, parts),
    }),
    resource.removeRoute({
      summary: "Remove a user and the user's keys",
      description: "The audit log keeps what they did, by their id.",
      headers: MIRROR_HEADERS,
      problems: ["last_owner"],
      plan: (call, user) => planRemoval(call, user, parts),
    }),
  ];
}

/** The entity tag of a user; it ignores when the user was last seen. */
function userTag(user: User): string {
  return tagOfRecord(user, ["version", "lastSeenAtMs"]);
}

/** Plans a new user. */
async function planUser(
  call: Call<unknown, NewUser>,
  parts: ApiParts,
): Promise<Planned> {
  const tenant = getTenant(call);
  const caller = getCaller(call);
  const { engine } = parts;
  const { repositories, newId } = engine.parts;
  const { email, name, role, status, payloads = seesPayloads(caller) } =
    call.body;
  const granted = mayGrantRole(toAdministrator(caller), role);
  if (granted.kind !== "ok") {
    return problem("forbidden", { detail: granted.reason });
  }
  if (payloads && !seesPayloads(caller)) return cannotShowPayloads();
  const guard = await readGuard(engine.parts, tenant.id, "access");
  const over = await quotaProblem(call, "user", parts);
  if (over !== undefined) return over;
  const user: User = {
    tenantId: tenant.id,
    id: newId("usr"),
    version: 1,
    email,
    name,
    role,
    status,
    payloads,
    createdAtMs: call.nowMs,
    updatedAtMs: call.nowMs,
  };
  const answer = json(viewUser(user), {
    status: 201,
    headers: {
      location: `${call.baseUrl}/v1/users/${user.id}`,
      etag: userTag(user),
    },
  });
  const mirrored = engine.mirroring.insert(user);
  return {
    kind: "plan",
    answer: async () => withMirrorState(answer, await mirrored.run()),
    writes: [
      repositories.users.insert(user),
      ...mirrored.writes,
      guard,
      buildAuditWrite(call, {
        action: "user.created",
        target: user.id,
        detail: { role, status, payloads },
      }),
      ...call.extraWrites(answer),
    ],
    onConflict: ({ reason }) =>
      reason === "alias" ? emailTaken("create") : undefined,
  };
}

/** The answer with a header that shows the outcome at the mirror. */
function withMirrorState<A extends Exclude<Answer, { kind: "problem" }>>(
  answer: A,
  state: MirrorState | undefined,
): A {
  if (state === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, [MIRROR_HEADER]: state } };
}

/** The problem of an email address that another user has. */
function emailTaken(verb: "create" | "change"): ProblemAnswer {
  return problem("email_taken", {
    detail: `Cannot ${verb} user: another user of the tenant has the address`,
  });
}

/** The problem of granting sight of payloads that the caller lacks. */
function cannotShowPayloads(): ProblemAnswer {
  return problem("forbidden", {
    detail: 'Cannot set "payloads" to true: you do not see the data and ' +
      "results of tasks yourself",
  });
}

/** Plans a change of a user. */
async function planChange(
  call: Call<unknown, UserChanges>,
  user: User,
  { engine }: ApiParts,
): Promise<Planned> {
  const { users, keys } = engine.parts.repositories;
  const { tenantId } = user;
  const caller = getCaller(call);
  const { record, changed } = changeRecord(USER_TABLE, user, {
    changes: call.body,
    resets: { payloads: seesPayloads(caller) },
  });
  const next = changed.length === 0 ? user : nextVersion(record, call);
  const { role, status } = next;
  // The guard is read before the records are counted that it protects.
  const guard = await readGuard(engine.parts, tenantId, "access");
  const isOwnerLost = isActiveOwner(user) && !isActiveOwner(next);
  const allowed = mayChangeUser(toAdministrator(caller), {
    user,
    change: {
      kind: "update",
      role: role === user.role ? undefined : role,
      status: status === user.status ? undefined : status,
    },
    activeOwners: isOwnerLost
      ? await countActiveOwners(engine.parts, tenantId)
      : Infinity,
  });
  if (allowed.kind !== "ok") {
    return problem(allowed.kind, { detail: allowed.reason });
  }
  if (next.payloads && !user.payloads && !seesPayloads(caller)) {
    return cannotShowPayloads();
  }
  const answer = json(viewUser(next), { headers: { etag: userTag(next) } });
  if (changed.length === 0) return answer;
  const mirrored = engine.mirroring.update(user, next);
  const ended = await keysThatEnd(engine.parts, user, next);
  return {
    kind: "plan",
    answer: async () => withMirrorState(answer, await mirrored.run()),
    writes: [
      users.update(user, next),
      ...mirrored.writes,
      guard,
      ...ended.map((key) => keys.remove(key)),
      buildAuditWrite(call, {
        action: "user.updated",
        target: user.id,
        detail: {
          fields: changed,
          role,
          status,
          keys_ended: ended.map(({ id }) => id),
        },
      }),
    ],
    onConflict: ({ reason }) =>
      reason === "alias" ? emailTaken("change") : undefined,
  };
}

/**
 * Plans the removal of a user, with the keys that the user made and the link to
 * the identity provider. The audit log keeps the user's id.
 */
async function planRemoval(
  call: CallContext,
  user: User,
  { engine }: ApiParts,
): Promise<Planned> {
  const { users, keys } = engine.parts.repositories;
  const { tenantId, id, role } = user;
  // The guard is read before the records are counted that it protects.
  const guard = await readGuard(engine.parts, tenantId, "access");
  const allowed = mayChangeUser(toAdministrator(getCaller(call)), {
    user,
    change: { kind: "remove" },
    activeOwners: await countActiveOwners(engine.parts, tenantId),
  });
  if (allowed.kind !== "ok") {
    return problem(allowed.kind, { detail: allowed.reason });
  }
  const ended = await keysThatEnd(engine.parts, user, undefined);
  const mirrored = await engine.mirroring.remove({ tenantId, userId: id });
  return {
    kind: "plan",
    answer: async () => withMirrorState(empty(), await mirrored.run()),
    writes: [
      users.remove(user),
      ...await identityRemovals(engine.parts, user),
      guard,
      ...ended.map((key) => keys.remove(key)),
      ...mirrored.writes,
      buildAuditWrite(call, {
        action: "user.removed",
        target: id,
        detail: { role, keys_ended: ended.map(({ id }) => id) },
      }),
    ],
  };
}
