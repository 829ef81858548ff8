/**
 * Writes statistics as JSON lines, for operators without a statistics server.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import type { Part } from "../../shared/stopper.ts";
import type { StatsRegistry } from "./registry.ts";
import type { TimerIntervalValues } from "./stat_cell.ts";
import type { StatChange, StatsReader } from "./stats_reader.ts";
import type { StatTags } from "./statsd_line.ts";

/** Settings of {@linkcode LogSink}. */
interface LogSinkOptions {
  /** Milliseconds between two flushes. */
  readonly flushIntervalMs: number;
  /** The statistics. */
  readonly registry: StatsRegistry;
  /** Drives the flushes. */
  readonly clock: Clock;
  /** Takes one line of JSON, without a line end. */
  readonly write: (line: string) => void;
  /** Gets one warning when `write` throws, until it has worked again. */
  readonly logger: Logger;
  /**
   * Tags that are written on every line as `tags`.
   *
   * @default no tags
   */
  readonly tags?: StatTags;
}

/**
 * Writes statistics at intervals. Each flush writes a line for every statistic
 * that has changed since the last one:
 *
 * - `{"name":"…","kind":"counter","value":2,"total":7}`, value = growth,
 * - `{"name":"…","kind":"gauge","value":3}`,
 * -
 * `{"name":"…","kind":"timer","value":{"count":2,"sumMs":9,"p50Ms":4,"p99Ms":5,"maxMs":5}}`,
 *   over the interval, percentiles from a sample of at most 100 values.
 *
 * When `write` throws, the rest of the flush is kept for the next one.
 */
export class LogSink implements Part {
  /** Name in logs. */
  readonly name = "statistics";
  readonly #options: LogSinkOptions;
  readonly #tags: { readonly tags?: StatTags };
  readonly #flushes: Periodic;
  #reader: StatsReader | undefined;
  #stopped = false;
  #warned = false;

  /** Idle until `start()`. */
  constructor(options: LogSinkOptions) {
    this.#options = options;
    const { clock, flushIntervalMs: intervalMs, tags = {} } = options;
    this.#flushes = new Periodic({
      clock,
      intervalMs,
      run: () => this.flush(),
      onError: (error) => this.#failed(error),
    });
    this.#tags = Object.keys(tags).length > 0 ? { tags } : {};
  }

  /** Begins to flush. */
  start(): Promise<void> {
    if (this.#reader === undefined && !this.#stopped) {
      this.#flushes.start();
      this.#reader = this.#options.registry.openReader();
    }
    return Promise.resolve();
  }

  /** Writes what has changed now. */
  flush(): void {
    const reader = this.#reader;
    if (reader === undefined || this.#stopped) return;
    for (const change of reader.changes()) {
      if (change.kind === "gauge" && !change.changed) continue;
      try {
        this.#options.write(
          JSON.stringify({ ...toLine(change), ...this.#tags }),
        );
      } catch (error) {
        reader.giveBack([change]);
        this.#failed(error);
        return;
      }
      this.#warned = false;
    }
  }

  /** Flushes once more and ends. */
  stop(): Promise<void> {
    if (!this.#stopped) {
      this.flush();
      this.#stopped = true;
      void this.#flushes.stop();
      this.#reader?.close();
    }
    return Promise.resolve();
  }

  #failed(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    const reason = describeError(error);
    this.#options.logger.warn(`Cannot write statistics: ${reason}`);
  }
}

function toLine(change: StatChange): Record<string, unknown> {
  const { kind, name } = change;
  if (kind === "timer") return { name, kind, value: figures(change.interval) };
  if (kind === "gauge") return { name, kind, value: change.value };
  return { name, kind, value: change.increase, total: change.total };
}

function figures(interval: TimerIntervalValues): Record<string, number> {
  const sorted = interval.samplesMs.toSorted((a, b) => a - b);
  return {
    count: interval.count,
    sumMs: interval.sumMs,
    p50Ms: nearestRank(sorted, 0.5),
    p99Ms: nearestRank(sorted, 0.99),
    maxMs: interval.maxMs,
  };
}

function nearestRank(sorted: readonly number[], quantile: number): number {
  const rank = Math.ceil(quantile * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? 0;
}
