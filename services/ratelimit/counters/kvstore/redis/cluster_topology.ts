/**
 * Finds the nodes of a Redis cluster and keeps the map of its slots up to date.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { OutageLog, redialDelayMs } from "../../server_outage.ts";
import type { StoreOutages } from "../../store_outages.ts";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import { type AskOptions, askRedis } from "./ask.ts";
import type { RedisPool } from "./pool.ts";
import { isRedisRefusal } from "./reply.ts";
import { readSlots, type SlotMap, SLOTS_COMMAND } from "./slot_map.ts";

/** How {@linkcode ClusterNodes} are made. */
interface ClusterNodesOptions {
  /** Makes the connection pool of a node; the pool does not dial yet. */
  readonly makePool: (address: RedisAddress) => RedisPool;
  /** Longest time that a call takes, in milliseconds. */
  readonly timeoutMs: number;
  /** Gives the time. */
  readonly clock: Clock;
  /** Told when a node that is out has no slots left. */
  readonly outages: StoreOutages;
}

interface UsedNode {
  readonly pool: RedisPool;
  usedMs: number;
}

/**
 * Milliseconds that a node without slots is kept after its last call has ended.
 */
const IDLE_MS = 5_000;

/**
 * Connection pools of the nodes by address; a pool is made when first needed.
 */
export class ClusterNodes {
  readonly #options: ClusterNodesOptions;
  readonly #nodes = new Map<string, UsedNode>();
  #isStopped = false;

  /** Starts without nodes. */
  constructor(options: ClusterNodesOptions) {
    this.#options = options;
  }

