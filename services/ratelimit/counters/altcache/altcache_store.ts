/**
 * A store that keeps its counters on memcached servers.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../../shared/clock.ts";
import { waitAtMost } from "../../../shared/settled.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../counter_store.ts";
import { StoreOutages } from "../store_outages.ts";
import type { AltcacheTally, OutageTally } from "../store_telemetry.ts";
import {
  AltcacheCall,
  type AltcachePlan,
  planAltcacheBatch,
} from "./altcache_call.ts";
import { AltcacheChanges, type SettledChange } from "./altcache_changes.ts";
import {
  AltcacheServers,
  type AltcacheServersOptions,
} from "./altcache_servers.ts";
import type { MemcachedOutcome } from "./memcached/connection.ts";
import { getCommand } from "./memcached/protocol.ts";

/** Name of the servers in log lines. */
const LABEL = "altcache";

/** How an {@linkcode AltcacheStore} is made. */
interface AltcacheStoreOptions extends
  Pick<
    AltcacheServersOptions,
    | "source"
    | "tls"
    | "maxIdleConnections"
    | "resolveSrv"
    | "clock"
    | "logger"
  > {
  /**
   * Bound in milliseconds on dialling, on every call and on every increment in
   * the background.
   *
   * @default 10_000
   */
  readonly timeoutMs?: number;
  /**
   * Random whole seconds up to this, not included, lengthen a counter's life
   * beyond its window, so that counters do not all end in the same moment.
   *
   * @default 300
   */
  readonly expirationJitterMaxSeconds?: number;
  /**
   * True when the store is unhealthy while no server serves.
   *
   * @default false
   */
  readonly healthNeedsConnection?: boolean;
  /**
   * Most increments that may be pending after their calls were answered; beyond
   * that, a call waits for its own increments.
   *
   * @default 10_000
   */
  readonly maxPendingIncrements?: number;
  /**
   * Called with the number of counters whose increments are lost, or may be
   * lost, after their calls were answered.
   *
   * @default not reported
   */
  readonly onIncrementError?: (lost: number) => void;
  /**
   * Counts commands by their outcome.
   *
   * @default not counted
   */
  readonly tally?: AltcacheTally | undefined;
  /**
   * Counts outages.
   *
   * @default not counted
   */
  readonly outageTally?: OutageTally | undefined;
  /**
   * Returns a number from 0 up to, not including, 1.
   *
   * @default Math.random
   */
  readonly random?: () => number;
}

/**
 * Keeps counters on memcached servers. A call costs one read from each server
 * that has one of its counters, all at once; the increments are sent to the
 * servers after the answer.
 *
 * A decision also counts what this process has decided and what has not arrived
 * yet, so one process alone never admits too much. Several processes do not see
 * each other's calls in flight: together they may admit more than the limit, by
 * no more hits than the others' calls have that are being decided or whose
 * increments have not arrived. While more than 2,048 commands wait for one
 * server, further connections are used, whose order is not known, and counts
 * may be off by the hits of the calls in flight within one process, too.
 *
 * When a server is down or hangs, the answer is of the kind "unavailable", and
 * no hit of that batch is counted. The store recovers by itself.
 */
export class AltcacheStore implements CounterStore {
  readonly #options: AltcacheStoreOptions;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxPending: number;
  readonly #jitterSeconds: number;
  readonly #random: () => number;
  readonly #servers: AltcacheServers;
  readonly #changes: AltcacheChanges;
  #isStopping = false;

  /** Makes a store that is not connected yet. */
  constructor(options: AltcacheStoreOptions) {
    const { logger, outageTally } = options;
    // A steady clock, so that deadlines do not move when the time of day is
    // set.
    const clock = steadyClock(options.clock);
    this.#clock = clock;
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#maxPending = options.maxPendingIncrements ?? 10_000;
    this.#jitterSeconds = options.expirationJitterMaxSeconds ?? 300;
    this.#random = options.random ?? Math.random;
    this.#servers = new AltcacheServers({
      source: options.source,
      label: LABEL,
      tls: options.tls,
      timeoutMs: this.#timeoutMs,
      maxIdleConnections: options.maxIdleConnections,
      resolveSrv: options.resolveSrv,
      clock,
      random: this.#random,
      outages: new StoreOutages({ name: LABEL, logger, clock, outageTally }),
      logger,
    });
    this.#changes = new AltcacheChanges({
      timeoutMs: this.#timeoutMs,
      clock,
      nowSeconds: () => Math.floor(options.clock.nowMs() / 1_000),
      onSettled: (change) => this.#onSettled(change),
      tally: options.tally,
    });
  }

  /** Number of increments that have not arrived at their servers. */
  get pendingIncrements(): number {
    return this.#changes.pending;
  }

  /**
   * Number of counters whose state is kept because a call or an increment needs
   * it.
   */
  get countersInUse(): number {
    return this.#changes.size;
  }

  /** Number of connections that are up. */
  get connections(): number {
    return this.#servers.nodes.reduce((sum, node) => sum + node.connections, 0);
  }

  /**
   * Decides on a batch from the counts on the servers; see {@linkcode
   * CounterStore.apply}.
   */
  async apply(batch: CounterBatch): Promise<CounterAnswer> {
    if (batch.operations.length === 0) return { kind: "counted", results: [] };
    if (this.#isStopping) return { kind: "unavailable", reason: "stopped" };
    // Planned before the first await: afterwards the batch is the caller's
    // again.
    const plan = planAltcacheBatch(batch);
    const deadlineMs = this.#clock.nowMs() + this.#timeoutMs;
    if (this.#servers.nodes.length === 0) await this.#servers.firstLook();
    if (this.#servers.nodes.length === 0) {
      return { kind: "unavailable", reason: this.#servers.reason };
    }
    return await this.#read(plan, deadlineMs);
  }

  /** False only when a connection is needed and none is up. */
  isHealthy(): boolean {
    return !this.#options.healthNeedsConnection || this.#servers.isUp;
  }

  /** Begins to connect, and returns before the connections are up. */
  start(): Promise<void> {
    this.#isStopping = false;
    this.#servers.start();
    return Promise.resolve();
  }

  /**
   * Waits until increments have arrived, at most for the time limit, and closes
   * the connections.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await waitAtMost(this.#changes.drained(), {
      clock: this.#clock,
      timeoutMs: this.#timeoutMs,
    });
    if (this.#isStopping) this.#servers.stop();
  }

  #read(plan: AltcachePlan, deadlineMs: number): Promise<CounterAnswer> {
    return new Promise((resolve) => {
      const call = new AltcacheCall(plan, {
        clock: this.#clock,
        deadlineMs,
        changes: this.#changes,
        mustWait: () => this.#changes.pending >= this.#maxPending,
        timeToLive: (windowSeconds) =>
          windowSeconds + Math.floor(this.#random() * this.#jitterSeconds),
        resolve,
      });
      for (const read of call.reads(this.#servers)) {
        read.node.send(getCommand(read.keys), {
          deadlineMs,
          done: (outcome) => {
            this.#countRead(read.keys.length, outcome);
            call.onReply(read, outcome);
          },
        });
      }
    });
  }

  #countRead(requested: number, outcome: MemcachedOutcome): void {
    const { tally } = this.#options;
    if (tally === undefined) return;
    tally.command("multiget", outcome.kind);
    const found = outcome.kind === "values"
      ? outcome.values.filter((value) => value !== undefined).length
      : 0;
    tally.read({ requested, found });
  }

  #onSettled({ changes, failure }: SettledChange): void {
    if (failure !== undefined) this.#options.onIncrementError?.(changes);
  }
}
