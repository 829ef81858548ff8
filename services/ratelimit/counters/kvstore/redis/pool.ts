/**
 * A pool of connections to one Redis server.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Logger } from "../../../../shared/logger.ts";
import { Breaker, type ProbeOutcome } from "../../breaker.ts";
import { computeSilence } from "../../server_outage.ts";
import { StoreOutages } from "../../store_outages.ts";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisArgument, RedisCommand } from "./command_writer.ts";
import { RedisConnection, type RedisConnectionOptions } from "./connection.ts";
import {
  type ListedHits,
  type RedisLink,
  sendListed,
  WaitingSends,
} from "./link.ts";
import { isRedisRefusal, mayRefuseAll, type RedisOutcome } from "./reply.ts";

/** How a {@linkcode RedisPool} is made. */
export interface RedisPoolOptions
  extends Omit<RedisConnectionOptions, "onChange" | "onDoubt"> {
  /** Name of the server in log lines. */
  readonly name: string;
  /**
   * Number of connections.
   *
   * @default 10
   */
  readonly size?: number | undefined;
  /**
   * Called when a connection is up or calls are sent again, and with a reason
   * when a connection was lost or could not be made, or calls are no longer
   * sent.
   *
   * @default not reported
   */
  readonly onChange?: (reason?: string) => void;
  /**
   * Returns the name of a counter of its own, which probes write.
   *
   * @default one called "breaker_probe"
   */
  readonly probeKey?: () => RedisArgument;
  /**
   * Logs outages; the servers of a store have one together.
   *
   * @default one of its own
   */
  readonly outages?: StoreOutages;
  /**
   * Name of the server in `outages`.
   *
   * @default its address
   */
  readonly part?: string;
  /** Gets a line when the server is connected. */
  readonly logger: Logger;
}

/** Seconds that the counter of probes lives. */
const PROBE_LIFE_SECONDS = 60;

/** Returns the commands of a probe: those of a hit. */
export function probeCommands(key: RedisArgument): readonly RedisCommand[] {
  return [["INCRBY", key, "1"], ["EXPIRE", key, String(PROBE_LIFE_SECONDS)]];
}

/**
 * Spreads calls over connections in turn. While the server can't serve calls,
 * or without a connection, a call is answered as unavailable at once; only
 * while the first dial after the start or after a loss is in progress does the
 * call wait, within its own time limit.
 *
 * All calls of one turn of the event loop, or of a pipeline window, take one
 * connection and are sent in one write; those after it take the next one.
 */
export class RedisPool implements RedisLink {
  readonly #options: RedisPoolOptions;
  readonly #connections: readonly RedisConnection[];
  readonly #waiting: WaitingSends;
  readonly #outages: StoreOutages;
  readonly #part: string;
  readonly #breaker: Breaker;
  #isSilent = false;
  #next = 0;
  #picked: RedisConnection | undefined;
  #wasUp = false;
  #lastReason = "not started";