  /** True while at least one node is up. */
  get isSomeUp(): boolean {
    return [...this.#nodes.values()].some(({ pool }) => pool.isUp);
  }

  /** True while the node at `address` is known and up. */
  isUp(address: RedisAddress): boolean {
    return this.#nodes.get(formatRedisAddress(address))?.pool.isUp ?? false;
  }

  /** Returns the pool of the node at `address`; dials it when it is new. */
  get(address: RedisAddress): RedisPool {
    const name = formatRedisAddress(address);
    const usedMs = this.#options.clock.nowMs();
    const known = this.#nodes.get(name);
    if (known !== undefined) {
      known.usedMs = usedMs;
      return known.pool;
    }
    const pool = this.#options.makePool(address);
    this.#nodes.set(name, { pool, usedMs });
    if (!this.#isStopped) pool.start();
    return pool;
  }

  /** Dials `masters`, and closes other nodes that are out or have no calls. */
  keep(masters: readonly RedisAddress[]): void {
    for (const address of masters) this.get(address);
    const { clock, timeoutMs, outages } = this.#options;
    const names = new Set(masters.map(formatRedisAddress));
    const idleSinceMs = clock.nowMs() - timeoutMs - IDLE_MS;
    for (const [name, { pool, usedMs }] of this.#nodes) {
      const isInUse = usedMs > idleSinceMs && pool.outage === undefined;
      if (names.has(name) || isInUse) continue;
      this.#nodes.delete(name);
      pool.stop();
      outages.end(name);
    }
  }

  /** Has all nodes probed that may serve no longer, or may serve again. */
  suspect(isTrouble: boolean): void {
    for (const { pool } of this.#nodes.values()) pool.suspect(isTrouble);
  }

  /** Closes all nodes; none is dialled again. */
  stop(): void {
    this.#isStopped = true;
    for (const { pool } of this.#nodes.values()) pool.stop();
    this.#nodes.clear();
  }
}

/** How a {@linkcode ClusterTopology} is made. */
interface ClusterTopologyOptions
  extends Omit<AskOptions, "address" | "signal"> {
  /** Nodes to ask, beside the masters in the map. */
  readonly seeds: readonly RedisAddress[];
  /** Name of the cluster in log lines. */
  readonly name: string;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Gets a line when the cluster gets other masters. */
  readonly logger: Logger;
  /** Told when no node tells the map. */
  readonly outages: StoreOutages;
  /**
   * True for a node that can be expected to answer; such nodes are asked first.
   */
  readonly isUp: (address: RedisAddress) => boolean;
  /**
   * Called after nodes were asked, with a reason when none of them gave a map.
   */
  readonly onRefresh: (reason?: string) => void;
}

/** Name of the map in `outages`. */
const PART = "map of slots";
/** Bound on one question, in milliseconds. */
const ASK_MS = 500;
/**
 * Longest wait in milliseconds between two refreshes while a master is out.
 */
const RETRY_MS = 500;
/** Wait in milliseconds between two refreshes while all masters are up. */
const PERIOD_MS = 15_000;

/**
 * Asks the nodes for the map of slots: at the start, after a hint that the map
 * may be wrong, repeatedly while a master is out or slots have none, and every
 * fifteen seconds otherwise. One question runs at a time, and at least 25 milliseconds pass
 * between two.
 */
export class ClusterTopology {
  readonly #options: ClusterTopologyOptions;
  readonly #aborter = new AbortController();
  readonly #unknown: OutageLog;
  #map: SlotMap | undefined;
  #known = "";
  #isStarted = false;
  #isAsking = false;
  #isFirstRound = true;
  #rounds = 0;
  #timer: Timer | undefined;
  #timerMs = Infinity;

  /** Makes a topology that asks no node yet. */
  constructor(options: ClusterTopologyOptions) {
    this.#options = options;
    this.#unknown = new OutageLog(
      options.logger,
      `no node of ${options.name} tells its slots`,
    );
  }

  /** The map; `undefined` until a node has given it. */
  get map(): SlotMap | undefined {
    return this.#map;
  }

  /** True from the start until nodes were asked for the first time. */
  get isFirstRound(): boolean {
    return this.#isStarted && this.#isFirstRound;
  }

  /** Begins to ask; cannot be started again after `stop`. */
  start(): void {
    if (this.#isStarted || this.#aborter.signal.aborted) return;
    this.#isStarted = true;
    this.#ask();
  }

  /** Stops asking. */
  stop(): void {
    this.#aborter.abort();
    this.#isFirstRound = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Asks soon, since the map may be wrong. */
  refresh(): void {
    if (!this.#isStarted || this.#isAsking) return;
    this.#schedule(this.#retryDelayMs());
  }

  /** Notes which node serves a slot, and asks for the whole map soon. */
  move(slot: number, address: RedisAddress): void {
    this.#map = this.#map?.withMove(slot, address);
    this.refresh();
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.#aborter.signal.aborted) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerMs = Infinity;
    this.#isAsking = true;
    this.#rounds++;
    const reason = await this.#askNodes();
    this.#isAsking = false;
    if (this.#aborter.signal.aborted) return;
    this.#isFirstRound = false;
    if (reason === undefined) this.#noteMasters();
    else this.#noteFailure(reason);
    this.#options.onRefresh(reason);
    if (this.#isSettled()) this.#rounds = 0;
    this.#schedule(this.#rounds === 0 ? PERIOD_MS : this.#retryDelayMs());
  }

  /** Takes the first map that a node gives; returns why no node gave one. */
  async #askNodes(): Promise<string | undefined> {
    const { timeoutMs } = this.#options;
    const reasons: string[] = [];
    for (const address of this.#candidates()) {
      if (this.#aborter.signal.aborted) break;
      const outcome = await askRedis({
        ...this.#options,
        address,
        timeoutMs: Math.min(timeoutMs, ASK_MS),
        signal: this.#aborter.signal,
      }, [SLOTS_COMMAND]);
      const place = formatRedisAddress(address);
      if (outcome.kind === "unavailable") {
        reasons.push(`"${place}": ${outcome.reason}`);
        continue;
      }
      const reply = outcome.replies[0] ?? null;
      const map = readSlots(reply, address);
      if (map !== undefined && map.masters.length > 0) {
        this.#map = map;
        return undefined;
      }
      const problem = isRedisRefusal(reply)
        ? reply.refusal
        : "it knows no node that serves slots";
      reasons.push(`"${place}": ${problem}`);
    }
    return reasons.join("; ") || "stopped";
  }

  #candidates(): readonly RedisAddress[] {
    const { seeds, isUp } = this.#options;
    const byName = new Map<string, RedisAddress>();
    for (const address of [...this.#map?.masters ?? [], ...seeds]) {
      byName.set(formatRedisAddress(address), address);
    }
    const all = [...byName.values()];
    return [
      ...all.filter((address) => isUp(address)),
      ...all.filter((address) => !isUp(address)),
    ];
  }

  #isSettled(): boolean {
    const { isUp } = this.#options;
    const map = this.#map;
    return map !== undefined && map.isWhole && map.masters.every(isUp);
  }

  /** Without a map no call can be sent; with an old one, calls go on. */
  #noteFailure(reason: string): void {
    if (this.#map !== undefined) return this.#unknown.note(reason);
    this.#options.outages.begin(PART, `no map of slots: ${reason}`);
  }

  #noteMasters(): void {
    this.#unknown.end();
    this.#options.outages.end(PART);
    const masters = this.#map?.masters ?? [];
    const known = masters.map(formatRedisAddress).sort().join(", ");
    if (known === this.#known) return;
    this.#known = known;
    const { name, logger } = this.#options;
    logger.info(`nodes of ${name}`, { masters: known });
  }

  #retryDelayMs(): number {
    const rounds = Math.max(1, this.#rounds);
    return Math.min(redialDelayMs(rounds, this.#options.random), RETRY_MS);
  }

  /** Asks after `delayMs`, unless an earlier time is set already. */
  #schedule(delayMs: number): void {
    const { clock } = this.#options;
    const timerMs = clock.nowMs() + delayMs;
    if (timerMs >= this.#timerMs || this.#aborter.signal.aborted) return;
    this.#timer?.cancel();
    this.#timerMs = timerMs;
    this.#timer = clock.setTimer(() => this.#ask(), delayMs);
  }
}
