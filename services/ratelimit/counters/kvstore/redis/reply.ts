/**
 * Replies of a Redis server as values: errors, roles and refusals.
 *
 * @module
 */

import { describeError } from "../../../../shared/settled.ts";

const MAX_LENGTH = 200;

/**
 * Says in a few words what went wrong.
 *
 * @param secrets Texts that must not be shown. A server repeats the arguments
 * of a command it does not know, and signing in is a command.
 */
export function redisErrorText(
  error: unknown,
  secrets: readonly string[] = [],
): string {
  let text = plainText(error).replace(/,? with args beginning with:.*/s, "");
  for (const secret of secrets) {
    if (secret !== "") text = text.replaceAll(secret, "***");
  }
  return text.slice(0, MAX_LENGTH);
}

function plainText(error: unknown): string {
  // A name with several addresses fails with one error for each of them.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(plainText).join("; ");
  }
  return describeError(error);
}

/** A command that the server refused. */
interface RedisRefusal {
  /** The server's error text, for instance "READONLY You can't write …". */
  readonly refusal: string;
}

/** The reply to one command. */
export type RedisReply =
  | number
  | string
  | null
  | RedisRefusal
  | readonly RedisReply[];

/** The outcome of some commands. */
export type RedisOutcome =
  /** One reply for each command, in their order. */
  | { readonly kind: "replied"; readonly replies: readonly RedisReply[] }
  /** No reply in time. */
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    /**
     * True when commands may have been carried out all the same.
     *
     * @default {false}
     */
    readonly mayHaveCounted?: boolean;
  };

/** True when the server refused the command. */
export function isRedisRefusal(reply: RedisReply): reply is RedisRefusal {
  return typeof reply === "object" && reply !== null && "refusal" in reply;
}

/** The reply with refusals in a few words, which show none of the secrets. */
export function withoutSecrets(
  reply: RedisReply,
  secrets: readonly string[],
): RedisReply {
  if (isRedisRefusal(reply)) {
    return { refusal: redisErrorText(reply.refusal, secrets) };
  }
  return Array.isArray(reply)
    ? reply.map((part) => withoutSecrets(part, secrets))
    : reply;
}

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
