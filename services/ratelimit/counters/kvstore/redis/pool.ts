/**
 * A pool of connections to one Redis server.
 *
 * @module
 */

import type { Logger } from "../../../../shared/logger.ts";
import { OutageLog } from "../../server_outage.ts";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisCommands } from "./client.ts";
import { RedisConnection, type RedisConnectionOptions } from "./connection.ts";
import { type RedisLink, WaitingSends } from "./link.ts";
import type { RedisOutcome } from "./reply.ts";

/** How a {@linkcode RedisPool} is made. */
export interface RedisPoolOptions
  extends Omit<RedisConnectionOptions, "onChange"> {
  /** Name of the server in log lines. */
  readonly name: string;
  /**
   * Number of connections.
   *
   * @default 10
   */
  readonly size?: number | undefined;
  /**
   * Called when a connection is up, and with a reason when one was lost or
   * could not be made.
   *
   * @default not reported
   */
  readonly onChange?: (reason?: string) => void;
  /** Gets a line when the server becomes reachable or unreachable. */
  readonly logger: Logger;
}

/**
 * Spreads calls over connections in turn. Without a connection a call is
 * answered as unavailable at once; only while the first dial after the start or
 * after a loss is in progress does the call wait, within its own time limit.
 *
 * All calls of one turn of the event loop, or of a pipeline window, take one
 * connection and are sent in one write; those after it take the next one.
 */
export class RedisPool implements RedisLink {
  readonly #options: RedisPoolOptions;
  readonly #connections: readonly RedisConnection[];
  readonly #waiting: WaitingSends;
  readonly #outage: OutageLog;
  #next = 0;
  #picked: RedisConnection | undefined;
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
    this.#connections = Array.from(
      { length: Math.max(1, options.size ?? 10) },
      () =>
        new RedisConnection({
          ...options,
          onChange: (reason) => this.#onChange(reason),
        }),
    );
  }

  /** Address of the server. */
  get address(): RedisAddress {
    return this.#options.address;
  }

  /** True while at least one connection is up. */
  get isUp(): boolean {
    return this.#connections.some((connection) => connection.isUp);
  }

  /** True while a first dial is in progress, for which calls wait. */
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
    this.#waiting.failAll(this.#lastReason);
  }

  /**
   * Sends commands over one connection in one write.
   *
   * @param deadlineMs When the caller gives up, by the clock; absent, the time
   * limit from now.
   */
  send(
    commands: RedisCommands,
    deadlineMs: number = this.#options.clock.nowMs() + this.#options.timeoutMs,
  ): Promise<RedisOutcome> {
    const connection = this.#pick();
    if (connection !== undefined) return connection.send(commands, deadlineMs);
    if (this.isFreshDial) return this.#waiting.add(commands, deadlineMs);
    return Promise.resolve({ kind: "unavailable", reason: this.#lastReason });
  }

  #pick(): RedisConnection | undefined {
    const picked = this.#picked;
    // One that was lost gathers, too: the greeting of its next dial.
    if (picked?.isUp === true && picked.isGathering) return picked;
    const count = this.#connections.length;
    for (let tried = 0; tried < count; tried++) {
      const connection = this.#connections[this.#next]!;
      this.#next = (this.#next + 1) % count;
      if (connection.isUp) return this.#picked = connection;
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
        this.send(commands, deadlineMs)
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
