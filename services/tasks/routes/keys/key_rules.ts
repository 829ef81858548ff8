/**
 * The rules for API keys. A key never has rights that the caller who makes or
 * changes it lacks. A plan limits the number of keys; keys that have ended do
 * not count, nor do, up to as many again, keys that stay for an overlap beside
 * their replacement. So keys can be rotated with an overlap when the quota is
 * full.
 *
 * @module
 */

import {
  type Caller,
  getScopes,
  seesPayloads,
  toAdministrator,
} from "../../access/caller.ts";
import { missingScope, scopesOfKey, scopesOfRole } from "../../access/scope.ts";
import type { ApiKey } from "../../domain/records.ts";
import { hasEnded } from "../../engine/credential_records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { type CallContext, getTenant } from "../../http/call.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";

/** The rights of a key. */
type KeyPower = Pick<ApiKey, "role" | "scopes" | "payloads">;

/**
 * Why a caller may not make, change or end a key: the key has rights that the
 * caller lacks. Undefined when the caller may.
 */
export function beyondCaller(
  caller: Caller,
  key: KeyPower,
): ProblemAnswer | undefined {
  const scope = missingScope(getScopes(caller), scopesOfKey(key));
  if (scope !== undefined) {
    return problem("forbidden", {
      detail: `Cannot continue: the key has the scope "${scope}", which you ` +
        "do not have",
      extensions: { scope },
    });
  }
  if (!key.payloads || seesPayloads(caller)) return undefined;
  return problem("forbidden", {
    detail: "Cannot continue: the key sees the data and results of tasks, " +
      "which you do not",
  });
}

/**
 * Why a caller may not make a key now, by the stored records: the caller's own
 * key may have been ended meanwhile, or the user behind it removed, disabled or
 * demoted. Ask after the guard of keys was read.
 */
export async function outdatedCaller(
  { repositories }: Pick<EngineParts, "repositories">,
  caller: Caller,
  key: KeyPower,
): Promise<ProblemAnswer | undefined> {
  if (caller.kind === "api_key") {
    const own = await repositories.keys.get(caller.tenantId, caller.keyId);
    if (own === undefined) return gone();
  }
  const { userId } = toAdministrator(caller);
  if (userId === undefined || !("tenantId" in caller)) return undefined;
  const user = await repositories.users.get(caller.tenantId, userId);
  if (user === undefined || user.status === "disabled") return gone();
  const scope = missingScope(scopesOfRole(user.role), scopesOfKey(key));
  if (scope === undefined && (user.payloads || !key.payloads)) return undefined;
  return problem("forbidden", {
    detail: "Cannot create key: it would have rights that its user lacks",
    extensions: scope === undefined ? undefined : { scope },
  });
}

function gone(): ProblemAnswer {
  return problem("invalid_credentials", {
    detail: "Cannot accept credentials: they are not valid here",
  });
}

const PAGE = 250;

/** The keys of a tenant, by whether they count. */
interface KeySurvey {
  /** How many keys the plan counts. */
  readonly counted: number;
  /** How many keys stay for an overlap beside their replacement. */
  readonly replaced: number;
  /** The keys that have ended. */
  readonly ended: readonly ApiKey[];
}

/** Goes through the keys of a tenant until `cap` keys are counted. */
export async function surveyKeys(
  { repositories }: Pick<EngineParts, "repositories">,
  { tenantId, nowMs, cap = Infinity }: {
    readonly tenantId: string;
    readonly nowMs: number;
    readonly cap?: number;
  },
): Promise<KeySurvey> {
  const ended: ApiKey[] = [];
  let counted = 0;
  let replaced = 0;
  for await (const keys of repositories.keys.pages(tenantId, PAGE)) {
    for (const key of keys) {
      if (hasEnded(key, nowMs)) ended.push(key);
      else if (isReplaced(key)) replaced++;
      else counted++;
    }
    if (counted >= cap) break;
  }
  return { counted: Math.min(counted, cap), replaced, ended };
}

/** Whether there is room for one more key. */
type KeyRoom = ProblemAnswer | {
  readonly kind: "room";
  /** Removals of ended keys, where the room would be too small otherwise. */
  readonly writes: readonly Write[];
};

/**
 * Tells whether the plan of the call's tenant has room for one more key: for a
 * new key, or, with `rotation`, for the replacement of a key that ends at once
 * or after an overlap. The outcome still holds at the commit if the guard of
 * keys was read before and is written with it.
 */
export async function roomForKey(
  call: Pick<CallContext, "tenant" | "nowMs">,
  { engine, plans }: ApiParts,
  rotation?: { readonly key: ApiKey; readonly hasOverlap: boolean },
): Promise<KeyRoom> {
  const { id: tenantId, plan: planId } = getTenant(call);
  const plan = plans.plan(planId);
  const allowed = plan.limits.keys;
  if (allowed === null) return { kind: "room", writes: [] };
  const { counted, replaced, ended } = await surveyKeys(engine.parts, {
    tenantId,
    nowMs: call.nowMs,
  });
  // The replacement takes the place of a key that was counted already.
  const takesPlace = rotation !== undefined && !isReplaced(rotation.key);
  if (!takesPlace && counted >= allowed) {
    return problem("quota_exceeded", {
      detail: `Cannot create key: the plan "${plan.id}" allows ${allowed} keys`,
      extensions: { limit: allowed, used: counted, plan: plan.id },
    });
  }
  if (takesPlace && rotation.hasOverlap && replaced >= allowed) {
    return problem("quota_exceeded", {
      detail: `Cannot rotate key with an overlap: ${replaced} keys that were ` +
        "rotated go on, which is all that the plan allows; end one of them",
      extensions: { limit: allowed, used: replaced, plan: plan.id },
    });
  }
  const isFull = counted + replaced + ended.length >= allowed;
  return {
    kind: "room",
    writes: isFull
      ? ended.map((key) => engine.parts.repositories.keys.remove(key))
      : [],
  };
}

function isReplaced({ replacedUntilMs }: ApiKey): boolean {
  return replacedUntilMs !== undefined;
}
