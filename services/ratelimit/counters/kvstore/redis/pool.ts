/**
 * Several connections to one Redis server, and the batching of commands for
 * it.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { OutageLog } from "../../server_outage.ts";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisCommand } from "./client.ts";
import { RedisConnection, type RedisConnectionOptions } from "./connection.ts";
import { type RedisLink, WaitingSends } from "./link.ts";
import type { RedisOutcome } from "./reply.ts";

/** How long calls are gathered. */
interface BatcherOptions {
  /**
   * Milliseconds that a call may wait for others, to leave in one write with
   * them. Timers know whole milliseconds only, so below 1 the calls of one turn
   * of the event loop are gathered; 0 does not gather: then those leave together
   * that happen to take the same connection in one turn.
   *
   * @default 0
   */
  readonly pipelineWindowMs?: number;
  /**
   * Commands that end the waiting; 0 is no limit.
   *
   * @default 0
   */
  readonly pipelineLimit?: number;
  /** The time limit of a call, of which at most half is waited. */
  readonly timeoutMs: number;
  /** The time. */
  readonly clock: Clock;
  /**
   * Calls back when the events of this turn of the event loop are over.
   *
   * @default setImmediate
   */
  readonly afterTurn?: (callback: () => void) => void;
}

/** A call that was gathered. */
interface GatheredCall {
  /** Its commands. */
  readonly commands: readonly RedisCommand[];
  /** When it gives up, by the clock. */
  readonly deadlineMs: number;
  /** Takes its outcome. */
  readonly resolve: (outcome: RedisOutcome) => void;
}

