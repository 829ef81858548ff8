/**
 * A connection to a Redis server, which is dialled again after each fault.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";
import { redialDelayMs } from "../../server_outage.ts";
import type { ConnectionTally } from "../../store_stats.ts";
import { formatRedisAddress } from "./address.ts";
import {
  isRedisErrorReply,
  openRedisClient,
  type RedisClient,
  type RedisClientOptions,
  type RedisCommand,
} from "./client.ts";
import {
  isReadOnlyRefusal,
  redisErrorText,
  type RedisOutcome,
  type RedisReply,
  redisReply,
  ROLE_COMMAND,
  roleProblem,
} from "./reply.ts";

/** Where and how to connect. */
export interface RedisConnectionOptions
  extends Omit<RedisClientOptions, "onError"> {
  /**
   * Whether a server that says it is a replica is as good as none. Without it
   * that is found out by the first write, after which replicas are refused.
   *
   * @default false
   */
  readonly mustBeMaster?: boolean;
  /**
   * Calls that may wait for a reply at a time; further ones are refused.
   *
   * @default 50_000
   */
  readonly maxPending?: number;
  /** The time. */
  readonly clock: Clock;
  /** Gives a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /**
   * Is called when the connection came up, and with a reason when it was lost
   * or could not be made.
   */
  readonly onChange: (reason?: string) => void;
  /**
   * Counts when it is up and when that has ended.
   *
   * @default not counted
   */
  readonly tally?: ConnectionTally | undefined;
  /**
   * Makes the client of one dial.
   *
   * @default openRedisClient
   */
  readonly openClient?:
    | ((options: RedisClientOptions) => RedisClient)
    | undefined;
}

interface Call {
  readonly deadlineMs: number;
  readonly replies: RedisReply[];
  readonly resolve: (outcome: RedisOutcome) => void;
  left: number;
}

/** A connection that was up this long is dialled again at once when lost. */
const STABLE_MS = 1_000;

