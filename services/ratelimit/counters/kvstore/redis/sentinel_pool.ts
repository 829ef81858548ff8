/**
 * A link to the master of a Redis failover group, which its sentinels name.
 *
 * @module
 */

import type { Timer } from "../../../../shared/clock.ts";
import { OutageLog, redialDelayMs } from "../../server_outage.ts";
import { StoreOutages } from "../../store_outages.ts";
import {
  formatRedisAddress,
  type RedisAddress,
  type RedisAuth,
  type RedisSentinelGroup,
} from "./address.ts";
import { findMaster, type MasterOutcome } from "./ask.ts";
import type { RedisCommand } from "./command_writer.ts";
import {
  type ListedHits,
  type RedisLink,
  sendListed,
  WaitingSends,
} from "./link.ts";
import { RedisPool, type RedisPoolOptions } from "./pool.ts";
import type { RedisOutcome } from "./reply.ts";

/** How a {@linkcode RedisSentinelPool} is made. */
export interface RedisSentinelPoolOptions
  extends
    Omit<RedisPoolOptions, "address" | "mustBeMaster" | "onChange" | "part"> {
  /** The failover group. */
  readonly group: RedisSentinelGroup;
  /**
   * Credentials for the sentinels.
   *
   * @default not signing in
   */
  readonly sentinelAuth?: RedisAuth | undefined;
}

/** Name of the master in `outages`, whichever server it is. */
const PART = "master";
/** Bound in milliseconds on one question to a sentinel or to a master. */
const ASK_MS = 500;
/**
 * Longest wait in milliseconds between two rounds of questions without a
 * master.
 */
const RETRY_MS = 500;
/**
 * Wait in milliseconds between two rounds of questions while all is well: after
 * a failover that an operator started, the old master takes writes for some
 * more seconds.
 */
const POLL_MS = 2_000;

/**
 * Connections to the server that is the master now. The sentinels are asked at
 * the start, whenever a connection is lost, repeatedly while no connection is
 * up, and every two seconds otherwise. Each connection is used only when its
 * server itself says that it is a master.
 *
 * While there is no master, calls are answered as unavailable at once; only
 * during the first round of questions do they wait, within their time limit.
 */
export class RedisSentinelPool implements RedisLink {
  readonly #options: RedisSentinelPoolOptions;
  readonly #waiting: WaitingSends;
  readonly #aborter = new AbortController();
  readonly #outages: StoreOutages;
  readonly #unknown: OutageLog;
  #sentinels: readonly RedisAddress[];
  #master = "";
  #pool: RedisPool | undefined;
  #isStarted = false;
  #isAsking = false;
  #isFirstRound = true;
  #rounds = 0;
  #timer: Timer | undefined;
  #lastReason = "not started";

  /** Makes a pool that asks no sentinel yet. */
  constructor(options: RedisSentinelPoolOptions) {
    this.#options = options;
    this.#sentinels = options.group.sentinels;
    this.#waiting = new WaitingSends(options);
    this.#outages = options.outages ?? new StoreOutages(options);
    this.#unknown = new OutageLog(
      options.logger,
      `no sentinel knows the master of ${options.name}`,
    );
  }

  /** True while at least one connection to a master is up. */
  get isUp(): boolean {
    return this.#pool?.isUp ?? false;
  }

  /** Begins to look for the master; cannot be started again after `stop`. */
  start(): void {
    if (this.#isStarted || this.#aborter.signal.aborted) return;
    this.#isStarted = true;
    this.#ask();
  }

  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void {
    this.#lastReason = "stopped";
    this.#isFirstRound = false;
    this.#aborter.abort();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pool?.stop();
    this.#waiting.failAll(this.#lastReason);
  }

  /** Sends commands to the master in one write. */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    const pool = this.#pool;
    if (pool?.isUp) return pool.send(commands, deadlineMs);
    if (this.#isStarted && this.#mayComeUp()) {
      return this.#waiting.add(commands, deadlineMs);
    }
    return Promise.resolve({ kind: "unavailable", reason: this.#lastReason });
  }

  /** Sends hits to the master. */
  hit<Answer>(hits: ListedHits<Answer>, deadlineMs: number): Promise<Answer> {
    const pool = this.#pool;
    return pool?.isUp
      ? pool.hit(hits, deadlineMs)
      : sendListed(hits, (commands) => this.send(commands, deadlineMs));
  }

  #mayComeUp(): boolean {
    return this.#isFirstRound || (this.#pool?.isFreshDial ?? false);
  }

  #ask(): void {
    if (this.#isAsking || this.#aborter.signal.aborted) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isAsking = true;
    this.#rounds++;
    const { group, timeoutMs } = this.#options;
    findMaster({
      ...this.#options,
      masterName: group.masterName,
      sentinels: this.#sentinels,
      proven: this.isUp ? this.#master : undefined,
      timeoutMs: Math.min(timeoutMs, ASK_MS),
      signal: this.#aborter.signal,
    }).then((outcome) => this.#onAnswer(outcome));
  }

  #onAnswer(outcome: MasterOutcome): void {
    this.#isAsking = false;
    if (this.#aborter.signal.aborted) return;
    if (outcome.kind === "found") {
      const { master, sentinel } = outcome;
      this.#sentinels = [
        sentinel,
        ...this.#sentinels.filter((other) => other !== sentinel),
      ];
      this.#unknown.end();
      this.#use(master);
    } else if (this.isUp) {
      this.#unknown.note(outcome.reason);
    } else {
      this.#lastReason = `no master: ${outcome.reason}`;
      this.#outages.begin(PART, this.#lastReason);
    }
    this.#isFirstRound = false;
    if (!this.isUp && !this.#mayComeUp()) {
      this.#waiting.failAll(this.#lastReason);
    }
    this.#schedule();
  }

  #use(master: RedisAddress): void {
    const address = formatRedisAddress(master);
    if (address === this.#master) return;
    const { name, logger } = this.#options;
    if (this.#master !== "") {
      logger.info(`${name} has another master`, { address });
    }
    this.#master = address;
    this.#pool?.stop();
    const pool = new RedisPool({
      ...this.#options,
      address: master,
      mustBeMaster: true,
      outages: this.#outages,
      part: PART,
      onChange: (reason) => {
        if (this.#pool === pool) this.#onPoolChange(reason);
      },
    });
    this.#pool = pool;
    pool.start();
  }

  #onPoolChange(reason: string | undefined): void {
    if (this.#aborter.signal.aborted) return;
    if (this.isUp) {
      this.#waiting.release((commands, deadlineMs) =>
        this.send(commands, deadlineMs)
      );
    }
    if (reason === undefined) {
      this.#rounds = 0;
      this.#schedule();
      return;
    }
    this.#lastReason = reason;
    if (this.#rounds === 0) {
      this.#isFirstRound = this.#pool?.outage === undefined;
      this.#ask();
    } else if (!this.isUp && !this.#mayComeUp()) {
      this.#waiting.failAll(reason);
    }
  }

  #schedule(): void {
    if (this.#isAsking) return;
    this.#timer?.cancel();
    const { clock, random } = this.#options;
    const delayMs = this.isUp
      ? POLL_MS
      : Math.min(redialDelayMs(Math.max(1, this.#rounds), random), RETRY_MS);
    this.#timer = clock.setTimer(() => this.#ask(), delayMs);
  }
}