/** Keeps calls until the window is over or the limit is reached. */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #windowMs: number;
  readonly #sendAll: (calls: readonly GatheredCall[]) => void;
  #calls: GatheredCall[] = [];
  #commands = 0;
  #timer: Timer | undefined;

  /** Hands what it gathered to `sendAll`, which resolves each call. */
  constructor(
    options: BatcherOptions,
    sendAll: (calls: readonly GatheredCall[]) => void,
  ) {
    const { pipelineWindowMs = 0, timeoutMs } = options;
    this.#options = options;
    this.#windowMs = Math.min(pipelineWindowMs, timeoutMs / 2);
    this.#sendAll = sendAll;
  }

  /** False when calls are to be sent as they come. */
  get isOn(): boolean {
    return this.#windowMs > 0;
  }

  /** Keeps a call. */
  add(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    return new Promise((resolve) => {
      this.#calls.push({ commands, deadlineMs, resolve });
      this.#commands += commands.length;
      const { pipelineLimit = 0 } = this.#options;
      if (pipelineLimit > 0 && this.#commands >= pipelineLimit) this.flush();
      else if (this.#calls.length === 1) this.#await();
    });
  }

  /** Hands over what there is. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const calls = this.#calls;
    this.#calls = [];
    this.#commands = 0;
    if (calls.length > 0) this.#sendAll(calls);
  }

  #await(): void {
    const { clock, afterTurn } = this.#options;
    if (this.#windowMs >= 1) {
      this.#timer = clock.setTimer(() => this.flush(), this.#windowMs);
      return;
    }
    const calls = this.#calls;
    (afterTurn ?? callAfterTurn)(() => {
      // The limit may have been reached, and others gather by now.
      if (this.#calls === calls) this.flush();
    });
  }
}

function callAfterTurn(callback: () => void): void {
  setImmediate(callback);
}

/** How a {@linkcode RedisPool} is made. */
export interface RedisPoolOptions
  extends
    Omit<RedisConnectionOptions, "onChange">,
    Omit<BatcherOptions, "timeoutMs" | "clock"> {
  /** What the server is called in logs. */
  readonly name: string;
  /**
   * Number of connections.
   *
   * @default 10
   */
  readonly size?: number | undefined;
  /**
   * Is called when a connection came up, and with a reason when one was lost
   * or could not be made.
   *
   * @default not reported
   */
  readonly onChange?: (reason?: string) => void;
  /** Gets a line when the server becomes reachable and unreachable. */
  readonly logger: Logger;
}

/**
 * Spreads calls over connections in turn. Without a connection a call is
 * answered as unavailable at once; only while the first dial after the start
 * or after a loss is under way does it wait, within its own time limit.
 *
 * All calls that one connection gets within one turn of the event loop leave in
 * one write. With a pipeline window all calls of that time take one connection.
 */
export class RedisPool implements RedisLink {
  readonly #options: RedisPoolOptions;
  readonly #connections: readonly RedisConnection[];
  readonly #waiting: WaitingSends;
  readonly #batcher: Batcher;
  readonly #outage: OutageLog;
  #next = 0;
  #wasUp = false;
  #lastReason = "not started";

  /** Makes a pool that is not connected yet. */
  constructor(options: RedisPoolOptions) {
    this.#options = options;
    this.#outage = new OutageLog(
      options.logger,
      `no connection to ${options.name}`,
    );
    this.#waiting = new WaitingSends(options);
    this.#batcher = new Batcher(options, (calls) => {
      const connection = this.#pick();
      for (const { commands, deadlineMs, resolve } of calls) {
        this.#sendOver(connection, commands, deadlineMs).then(resolve);
      }
    });
    this.#connections = Array.from(
      { length: Math.max(1, options.size ?? 10) },
      () =>
        new RedisConnection({
          ...options,
          onChange: (reason) => this.#onChange(reason),
        }),
    );
  }

  /** Where the server listens. */
  get address(): RedisAddress {
    return this.#options.address;
  }

  /** True while at least one connection is up. */
  get isUp(): boolean {
    return this.#connections.some((connection) => connection.isUp);
  }

  /** True while a first dial is under way for which calls wait. */
  get isFreshDial(): boolean {
    return this.#connections.some((connection) => connection.isFreshDial);
  }

  /** Begins to dial all connections. */
  start(): void {
    this.#lastReason = "not connected yet";
    for (const connection of this.#connections) connection.start();
  }

  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void {
    this.#lastReason = "stopped";
    for (const connection of this.#connections) connection.stop();
    this.#wasUp = false;
    this.#batcher.flush();
    this.#waiting.failAll(this.#lastReason);
  }

  /**
   * Sends commands over one connection in one write.
   *
   * @param deadlineMs When to give up, by the clock; absent, the time limit
   * from now.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number = this.#options.clock.nowMs() + this.#options.timeoutMs,
  ): Promise<RedisOutcome> {
    return this.#batcher.isOn
      ? this.#batcher.add(commands, deadlineMs)
      : this.#sendOver(this.#pick(), commands, deadlineMs);
  }

  #sendOver(
    connection: RedisConnection | undefined,
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    if (connection !== undefined) return connection.send(commands, deadlineMs);
    if (this.isFreshDial) return this.#waiting.add(commands, deadlineMs);
    return Promise.resolve({ kind: "unavailable", reason: this.#lastReason });
  }

  #pick(): RedisConnection | undefined {
    const count = this.#connections.length;
    for (let tried = 0; tried < count; tried++) {
      const connection = this.#connections[this.#next]!;
      this.#next = (this.#next + 1) % count;
      if (connection.isUp) return connection;
    }
    return undefined;
  }

  #onChange(reason: string | undefined): void {
    if (reason !== undefined) this.#lastReason = reason;
    const isUp = this.isUp;
    this.#log(isUp, reason);
    this.#wasUp = isUp;
    if (isUp) {
      this.#waiting.release((commands, deadlineMs) =>
        this.#sendOver(this.#pick(), commands, deadlineMs)
      );
    } else if (!this.isFreshDial) {
      this.#waiting.failAll(this.#lastReason);
    }
    this.#options.onChange?.(reason);
  }

  #log(isUp: boolean, reason: string | undefined): void {
    const { name, address, logger } = this.#options;
    if (isUp) {
      this.#outage.end();
      if (!this.#wasUp) {
        logger.info(`connected to ${name}`, {
          address: formatRedisAddress(address),
        });
      }
    } else if (reason !== undefined) {
      this.#outage.note(reason);
    }
  }
}
