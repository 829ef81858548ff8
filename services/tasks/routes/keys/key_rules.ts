/**
 * Who may make, renew and end which key: nobody makes one that may more than
 * they may, and nobody touches one that does.
 *
 * @module
 */

import {
  administratorOf,
  type Caller,
  scopesOf,
  seesPayloads,
} from "../../access/caller.ts";
import { missingScope, scopesOfKey, scopesOfRole } from "../../access/scope.ts";
import type { ApiKey } from "../../domain/records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";

/** What a key may do, as far as rules about keys go. */
export type KeyPower = Pick<ApiKey, "role" | "scopes" | "payloads">;

/** Why a caller may not have to do with a key; undefined when it may. */
export function beyondCaller(
  caller: Caller,
  key: KeyPower,
): ProblemAnswer | undefined {
  const scope = missingScope(scopesOf(caller), scopesOfKey(key));
  if (scope !== undefined) {
    return problem("forbidden", {
      detail: `Cannot go on: the key has the scope "${scope}", which you do ` +
        "not have",
      extensions: { scope },
    });
  }
  if (!key.payloads || seesPayloads(caller)) return undefined;
  return problem("forbidden", {
    detail: "Cannot go on: the key sees the data and results of tasks, which " +
      "you do not",
  });
}

/**
 * Why a caller may not make a key now, seen from what is stored: the key it
 * called with may have been ended since, and the user behind it removed,
 * disabled or lowered. To be asked after the guard of keys was read.
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
  const { userId } = administratorOf(caller);
  if (userId === undefined || !("tenantId" in caller)) return undefined;
  const user = await repositories.users.get(caller.tenantId, userId);
  if (user === undefined || user.status === "disabled") return gone();
  const scope = missingScope(scopesOfRole(user.role), scopesOfKey(key));
  if (scope === undefined && (user.payloads || !key.payloads)) return undefined;
  return problem("forbidden", {
    detail: "Cannot make key: it may more than the user it would belong to",
    ...(scope === undefined ? {} : { extensions: { scope } }),
  });
}

function gone(): ProblemAnswer {
  return problem("invalid_credentials", {
    detail: "Cannot accept credentials: they are not valid here",
  });
}
