/**
 * Finds counters that a server would keep forever.
 *
 * @module
 */

import type { RedisServer } from "../support/redis_server.ts";

/** Returns the names of the counters of a server that have no expiry. */
export async function findEternal(
  server: RedisServer,
): Promise<readonly string[]> {
  const names = (await server.ask("KEYS", "*")).split("\n");
  const eternal: string[] = [];
  for (const name of names) {
    if (await server.ask("TTL", name) === "-1") eternal.push(name);
  }
  return eternal;
}
