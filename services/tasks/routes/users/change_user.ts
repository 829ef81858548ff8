/**
 * Changing a user.
 *
 * @module
 */

import { actorOf, administratorOf, seesPayloads } from "../../access/caller.ts";
import { mayChangeUser } from "../../access/user_rules.ts";
import type { User } from "../../domain/records.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { invalidRequest, problem } from "../../http/problem_answer.ts";
import { auditWrite } from "../../engine/audit_write.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange } from "../../http/etag.ts";
import { readGuard } from "../../engine/guard.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { viewUser } from "./user_view.ts";
import {
  cannotShowPayloads,
  emailTaken,
  type UserParts,
} from "./create_user.ts";
import { type MirrorPlan, withMirrorState } from "./user_mirroring.ts";
import {
  countActiveOwners,
  isActiveOwner,
  keysThatEnd,
  userTag,
} from "./user_records.ts";
import { USER_FIELDS, type UserChanges } from "./user_schema.ts";

/** A call that changes a user. */
export type ChangeCall = Call<unknown, UserChanges>;

/** Changes what is given of a user. */
export async function changeUser(
  call: ChangeCall,
  users: UserParts,
): Promise<Answer> {
  let mirrored: MirrorPlan | undefined;
  const { store } = users.parts.engine.parts;
  const answer = await commitPlan(store, async () => {
    mirrored = undefined;
    const found = await findUser(call, users);
    if ("kind" in found) return found;
    const planned = await planChange(call, found, users);
    mirrored = planned.mirrored;
    return planned.plan;
  });
  if (mirrored === undefined || answer.kind !== "json") return answer;
  return withMirrorState(answer, await mirrored.run());
}

/** The user of a call's path, if the tenant has it. */
export async function findUser(
  call: Pick<Call<unknown, unknown>, "tenant" | "params">,
  { parts }: UserParts,
): Promise<User | ReturnType<typeof problem>> {
  const user = await parts.engine.parts.repositories.users.get(
    tenantOf(call).id,
    call.params["id"] ?? "",
  );
  return user ?? problem("not_found", {
    detail: "Cannot find user: there is none with this id",
  });
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
  const next = nextUser(call, user);
  const changes = changedFields(user, next);
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

function nextUser(call: ChangeCall, user: User): User {
  const { email, name, role, status, payloads } = call.body;
  const sight = payloads === null ? seesPayloads(callerOf(call)) : payloads;
  const next: User = {
    ...user,
    email: email ?? user.email,
    name: name === null ? "" : name ?? user.name,
    role: role === null ? "viewer" : role ?? user.role,
    status: status === null ? "invited" : status ?? user.status,
    payloads: sight ?? user.payloads,
  };
  return changedFields(user, next).length === 0
    ? user
    : { ...next, version: user.version + 1, updatedAtMs: call.nowMs };
}

function changedFields(user: User, next: User): readonly string[] {
  const fields = ["email", "name", "role", "status", "payloads"] as const;
  return fields.filter((field) => user[field] !== next[field]);
}
