/**
 * A store that keeps its counters on Redis servers.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../../shared/clock.ts";
import {
  canStop,
  type CounterAnswer,
  type CounterBatch,
  type CounterStore,
} from "../counter_store.ts";
import { StoreOutages } from "../store_outages.ts";
import type { OutageTally } from "../store_telemetry.ts";
import {
  count,
  countOrStop,
  type KvstoreOperationOptions,
  kvstoreOperations,
  type KvstoreOutcome,
} from "./kvstore_commands.ts";
import { isAllHits, KvstoreHits } from "./kvstore_hits.ts";
import { KvstoreScripts } from "./kvstore_scripts.ts";
import type { RedisTarget } from "./redis/address.ts";
import { RedisCluster } from "./redis/cluster.ts";
import { Expiries } from "./redis/expiries.ts";
import type { RedisLink } from "./redis/link.ts";
import { RedisPool } from "./redis/pool.ts";
import { isOfCluster } from "./redis/reply.ts";
import {
  RedisSentinelPool,
  type RedisSentinelPoolOptions,
} from "./redis/sentinel_pool.ts";

/** How a {@linkcode KvstoreStore} is made. */
interface KvstoreStoreOptions extends
  Pick<
    RedisSentinelPoolOptions,
    | "auth"
    | "sentinelAuth"
    | "database"
    | "tls"
    | "pipelineWindowMs"
    | "pipelineLimit"
    | "tally"
    | "clock"
    | "logger"
  > {
  /**
   * One server, a failover group that sentinels watch, or a cluster, which has
   * one database only.
   */
  readonly address: RedisTarget;
  /**
   * Name of the servers in log lines.
   *
   * @default "kvstore"
   */
  readonly name?: string;
  /**
   * Bound in milliseconds on dialling and on every call.
   *
   * @default 10_000
   */
  readonly timeoutMs?: number;
  /**
   * Number of connections, for a cluster to each of its masters; batches take
   * the connections in turn.
   *
   * @default 10
   */
  readonly poolSize?: number | undefined;
  /**
   * Random whole seconds up to this, not included, lengthen a counter's life
   * beyond its window, so that counters do not all end in the same moment.
   *
   * @default 300
   */
  readonly expirationJitterMaxSeconds?: number;
  /**
   * Begin of the names of counters that probes write.
   *
   * @default ""
   */
  readonly probePrefix?: string;
  /**
   * Name of the setting that says how the servers work together, for the reason
   * when it is wrong.
   *
   * @default "KVSTORE_TYPE"
   */
  readonly typeSetting?: string;
  /**
   * Counts outages.
   *
   * @default not counted
   */
  readonly outageTally?: OutageTally | undefined;
  /**
   * True when the store is unhealthy while no server serves.
   *
   * @default false
   */
  readonly healthNeedsConnection?: boolean;
  /**
   * Returns a number from 0 up to, not including, 1.
   *
   * @default Math.random
   */
  readonly random?: () => number;
  /**
   * Returns the time of sliding windows and token buckets in whole
   * microseconds; set in tests only.
   *
   * @default the server's own clock
   */
  readonly nowMicros?: () => number;
}

/**
 * Keeps counters on Redis servers: one write and one round trip for a batch,
 * however many counters it has; in a cluster one for each node concerned, all
 * at once. When servers are down, hang or refuse, the answer is of the kind
 * "unavailable"; the connections recover by themselves.
 *
 * In a cluster a batch of which one node does not answer is unavailable as a
 * whole; what the other nodes counted stays counted. `stopWhenOver` is one step
 * on one server, and in a cluster a look and then a write, between which other
 * calls may count.
 */
export class KvstoreStore implements CounterStore {
  readonly #options: KvstoreStoreOptions;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #operationOptions: KvstoreOperationOptions;
  readonly #hits: KvstoreHits<CounterAnswer>;
  readonly #scripts: KvstoreScripts;
  readonly #expiries = new Expiries();
  readonly #link: RedisLink;
  readonly #outages: StoreOutages;

