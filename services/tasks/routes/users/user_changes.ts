/**
 * Adding, changing and removing users.
 *
 * @module
 */

import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { actorOf, administratorOf, seesPayloads } from "../../access/caller.ts";
import { mayChangeUser, mayGrantRole } from "../../access/user_rules.ts";
import type { User } from "../../domain/records.ts";
import { auditWrite, readGuard } from "../../engine/record_writes.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import type { ApiParts } from "../api_parts.ts";
import { quotaProblem, type RecordResource } from "../record_resource.ts";
import {
  changeUserRecord,
  countActiveOwners,
  identityRemovals,
  isActiveOwner,
  keysThatEnd,
  type NewUser,
  USER_FIELDS,
  type UserChanges,
  userTag,
  viewUser,
} from "./user_fields.ts";
import {
  type MirrorPlan,
  type UserMirroring,
  withMirrorState,
} from "./user_mirroring.ts";

/** What users' routes work with. */
export interface UserParts {
  /** The parts of the API. */
  readonly parts: ApiParts;
  /** Finds users. */
  readonly resource: RecordResource<User>;
  /** Mirrors users. */
  readonly mirroring: UserMirroring;
}

/** Adds a user. */
export async function createUser(
  call: Call<unknown, NewUser>,
  { parts, mirroring }: UserParts,
): Promise<Answer> {
  const tenant = tenantOf(call);
  const caller = callerOf(call);
  const { engine, plans } = parts;
  const { store, repositories, newId } = engine.parts;
  const { email, name, role, status, payloads = seesPayloads(caller) } =
    call.body;
  const faults = readOnlyFaults({
    given: call.body,
    current: undefined,
    fields: USER_FIELDS,
  });
  if (faults.length > 0) return invalidRequest(faults);
  const granted = mayGrantRole(administratorOf(caller), role);
  if (granted.kind !== "ok") {
    return problem("forbidden", { detail: granted.reason });
  }
  if (payloads && !seesPayloads(caller)) return cannotShowPayloads();
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
  const mirrored = mirroring.insert(user);
  const outcome = await commitPlan(store, async () => {
    const guard = await readGuard(engine.parts, tenant.id, "access");
    const over = await quotaProblem(store, {
      kind: "user",
      tenantId: tenant.id,
      plan: plans.plan(tenant.plan),
      limit: "users",
    });
    if (over !== undefined) return over;
    return {
      kind: "plan",
      answer,
      writes: [
        repositories.users.insert(user),
        ...mirrored.writes,
        guard,
        auditWrite(tenant.id, {
          atMs: call.nowMs,
          action: "user.created",
          actor: actorOf(caller),
          target: user.id,
          detail: { role, status, payloads },
        }),
        ...call.extraWrites(answer),
      ],
      onConflict: ({ reason }) =>
        reason === "alias" ? emailTaken("create") : undefined,
    } satisfies CommitPlan;
  });
  if (outcome !== answer) return outcome;
  return withMirrorState(answer, await mirrored.run());
}

/** The problem of an address that another user has. */
function emailTaken(verb: "create" | "change"): ProblemAnswer {
  return problem("email_taken", {
    detail: `Cannot ${verb} user: another user of the tenant has the address`,
  });
}

/** The problem of showing more than one sees oneself. */
function cannotShowPayloads(): ProblemAnswer {
  return problem("forbidden", {
    detail: 'Cannot set "payloads" to true: you do not see the data and ' +
      "results of tasks yourself",
  });
}

/** A call that changes a user. */
type ChangeCall = Call<unknown, UserChanges>;

/** Changes what is given of a user. */
export async function changeUser(
  call: ChangeCall,
  users: UserParts,
): Promise<Answer> {
  let mirrored: MirrorPlan | undefined;
  const { store } = users.parts.engine.parts;
  const answer = await commitPlan(store, async () => {
    mirrored = undefined;
    const found = await users.resource.find(call);
    if ("code" in found) return found;
    const planned = await planChange(call, found, users);
    mirrored = planned.mirrored;
    return planned.plan;
  });
  if (mirrored === undefined || answer.kind !== "json") return answer;
  return withMirrorState(answer, await mirrored.run());
}

interface PlannedChange {
  readonly plan: Answer | CommitPlan;
  /** What it means for the mirror, if the change is let through. */
  readonly mirrored?: MirrorPlan;
}

