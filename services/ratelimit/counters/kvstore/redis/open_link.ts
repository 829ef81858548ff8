/**
 * Connections to the servers that a setting names, however they work together.
 *
 * @module
 */

import type { RedisAuth } from "./address.ts";
import { RedisCluster } from "./cluster.ts";
import type { RedisLink } from "./link.ts";
import { RedisPool, type RedisPoolOptions } from "./pool.ts";
import { RedisSentinelPool } from "./sentinel_pool.ts";
import type { RedisTarget } from "./target.ts";

/** How a link is made. */
export interface OpenRedisLinkOptions
  extends Omit<RedisPoolOptions, "address" | "mustBeMaster" | "onChange"> {
  /** The servers. */
  readonly address: RedisTarget;
  /**
   * What to sign in with at sentinels.
   *
   * @default not signing in
   */
  readonly sentinelAuth?: RedisAuth;
}

/** Makes a link that is not connected yet. */
export function openRedisLink(options: OpenRedisLinkOptions): RedisLink {
  const { address } = options;
  switch (address.kind) {
    case "sentinel":
      return new RedisSentinelPool({ ...options, group: address });
    case "cluster": {
      const { database: _, ...rest } = options;
      return new RedisCluster({ ...rest, seeds: address });
    }
    default:
      return new RedisPool({ ...options, address });
  }
}