  /** Makes a store that is not connected yet. */
  constructor(options: KvstoreStoreOptions) {
    const { poolSize, ...rest } = options;
    const random = options.random ?? Math.random;
    this.#options = options;
    // A steady clock, so that deadlines do not move when the time of day is
    // set.
    this.#clock = steadyClock(options.clock);
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#operationOptions = {
      expirationJitterMaxSeconds: options.expirationJitterMaxSeconds ?? 300,
      random,
    };
    this.#hits = new KvstoreHits(
      this.#operationOptions,
      (outcome) => this.#answer(outcome),
    );
    this.#scripts = new KvstoreScripts({ nowMicros: options.nowMicros });
    const name = options.name ?? "kvstore";
    this.#outages = new StoreOutages({ ...options, clock: this.#clock, name });
    const probePrefix = `${options.probePrefix ?? ""}breaker_probe`;
    this.#link = openRedisLink({
      ...rest,
      size: poolSize,
      name,
      outages: this.#outages,
      probePrefix,
      probeKey: () => probePrefix,
      timeoutMs: this.#timeoutMs,
      clock: this.#clock,
      random,
      expiries: this.#expiries,
    });
  }

  /** Applies a batch; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): Promise<CounterAnswer> {
    const link = this.#link;
    const deadlineMs = this.#clock.nowMs() + this.#timeoutMs;
    if (this.#expiries.owes && link.isUp) this.#payOwed(deadlineMs);
    const mustStop = batch.stopWhenOver === true && canStop(batch.operations);
    if (!mustStop && isAllHits(batch)) {
      return this.#hits.count(batch, { link, deadlineMs });
    }
    const operations = kvstoreOperations(batch, this.#operationOptions);
    const call = { link, deadlineMs, scripts: this.#scripts };
    const isOneServer = this.#options.address.kind !== "cluster";
    const outcome = mustStop
      ? countOrStop(operations, { ...call, isOneServer })
      : count(operations, call);
    return outcome.then((settled) => this.#answer(settled));
  }

  /** False only when health depends on the servers and none serves. */
  isHealthy(): boolean {
    return !this.#options.healthNeedsConnection || this.#link.isUp;
  }

  /** Begins to connect, and returns before the connections are up. */
  start(): Promise<void> {
    this.#link.start();
    return Promise.resolve();
  }

  /** Closes the connections. */
  stop(): Promise<void> {
    this.#link.stop();
    return Promise.resolve();
  }

  /** Sets the expiries of counters whose replies were lost. */
  #payOwed(deadlineMs: number): void {
    const owed = this.#expiries.takeOwed();
    void this.#link.send(owed, deadlineMs).then(({ kind }) => {
      if (kind === "unavailable") this.#expiries.oweAgain(owed);
    });
  }

  #answer(outcome: KvstoreOutcome): CounterAnswer {
    if (outcome.kind !== "refused") return outcome;
    const refused = { ...outcome, kind: "unavailable" } as const;
    const { address, typeSetting = "KVSTORE_TYPE" } = this.#options;
    if (address.kind === "cluster" || !isOfCluster(outcome.reason)) {
      return refused;
    }
    const reason =
      `the server is a node of a cluster: set ${typeSetting}=cluster`;
    this.#outages.refused(reason);
    return { ...refused, reason: `${outcome.reason}; ${reason}` };
  }
}

/** How a link to servers is made. */
interface OpenRedisLinkOptions extends Omit<RedisSentinelPoolOptions, "group"> {
  /** The servers. */
  readonly address: RedisTarget;
  /** Begin of the names of counters that probes write in a cluster. */
  readonly probePrefix: string;
}

/** Makes a link that is not connected yet. */
function openRedisLink(options: OpenRedisLinkOptions): RedisLink {
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
