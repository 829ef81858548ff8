/**
 * Adding a user.
 *
 * @module
 */

import { actorOf, administratorOf, seesPayloads } from "../../access/caller.ts";
import { mayGrantRole } from "../../access/user_rules.ts";
import type { User } from "../../domain/records.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { auditWrite } from "../../engine/audit_write.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { readGuard } from "../../engine/guard.ts";
import { quotaProblem } from "../quota.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { viewUser } from "./user_view.ts";
import type { ApiParts } from "../api_parts.ts";
import { type UserMirroring, withMirrorState } from "./user_mirroring.ts";
import { userTag } from "./user_records.ts";
import { type NewUser, USER_FIELDS } from "./user_schema.ts";

/** What users' routes work with. */
export interface UserParts {
  /** The parts of the API. */
  readonly parts: ApiParts;
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
export function emailTaken(verb: "create" | "change"): ProblemAnswer {
  return problem("email_taken", {
    detail: `Cannot ${verb} user: another user of the tenant has the address`,
  });
}

/** The problem of showing more than one sees oneself. */
export function cannotShowPayloads(): ProblemAnswer {
  return problem("forbidden", {
    detail: 'Cannot set "payloads" to true: you do not see the data and ' +
      "results of tasks yourself",
  });
}
