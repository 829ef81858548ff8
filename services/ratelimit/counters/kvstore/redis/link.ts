/**
 * The interface by which commands are sent to one server, a failover group or a
 * cluster, and the queue of calls that wait for a connection.
 *
 * @module
 */

import {
  type WaitingCall,
  WaitingCalls,
  type WaitingCallsOptions,
} from "../../server_outage.ts";
import type { RedisCommand } from "./command_writer.ts";
import type { AnsweredHits } from "./connection.ts";
import { isRedisRefusal, type RedisOutcome } from "./reply.ts";

/** A way to send commands to Redis servers, which recovers by itself. */
export interface RedisLink {
  /** True while at least one server can be expected to answer. */
  readonly isUp: boolean;
  /** Begins to connect. */
  start(): void;
  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void;
  /**
   * Executes commands, which are read before this returns. Those for one server
   * are sent in one write and executed in their order.
   *
   * @param deadlineMs When the caller gives up, by the clock.
   * @returns A promise that never rejects.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome>;
  /**
   * Counts hits, which are read before this returns, as
   * {@linkcode RedisLink.send} executes commands.
   */
  hit<Answer>(hits: ListedHits<Answer>, deadlineMs: number): Promise<Answer>;
}

/** Hits that can also be sent as commands, later or to several servers. */
export interface ListedHits<Answer> extends AnsweredHits<Answer> {
  /**
   * Returns an `INCRBY` and an `EXPIRE` for each hit, which hold nothing of
   * their source.
   */
  listed(): readonly RedisCommand[];
}

/** Sends hits as the commands that they are. */
export async function sendListed<Answer>(
  hits: ListedHits<Answer>,
  send: (commands: readonly RedisCommand[]) => Promise<RedisOutcome>,
): Promise<Answer> {
  const { answer } = hits;
  const outcome = await send(hits.listed());
  if (outcome.kind !== "replied") return answer(outcome);
  const replies = outcome.replies.flatMap((count, i, all) => {
    if (i % 2 === 1) return [];
    const expiry = all[i + 1] ?? null;
    return typeof count === "number" && isRedisRefusal(expiry)
      ? [{ ...expiry, hasCounted: true }]
      : [count];
  });
  return answer({ kind: "replied", replies });
}

/** Sends commands, giving up at `deadlineMs` by the clock. */
type RedisSend = (
  commands: readonly RedisCommand[],
  deadlineMs: number,
) => Promise<RedisOutcome>;

interface WaitingCommands extends WaitingCall {
  readonly commands: readonly RedisCommand[];
  readonly resolve: (outcome: RedisOutcome) => void;
}

/** Keeps calls until a connection to send them over is up. */
export class WaitingSends {
  readonly #calls: WaitingCalls<WaitingCommands>;

  /** Makes an empty queue. */
  constructor(options: WaitingCallsOptions) {
    this.#calls = new WaitingCalls(options);
  }

  /** Queues a call; it is unavailable when it may not wait, or no longer. */
  add(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    return new Promise((resolve) => {
      this.#calls.add({
        commands,
        deadlineMs,
        resolve,
        fail: (reason) => resolve({ kind: "unavailable", reason }),
      });
    });
  }

  /** Sends the calls that wait, in their order. */
  release(send: RedisSend): void {
    for (const { commands, deadlineMs, resolve } of this.#calls.take()) {
      send(commands, deadlineMs).then(resolve);
    }
  }

  /** Answers all calls that wait as unavailable. */
  failAll(reason: string): void {
    this.#calls.failAll(reason);
  }
}
