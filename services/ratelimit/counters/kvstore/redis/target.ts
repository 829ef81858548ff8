/**
 * The servers that a setting names: one, those of a failover group or those of
 * a cluster; and the link to them.
 *
 * @module
 */

import {
  parseRedisAddress,
  type RedisAddress,
  type RedisAddressOptions,
  type RedisAuth,
} from "./address.ts";
import { RedisCluster } from "./cluster.ts";
import type { RedisLink } from "./link.ts";
import { RedisPool, type RedisPoolOptions } from "./pool.ts";
import { RedisSentinelPool } from "./sentinel_pool.ts";

/** A failover group that sentinels watch over. */
export interface RedisSentinelGroup {
  /** Tells it from an address. */
  readonly kind: "sentinel";
  /** What the sentinels call the master. */
  readonly masterName: string;
  /** Where the sentinels listen, at least one. */
  readonly sentinels: readonly RedisAddress[];
}

/** A cluster. */
export interface RedisClusterNodes {
  /** Tells it from an address. */
  readonly kind: "cluster";
  /** Where some of its nodes listen, at least one. */
  readonly nodes: readonly RedisAddress[];
}

/** Where counters or other values are kept. */
export type RedisTarget =
  | RedisAddress
  | RedisSentinelGroup
  | RedisClusterNodes;

/** How servers work together. */
export type RedisTargetType = "single" | "sentinel" | "cluster";

/** What a target setting says, or why it says nothing. */
type RedisTargetResult =
  | {
    readonly kind: "parsed";
    /** The servers. */
    readonly address: RedisTarget;
    /** Credentials within the URL. */
    readonly auth?: RedisAuth | undefined;
    /** Number of the database; 0 when the URL names none. */
    readonly database: number;
  }
  /** `reason` holds no password. */
  | { readonly kind: "invalid"; readonly reason: string };

/** What surrounds a target setting. */
interface RedisTargetOptions extends RedisAddressOptions {
  /**
   * Whether connections will be encrypted, which only those over TCP can be.
   *
   * @default false
   */
  readonly usesTls?: boolean;
}

/**
 * Reads the servers of a setting: for "single" what
 * {@linkcode parseRedisAddress} reads, for "sentinel" the master's name and the
 * `host:port` of at least one sentinel, for "cluster" the `host:port` of at
 * least one node, all of them separated by commas. Blanks around items do not
 * matter.
 */
export function parseRedisTarget(
  text: string,
  type: RedisTargetType,
  options: RedisTargetOptions = {},
): RedisTargetResult {
  if (type === "single") return parseSingle(text, options);
  if (options.socketType?.toLowerCase() === "unix") {
    return invalid(
      `Cannot use a unix socket with the type "${type}": its servers are reached over TCP`,
    );
  }
  const items = text.split(",").map((item) => item.trim());
  return type === "sentinel" ? parseSentinel(items) : parseCluster(items);
}

function parseSingle(
  text: string,
  options: RedisTargetOptions,
): RedisTargetResult {
  const { socketType } = options;
  const result = parseRedisAddress(
    text,
    socketType === undefined ? {} : { socketType },
  );
  if (
    result.kind === "parsed" && result.address.kind === "unix" &&
    options.usesTls
  ) {
    return invalid(
      `Cannot encrypt the connection to "${result.address.path}": a unix socket has no TLS; turn TLS off or use host:port`,
    );
  }
  return result;
}

function parseSentinel(items: readonly string[]): RedisTargetResult {
  const [masterName = "", ...rest] = items;
  if (masterName === "" || /[:/@\s]/.test(masterName)) {
    return invalid(
      'Cannot use a sentinel list: its first item is not the name of a master, as in "mymaster,host:26379"',
    );
  }
  if (rest.length === 0) {
    return invalid(
      `Cannot use a sentinel list: behind the master's name "${masterName}" it names no sentinel, as in "${masterName},host:26379"`,
    );
  }
  const { addresses, problem } = parseItems(rest);
  if (problem !== undefined) return invalid(problem);
  return {
    kind: "parsed",
    address: { kind: "sentinel", masterName, sentinels: addresses },
    database: 0,
  };
}

function parseCluster(items: readonly string[]): RedisTargetResult {
  const { addresses, problem } = parseItems(items);
  if (problem !== undefined) return invalid(problem);
  return {
    kind: "parsed",
    address: { kind: "cluster", nodes: addresses },
    database: 0,
  };
}

function parseItems(
  items: readonly string[],
): { readonly addresses: RedisAddress[]; readonly problem?: string } {
  const addresses: RedisAddress[] = [];
  for (const [i, item] of items.entries()) {
    const result = parseRedisAddress(item, { socketType: "tcp" });
    if (
      result.kind === "invalid" || item.includes("/") || !/:\d+$/.test(item)
    ) {
      // The item is not shown: it may hold a password.
      const problem = `Cannot use server ${i + 1} of ${items.length} in a ` +
        'server list: it is not of the form "host:port"';
      return { addresses, problem };
    }
    addresses.push(result.address);
  }
  return { addresses };
}

function invalid(reason: string): RedisTargetResult {
  return { kind: "invalid", reason };
}

/** How a link is made. */
interface OpenRedisLinkOptions
  extends Omit<RedisPoolOptions, "address" | "mustBeMaster" | "onChange"> {
  /** The servers. */
  readonly address: RedisTarget;
  /**
   * What to sign in with at sentinels.
   *
   * @default not signing in
   */
  readonly sentinelAuth?: RedisAuth | undefined;
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
