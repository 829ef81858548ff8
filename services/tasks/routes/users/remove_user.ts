/**
 * Removing a user.
 *
 * @module
 */

import { actorOf, administratorOf } from "../../access/caller.ts";
import { mayChangeUser } from "../../access/user_rules.ts";
import { type Answer, empty } from "../../http/answer.ts";
import { type Call, callerOf } from "../../http/call.ts";
import { problem } from "../../http/problem_answer.ts";
import { auditWrite } from "../../engine/audit_write.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange } from "../../http/etag.ts";
import { readGuard } from "../../engine/guard.ts";
import { findUser } from "./change_user.ts";
import type { UserParts } from "./create_user.ts";
import { type MirrorPlan, withMirrorState } from "./user_mirroring.ts";
import {
  countActiveOwners,
  identityRemovals,
  keysThatEnd,
  userTag,
} from "./user_records.ts";

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
    const user = await findUser(call, users);
    if ("kind" in user) return user;
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