async function planChange(
  call: ChangeCall,
  user: User,
  { parts, mirroring }: UserParts,
): Promise<PlannedChange> {
  const { engine, apiKeys } = parts;
  const { repositories } = engine.parts;
  const caller = callerOf(call);
  const refused = answerOfChange(call, userTag(user));
  if (refused !== undefined) return { plan: refused };
  const faults = readOnlyFaults({
    given: call.body,
    current: viewUser(user),
    fields: USER_FIELDS,
  });
  if (faults.length > 0) return { plan: invalidRequest(faults) };
  const { next, changes } = nextUser(call, user);
  // It is read before anything is counted that it stands for.
  const guard = await readGuard(engine.parts, user.tenantId, "access");
  const isOwnerLost = isActiveOwner(user) && !isActiveOwner(next);
  const allowed = mayChangeUser(administratorOf(caller), {
    user,
    change: {
      kind: "update",
      ...(next.role === user.role ? {} : { role: next.role }),
      ...(next.status === user.status ? {} : { status: next.status }),
    },
    activeOwners: isOwnerLost
      ? await countActiveOwners(engine.parts, user.tenantId)
      : Infinity,
  });
  if (allowed.kind !== "ok") {
    return { plan: problem(allowed.kind, { detail: allowed.reason }) };
  }
  if (next.payloads && !user.payloads && !seesPayloads(caller)) {
    return { plan: cannotShowPayloads() };
  }
  const answer = json(viewUser(next), { headers: { etag: userTag(next) } });
  if (changes.length === 0) {
    return { plan: answer, mirrored: await mirroring.again(user) };
  }
  const mirrored = await mirroring.update(user, next);
  const ended = await keysThatEnd(engine.parts, user, next);
  const plan: CommitPlan = {
    kind: "plan",
    answer,
    writes: [
      repositories.users.update(user, next),
      ...mirrored.writes,
      guard,
      ...ended.map((key) => repositories.keys.remove(key)),
      auditWrite(user.tenantId, {
        atMs: call.nowMs,
        action: "user.updated",
        actor: actorOf(caller),
        target: user.id,
        detail: {
          fields: changes,
          role: next.role,
          status: next.status,
          keys_ended: ended.map(({ id }) => id),
        },
      }),
    ],
    onConflict: ({ reason }) =>
      reason === "alias" ? emailTaken("change") : undefined,
    afterwards: () => {
      for (const { tenantId, id } of ended) apiKeys.forget(tenantId, id);
    },
  };
  return { plan, mirrored };
}

function nextUser(
  call: ChangeCall,
  user: User,
): { readonly next: User; readonly changes: readonly string[] } {
  const { record, changed } = changeUserRecord(user, {
    changes: call.body,
    resets: { payloads: seesPayloads(callerOf(call)) },
  });
  const next = changed.length === 0
    ? user
    : { ...record, version: user.version + 1, updatedAtMs: call.nowMs };
  return { next, changes: changed };
}

/**
 * Removes a user with the keys it made and with what ties it to the identity
 * provider; the audit log keeps the id.
 */
export async function removeUser(
  call: Call<unknown, unknown>,
  users: UserParts,
): Promise<Answer> {
  const { parts, mirroring } = users;
  const { engine, apiKeys } = parts;
  const { store, repositories } = engine.parts;
  const caller = callerOf(call);
  const answer = empty();
  let mirrored: MirrorPlan | undefined;
  const outcome = await commitPlan(store, async () => {
    const user = await users.resource.find(call);
    if ("code" in user) return user;
    const refused = answerOfChange(call, userTag(user));
    if (refused !== undefined) return refused;
    const { tenantId } = user;
    // It is read before anything is counted that it stands for.
    const guard = await readGuard(engine.parts, tenantId, "access");
    const allowed = mayChangeUser(administratorOf(caller), {
      user,
      change: { kind: "remove" },
      activeOwners: await countActiveOwners(engine.parts, tenantId),
    });
    if (allowed.kind !== "ok") {
      return problem(allowed.kind, { detail: allowed.reason });
    }
    const ended = await keysThatEnd(engine.parts, user, undefined);
    mirrored = await mirroring.remove(user);
    return {
      kind: "plan",
      answer,
      writes: [
        repositories.users.remove(user),
        ...await identityRemovals(engine.parts, user),
        guard,
        ...ended.map((key) => repositories.keys.remove(key)),
        ...mirrored.writes,
        auditWrite(tenantId, {
          atMs: call.nowMs,
          action: "user.removed",
          actor: actorOf(caller),
          target: user.id,
          detail: {
            role: user.role,
            keys_ended: ended.map(({ id }) => id),
          },
        }),
      ],
      afterwards: () => {
        for (const { id } of ended) apiKeys.forget(tenantId, id);
      },
    };
  });
  if (outcome !== answer) return outcome;
  return withMirrorState(answer, await mirrored?.run());
}