  /** Makes a pool that is not connected yet. */
  constructor(options: RedisPoolOptions) {
    this.#options = options;
    this.#outages = options.outages ?? new StoreOutages(options);
    this.#part = options.part ?? formatRedisAddress(options.address);
    this.#breaker = new Breaker({
      clock: options.clock,
      random: options.random,
      probe: () => this.#probe(),
      onOpen: (reason) => this.#onOpen(reason),
      onClose: () => this.#onChange(undefined),
      onCleared: (refusal) => this.#outages.refused(refusal),
    });
    this.#waiting = new WaitingSends(options);
    this.#connections = Array.from(
      { length: Math.max(1, options.size ?? 10) },
      () =>
        new RedisConnection({
          ...options,
          afterTurn: (callback) => this.#afterTurn(callback),
          onChange: (reason) => this.#onChange(reason),
          onDoubt: (refusal) => this.#breaker.doubt(refusal),
        }),
    );
  }

  /** Address of the server. */
  get address(): RedisAddress {
    return this.#options.address;
  }

  /** True while calls can be sent. */
  get isUp(): boolean {
    return !this.#breaker.isOpen && this.#isConnected;
  }

  /** Why calls are answered at once; undefined while they are sent or wait. */
  get outage(): string | undefined {
    return this.#breaker.isOpen ? this.#breaker.reason : undefined;
  }

  /** True while a first dial is in progress, for which calls wait. */
  get isFreshDial(): boolean {
    return !this.#breaker.isOpen &&
      this.#connections.some((connection) => connection.isFreshDial);
  }

  /** Has the server probed, as it may serve no longer, or may serve again. */
  suspect(isTrouble: boolean): void {
    if (!isTrouble) this.#breaker.hope();
    else if (this.#isConnected) this.#breaker.doubt();
  }

  /** Begins to dial all connections. */
  start(): void {
    this.#lastReason = "not connected yet";
    for (const connection of this.#connections) connection.start();
  }

  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void {
    this.#lastReason = "stopped";
    this.#breaker.stop();
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
    commands: readonly RedisCommand[],
    deadlineMs: number = this.#options.clock.nowMs() + this.#options.timeoutMs,
  ): Promise<RedisOutcome> {
    if (this.#breaker.isOpen) return unavailable(this.#breaker.reason);
    const connection = this.#pick();
    if (connection !== undefined) return connection.send(commands, deadlineMs);
    if (this.isFreshDial) return this.#waiting.add(commands, deadlineMs);
    return unavailable(this.#lastReason);
  }

  /** Sends hits as {@linkcode RedisPool.send} sends commands. */
  hit<Answer>(hits: ListedHits<Answer>, deadlineMs: number): Promise<Answer> {
    const connection = this.#breaker.isOpen ? undefined : this.#pick();
    return connection?.hit(hits, deadlineMs) ??
      sendListed(hits, (commands) => this.send(commands, deadlineMs));
  }

  get #isConnected(): boolean {
    return this.#connections.some((connection) => connection.isUp);
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

  /**
   * While nothing waits for a reply, a call gains nothing by waiting for a turn
   * of the event loop: it goes out with those that were read with it.
   */
  #afterTurn(callback: () => void): void {
    let pending = 0;
    for (const connection of this.#connections) {
      pending += connection.pendingCount;
    }
    if (pending <= 1) queueMicrotask(callback);
    else setImmediate(callback);
  }

  #onChange(reason: string | undefined): void {
    const { name, address, logger } = this.#options;
    if (reason !== undefined) this.#lastReason = reason;
    const isConnected = this.#isConnected;
    if (!isConnected && !this.isFreshDial) this.#breaker.cut(this.#lastReason);
    if (isConnected) this.#breaker.join();
    if (this.isUp) {
      this.#outages.end(this.#part);
      if (!this.#wasUp) {
        logger.info(`connected to ${name}`, {
          address: formatRedisAddress(address),
        });
      }
      this.#waiting.release((commands, deadlineMs) =>
        this.send(commands, deadlineMs)
      );
    }
    this.#wasUp = isConnected;
    this.#options.onChange?.(reason);
  }

  #onOpen(reason: string): void {
    this.#outages.begin(this.#part, reason);
    this.#waiting.failAll(reason);
    // No connection of a silent server is worth a further probe.
    if (this.#isSilent) { for (const one of this.#connections) one.renew(); }
    this.#options.onChange?.(reason);
  }

  /** Probes over a connection that is not stuck. */
  #probe(): ProbeOutcome | Promise<ProbeOutcome> {
    this.#isSilent = false;
    const up = this.#connections.filter((connection) => connection.isUp);
    const connection = up.find((one) => !one.isSlow) ?? up[0];
    return connection === undefined
      ? { kind: "cut", reason: this.#lastReason }
      : this.#probeOver(connection);
  }

  /** Writes a counter of its own as calls write theirs. */
  async #probeOver(connection: RedisConnection): Promise<ProbeOutcome> {
    const { clock, address, probeKey } = this.#options;
    const outcome = await connection.send(
      probeCommands(probeKey?.() ?? "breaker_probe"),
      clock.nowMs() + computeSilence(this.#options).probeMs,
    );
    if (outcome.kind === "unavailable") {
      this.#isSilent = true;
      return { kind: "failed", reason: outcome.reason };
    }
    for (const reply of outcome.replies) {
      if (!isRedisRefusal(reply) || !mayRefuseAll(reply.refusal)) continue;
      const place = formatRedisAddress(address);
      const reason = `Cannot use "${place}": ${reply.refusal}`;
      return { kind: "failed", reason };
    }
    return { kind: "served" };
  }
}

function unavailable(reason: string): Promise<RedisOutcome> {
  return Promise.resolve({ kind: "unavailable", reason });
}
