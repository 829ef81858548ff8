/**
 * What the callers of one server, of a failover group and of a cluster have in
 * common.
 *
 * @module
 */

import type { RedisCommand } from "./client.ts";
import type { RedisOutcome } from "./reply.ts";

/** A way to carry out commands that recovers by itself. */
export interface RedisLink {
  /** True while some server can be expected to answer. */
  readonly isUp: boolean;
  /** Begins to connect. */
  start(): void;
  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void;
  /**
   * Carries out commands. Those of one server travel in one write and are
   * carried out in their order.
   *
   * @param deadlineMs When to give up, by the clock.
   * @returns A promise that never rejects.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome>;
}
