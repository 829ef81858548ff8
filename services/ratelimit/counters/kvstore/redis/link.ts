/**
 * What callers of one server, of a failover group and of a cluster have in
 * common: the link, and the calls that wait for it.
 *
 * @module
 */

import {
  MAX_WAITING_CALLS,
  type WaitingCall,
  WaitingCalls,
  type WaitingCallsOptions,
} from "../../server_outage.ts";
import {
  commandList,
  type RedisCommand,
  type RedisCommands,
} from "./client.ts";
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
   * Carries out commands, which are read before this returns. Those of one
   * server travel in one write and are carried out in their order.
   *
   * @param deadlineMs When to give up, by the clock.
   * @returns A promise that never rejects.
   */
  send(
    commands: RedisCommands,
    deadlineMs: number,
  ): Promise<RedisOutcome>;
}

/** Sends commands, giving up at `deadlineMs` by the clock. */
type RedisSend = (
  commands: RedisCommands,
  deadlineMs: number,
) => Promise<RedisOutcome>;

interface WaitingCommands extends WaitingCall {
  readonly commands: readonly RedisCommand[];
  readonly resolve: (outcome: RedisOutcome) => void;
}

/** Keeps commands until there is something to send them over. */
export class WaitingSends {
  readonly #calls: WaitingCalls<WaitingCommands>;

  /** A queue without commands. */
  constructor(options: WaitingCallsOptions) {
    this.#calls = new WaitingCalls(options);
  }

  /** Waits with some commands; at once unavailable when too many calls wait. */
  add(
    commands: RedisCommands,
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    return new Promise((resolve) => {
      const fail = (reason: string): void =>
        resolve({ kind: "unavailable", reason });
      if (
        !this.#calls.add({
          commands: commandList(commands),
          deadlineMs,
          resolve,
          fail,
        })
      ) {
        fail(`${MAX_WAITING_CALLS} calls wait for a connection already`);
      }
    });
  }

  /** Sends what waits, in its order. */
  release(send: RedisSend): void {
    for (const { commands, deadlineMs, resolve } of this.#calls.take()) {
      send(commands, deadlineMs).then(resolve);
    }
  }

  /** Answers all that wait as unavailable. */
  failAll(reason: string): void {
    this.#calls.failAll(reason);
  }
}