/**
 * A connection that is dialled again whenever it is lost, at once the first
 * time and then ever more slowly. A server that leaves a call without a reply
 * until its deadline counts as lost: the connection is closed and dialled
 * again. Dialling ends with a PING, so a server that is loading, wants a
 * password or does not answer is not up. A server that refuses a write because
 * it is a replica has been failed over: the connection is closed and, since its
 * name may lead elsewhere by now, dialled again.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #maxPending: number;
  readonly #secrets: readonly string[];
  readonly #pending = new Set<Call>();
  #state: "stopped" | "dialling" | "up" | "waiting" = "stopped";
  #client: RedisClient | undefined;
  #mustBeMaster: boolean;
  #isCounted = false;
  #failures = 0;
  #upSinceMs = 0;
  #timer: Timer | undefined;
  #watchdog: Timer | undefined;
  #watchdogMs = Infinity;

  /** Makes a connection that is not dialled yet. */
  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#maxPending = options.maxPending ?? 50_000;
    this.#mustBeMaster = options.mustBeMaster ?? false;
    this.#secrets = options.auth === undefined ? [] : [options.auth.password];
  }

  /** True while commands can be sent. */
  get isUp(): boolean {
    return this.#state === "up";
  }

  /** True while it is being dialled for the first time since it was last up. */
  get isFreshDial(): boolean {
    return this.#state === "dialling" && this.#failures === 0;
  }

  /** Begins to dial; does nothing after the first time. */
  start(): void {
    if (this.#state !== "stopped") return;
    this.#failures = 0;
    this.#dial();
  }

  /** Closes the connection; calls that wait are answered as unavailable. */
  stop(): void {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    this.#close("the connection was closed");
  }

  /**
   * Sends commands in one write and waits for all their replies.
   *
   * @param deadlineMs When to give up, by the clock.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    const client = this.#client;
    if (client === undefined || this.#state !== "up") {
      return unavailable("not connected");
    }
    if (this.#pending.size >= this.#maxPending) {
      return unavailable(`${this.#maxPending} calls wait for a reply already`);
    }
    const left = commands.length;
    if (left === 0) return Promise.resolve({ kind: "replied", replies: [] });
    return new Promise((resolve) => {
      const replies = new Array<RedisReply>(left);
      const call: Call = { deadlineMs, replies, resolve, left };
      this.#pending.add(call);
      this.#watch(deadlineMs);
      for (let i = 0; i < left; i++) {
        client.send(commands[i]!).then(
          (reply) => this.#reply(call, i, redisReply(reply, this.#secrets)),
          (error) => this.#replyError(call, i, error),
        );
      }
    });
  }

  #reply(call: Call, index: number, reply: RedisReply): void {
    call.replies[index] = reply;
    if (--call.left > 0 || !this.#pending.delete(call)) return;
    call.resolve({ kind: "replied", replies: call.replies });
  }

  #replyError(call: Call, index: number, error: unknown): void {
    const text = redisErrorText(error, this.#secrets);
    if (isRedisErrorReply(error)) {
      if (isReadOnlyRefusal(text) && this.#pending.has(call)) {
        this.#mustBeMaster = true;
        this.#lose(error);
      } else {
        this.#reply(call, index, { refusal: text });
      }
    } else if (this.#pending.delete(call)) {
      call.resolve({ kind: "unavailable", reason: text });
    }
  }

  #dial(): void {
    const { address, auth, database, tls, timeoutMs, clock } = this.#options;
    this.#state = "dialling";
    const client = (this.#options.openClient ?? openRedisClient)({
      address,
      auth,
      database,
      tls,
      timeoutMs,
      onError: (error) => {
        // While dialling, the failed dial itself reports it.
        if (this.#client === client && this.#state === "up") this.#lose(error);
      },
    });
    this.#client = client;
    this.#timer = clock.setTimer(
      () => this.#lose(timeout(timeoutMs)),
      timeoutMs,
    );
    client.connect().then(() => greet(client, this.#mustBeMaster)).then(
      () => {
        if (this.#client === client) this.#rise();
        else client.destroy();
      },
      (error) => {
        if (this.#client === client) this.#lose(error);
        else client.destroy();
      },
    );
  }

  #rise(): void {
    this.#timer?.cancel();
    this.#state = "up";
    this.#upSinceMs = this.#options.clock.nowMs();
    this.#isCounted = true;
    this.#options.tally?.opened();
    this.#options.onChange();
  }

  #lose(error: unknown): void {
    const { address, clock, onChange, random } = this.#options;
    const wasStable = this.#state === "up" &&
      clock.nowMs() - this.#upSinceMs >= STABLE_MS;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    this.#state = "waiting";
    const reason = `Cannot use "${formatRedisAddress(address)}": ${
      redisErrorText(error, this.#secrets)
    }`;
    this.#close(reason);
    if (wasStable) {
      this.#dial();
    } else {
      this.#timer = clock.setTimer(
        () => this.#dial(),
        redialDelayMs(this.#failures, random),
      );
    }
    onChange(reason);
  }

  #close(reason: string): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#watchdog?.cancel();
    this.#watchdog = undefined;
    this.#watchdogMs = Infinity;
    const client = this.#client;
    this.#client = undefined;
    const calls = [...this.#pending];
    this.#pending.clear();
    client?.destroy();
    if (this.#isCounted) {
      this.#isCounted = false;
      this.#options.tally?.closed();
    }
    for (const call of calls) call.resolve({ kind: "unavailable", reason });
  }

  /** Sets a timer to check the calls at `deadlineMs`. */
  #watch(deadlineMs: number): void {
    if (deadlineMs >= this.#watchdogMs) return;
    this.#watchdog?.cancel();
    this.#watchdogMs = deadlineMs;
    const { clock } = this.#options;
    this.#watchdog = clock.setTimer(() => {
      this.#watchdog = undefined;
      this.#watchdogMs = Infinity;
      let next = Infinity;
      for (const call of this.#pending) next = Math.min(next, call.deadlineMs);
      if (next <= clock.nowMs()) this.#lose(timeout(this.#options.timeoutMs));
      else if (next < Infinity) this.#watch(next);
    }, Math.max(0, deadlineMs - clock.nowMs()));
  }
}

function timeout(timeoutMs: number): Error {
  return new Error(`no answer within ${timeoutMs} ms`);
}

function unavailable(reason: string): Promise<RedisOutcome> {
  return Promise.resolve({ kind: "unavailable", reason });
}

/**
 * Asks a server whether it can be used: it answers a PING, so it is neither
 * loading nor waiting for a password, and is a master where that matters.
 *
 * @throws {Error} When it can't be used, or the connection is lost.
 */
async function greet(
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
