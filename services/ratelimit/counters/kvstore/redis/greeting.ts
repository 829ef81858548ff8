/**
 * The first words on a new connection.
 *
 * @module
 */

import { isRedisErrorReply, type RedisClient } from "./client.ts";
import { redisReply } from "./reply.ts";
import { ROLE_COMMAND, roleProblem } from "./role.ts";

/**
 * Asks a server whether it can be used: it answers a PING, so it is neither
 * loading nor waiting for a password, and is a master where that matters.
 *
 * @throws {Error} When it can't be used, or the connection is lost.
 */
export async function greet(
  client: RedisClient,
  mustBeMaster: boolean,
): Promise<void> {
  await client.send(["PING"]);
  if (!mustBeMaster) return;
  const reply = await client.send(ROLE_COMMAND).catch((error) => {
    if (isRedisErrorReply(error)) return error;
    throw error;
  });
  const problem = roleProblem(redisReply(reply));
  if (problem !== undefined) throw new Error(problem);
}
