/**
 * The database's time as a clock of an instance, so that instances on machines
 * whose clocks differ agree on what is due. It is never ahead of the database,
 * and late by no more than the answer's way back.
 *
 * @module
 */

import { type Clock, steadyMs, type Timer } from "../clock.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import { Periodic } from "../periodic.ts";
import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import {
  IDENTITY_COLUMNS,
  LEAST_IDENTITY_COLUMNS,
  readIdentity,
  type ServerWatch,
} from "./server_watch.ts";
import type { Runner } from "./session.ts";

/** One look at the database's time. */
interface TimeSample {
  /** When it was asked for, by the own monotonic clock. */
  readonly sentMs: number;
  /** When the answer came, by the same. */
  readonly receivedMs: number;
  /** What the answer was. */
  readonly databaseMs: number;
}

/** How long a sample counts: clocks drift by a millisecond meanwhile. */
const SAMPLE_MS = 30_000;

/**
 * Finds by how much the database's time is ahead of a monotonic clock. A sample
 * gives two bounds: when its answer came, the database's time was at least what
 * it says; when it was asked for, at most that.
 */
export class TimeOffset {
  #samples: readonly TimeSample[] = [];
  #offsetMs: number | undefined;

  /**
   * The largest offset that is certain, in milliseconds; undefined without a
   * sample.
   */
  get offsetMs(): number | undefined {
    return this.#offsetMs;
  }

  /** Takes a sample, which comes after all others. */
  add(sample: TimeSample): void {
    const mostMs = sample.databaseMs - sample.sentMs;
    // An earlier sample that promises more is of before a step backwards.
    const still = this.#samples.filter((earlier) =>
      leastOffsetMs(earlier) <= mostMs &&
      sample.receivedMs - earlier.receivedMs < SAMPLE_MS
    );
    this.#samples = [...still, sample];
    this.#offsetMs = Math.max(...this.#samples.map(leastOffsetMs));
  }
}

function leastOffsetMs({ databaseMs, receivedMs }: TimeSample): number {
  return databaseMs - receivedMs;
}

/** Options of {@linkcode StoreTime}. */
interface StoreTimeOptions {
  /** Asks the database. */
  readonly runner: Runner;
  /** The own clock, which sets the timers and measures durations. */
  readonly clock: Clock;
  /** Is told which server answers, each time. */
  readonly watch: ServerWatch;
  /** Hears when the database does not answer. */
  readonly logger: Logger;
  /** How often it is asked, in milliseconds. @default {1000} */
  readonly intervalMs?: number;
}

/**
 * The clock of a database. While the database does not answer, its time goes on
 * as the own clock does.
 */
export class StoreTime implements Clock {
  readonly #options: StoreTimeOptions;
  readonly #offset = new TimeOffset();
  readonly #rounds: Periodic;
  #columns = IDENTITY_COLUMNS;

  /** A clock that has not been started. */
  constructor(options: StoreTimeOptions) {
    const { clock, logger, intervalMs = 1_000 } = options;
    this.#options = options;
    const log = new RateLimitedLog(logger, clock);
    this.#rounds = new Periodic({
      clock,
      intervalMs,
      run: () => this.sample(),
      onError: (error) =>
        log.warn("Cannot read the database's time", {
          reason: describeError(error),
        }),
    });
  }

  /**
   * Reads the time and goes on reading it.
   *
   * @throws {StoreFailedError} when the database does not answer
   */
  async start(): Promise<void> {
    await this.sample();
    this.#rounds.start();
  }

  /** Ends the reading. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  /**
   * The database's time in whole milliseconds since the epoch.
   *
   * @throws {StoreFailedError} when it was never read
   */
  nowMs(): number {
    const { offsetMs } = this.#offset;
    if (offsetMs === undefined) {
      throw new StoreFailedError(
        "Cannot tell the database's time: start first",
      );
    }
    return Math.floor(this.monotonicMs() + offsetMs);
  }

  /** The own clock's, which the database's time does not change. */
  monotonicMs(): number {
    return steadyMs(this.#options.clock);
  }

  /** Sets a timer of the own clock. */
  setTimer(callback: () => void, delayMs: number): Timer {
    return this.#options.clock.setTimer(callback, delayMs);
  }

  /**
   * Reads the database's time once, and who answers: behind a pooler nothing
   * else shows that another server does.
   *
   * @throws {StoreFailedError} when the database does not answer, or one that
   * must not be used
   */
  async sample(): Promise<void> {
    const { runner, watch } = this.#options;
    const sentMs = this.monotonicMs();
    let row;
    try {
      [row] = await runner.query(
        `SELECT ${this.#columns}, ` +
          "extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms",
      );
    } catch (error) {
      const isRefused = !(error instanceof StoreFailedError) &&
        this.#columns === IDENTITY_COLUMNS;
      if (!isRefused) throw error;
      this.#columns = LEAST_IDENTITY_COLUMNS;
      return await this.sample();
    }
    const receivedMs = this.monotonicMs();
    watch.see(readIdentity(row));
    this.#offset.add({
      sentMs,
      receivedMs,
      databaseMs: Number(row?.["now_ms"]),
    });
  }
}
