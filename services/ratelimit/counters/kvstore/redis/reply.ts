/**
 * What a Redis server answers, as values.
 *
 * @module
 */

import { isRedisErrorReply } from "./client.ts";
import { redisErrorText } from "./error_text.ts";

/** A command that the server refused. */
export interface RedisRefusal {
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

/** What became of some commands. */
export type RedisOutcome =
  /** One reply for each command, in their order. */
  | { readonly kind: "replied"; readonly replies: readonly RedisReply[] }
  /** No reply in time; the commands may have been carried out all the same. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** True when the server refused the command. */
export function isRedisRefusal(reply: RedisReply): reply is RedisRefusal {
  return typeof reply === "object" && reply !== null && "refusal" in reply;
}

/**
 * The reply that a client gave.
 *
 * @param secrets Texts that a refusal must not show.
 */
export function redisReply(
  value: unknown,
  secrets: readonly string[] = [],
): RedisReply {
  if (typeof value === "number" || typeof value === "string") return value;
  if (value === null) return null;
  if (Array.isArray(value)) {
    return value.map((part) => redisReply(part, secrets));
  }
  return {
    refusal: isRedisErrorReply(value)
      ? redisErrorText(value, secrets)
      : "an unexpected kind of reply",
  };
}
