/**
 * Connections to the nodes of a cluster.
 *
 * @module
 */

import type { Clock } from "../../../../shared/clock.ts";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisPool } from "./pool.ts";

/** How {@linkcode ClusterNodes} are made. */
export interface ClusterNodesOptions {
  /** Makes the connections to a node, not dialled yet. */
  readonly makePool: (address: RedisAddress) => RedisPool;
  /** Longest time that a call takes, in milliseconds. */
  readonly timeoutMs: number;
  /** The time. */
  readonly clock: Clock;
}

/** One node. */
export interface ClusterNode {
  /** Where it listens. */
  readonly address: RedisAddress;
  /** The connections to it. */
  readonly pool: RedisPool;
}

interface UsedNode extends ClusterNode {
  usedMs: number;
}

/** A node that serves no slots is kept this long beyond its last call. */
const IDLE_MS = 5_000;

/** Pools by address, made when first needed. */
export class ClusterNodes {
  readonly #options: ClusterNodesOptions;
  readonly #nodes = new Map<string, UsedNode>();
  #isStopped = false;

  /** No nodes yet. */
  constructor(options: ClusterNodesOptions) {
    this.#options = options;
  }

  /** True while some node is up. */
  get isSomeUp(): boolean {
    return [...this.#nodes.values()].some(({ pool }) => pool.isUp);
  }

  /** True while the node at `address` is known and up. */
  isUp(address: RedisAddress): boolean {
    return this.#nodes.get(formatRedisAddress(address))?.pool.isUp ?? false;
  }

  /** The node at `address`, being dialled if it was not known. */
  get(address: RedisAddress): ClusterNode {
    const name = formatRedisAddress(address);
    const usedMs = this.#options.clock.nowMs();
    const known = this.#nodes.get(name);
    if (known !== undefined) {
      known.usedMs = usedMs;
      return known;
    }
    const pool = this.#options.makePool(address);
    const node = { address, pool, usedMs };
    this.#nodes.set(name, node);
    if (!this.#isStopped) pool.start();
    return node;
  }

  /** Dials `masters`, and closes what is none of them and has no calls. */
  keep(masters: readonly RedisAddress[]): void {
    for (const address of masters) this.get(address);
    const { clock, timeoutMs } = this.#options;
    const names = new Set(masters.map(formatRedisAddress));
    const idleSinceMs = clock.nowMs() - timeoutMs - IDLE_MS;
    for (const [name, node] of this.#nodes) {
      if (names.has(name) || node.usedMs > idleSinceMs) continue;
      this.#nodes.delete(name);
      node.pool.stop();
    }
  }

  /** Closes all; none is dialled any more. */
  stop(): void {
    this.#isStopped = true;
    for (const { pool } of this.#nodes.values()) pool.stop();
    this.#nodes.clear();
  }
}
