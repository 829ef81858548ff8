/**
 * Which part a server plays: only a master takes writes.
 *
 * @module
 */

import { isRedisRefusal, type RedisReply } from "./reply.ts";

/** Asks a server for its role. */
export const ROLE_COMMAND: readonly string[] = ["ROLE"];

/**
 * Reads the reply to {@linkcode ROLE_COMMAND}. A server that does not tell, a
 * proxy for instance or one whose access list forbids it, may be a master.
 *
 * @returns Why the server can't be used, `undefined` when it can.
 */
export function roleProblem(reply: RedisReply): string | undefined {
  if (isRedisRefusal(reply) || !Array.isArray(reply)) return undefined;
  const [role] = reply;
  return role === "master" ? undefined : `it is a ${nounOf(role)}, no master`;
}

/** True for a refusal by a server that is, or has become, a replica. */
export function isReadOnlyRefusal(refusal: string): boolean {
  // Within a script, old servers put the code behind other words.
  return /\bREADONLY\b/.test(refusal);
}

function nounOf(role: RedisReply | undefined): string {
  return role === "slave" ? "replica" : String(role);
}
