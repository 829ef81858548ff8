/**
 * Which answers are given again, and to whom.
 *
 * @module
 */

import type { Caller } from "../access/caller.ts";
import { REGISTRY } from "../engine/repositories.ts";
import { parseIdempotencyKey } from "./idempotency_key.ts";
import type { AnyRoute } from "./route.ts";
import type { IdempotentAnswers, KeyedOutcome } from "./idempotent_answers.ts";
import type { Incoming } from "./locate.ts";

/** Options of {@linkcode openSlot}. */
export interface OpenSlotOptions {
  /** What the request is for. */
  readonly route: AnyRoute;
  /** Who calls. */
  readonly caller: Caller | undefined;
  /** The body as it came. */
  readonly body: Uint8Array;
  /** Answers that were given. */
  readonly answers: IdempotentAnswers;
}

/** Looks for an answer that was given before, where the client asked for that. */
export async function openSlot(
  incoming: Incoming,
  { route, caller, body, answers }: OpenSlotOptions,
): Promise<KeyedOutcome | undefined> {
  if (route.isIdempotent !== true) return undefined;
  const { request, tenant, path } = incoming;
  const key = parseIdempotencyKey(request.headers.get("idempotency-key"));
  if (key.kind === "none") return undefined;
  if (key.kind === "problem") return key;
  return await answers.open({
    tenantId: tenant?.id ?? REGISTRY,
    credential: credentialName(caller, incoming),
    method: request.method,
    path,
    key: key.key,
    body,
  });
}

/**
 * Whose request it is, so that nobody gets another one's answer. On public
 * routes that is the credential, if there is one, and the address.
 */
function credentialName(
  caller: Caller | undefined,
  { request, origin }: Incoming,
): string {
  switch (caller?.kind) {
    case "api_key":
      return `key:${caller.keyId}`;
    case "user":
      return `user:${caller.userId}`;
    case "worker":
      return `worker:${caller.credentialId}`;
    case "operator":
      return "operator";
    case undefined: {
      const authorization = request.headers.get("authorization") ?? "";
      return `public:${origin.clientAddress}:${authorization}`;
    }
  }
}
