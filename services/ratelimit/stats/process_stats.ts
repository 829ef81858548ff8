/**
 * Statistics of the process itself.
 *
 * @module
 */

import { cpuUsage, memoryUsage } from "node:process";
import { type Clock, steadyClock, type Timer } from "../../shared/clock.ts";
import type { Part } from "../../shared/stopper.ts";
import type { Stats } from "./stats.ts";

/** Milliseconds between two updates of the figures and of the lag. */
const LOOK_EVERY_MS = 500;

/** Memory and processor time of the process. */
interface ProcessFigures {
  /** Bytes of memory that the system has given it. */
  readonly residentBytes: number;
  /** Bytes of memory that JavaScript uses. */
  readonly heapBytes: number;
  /**
   * Processor time in seconds since the start, of the program and of the system
   * on its behalf.
   */
  readonly cpuSeconds: number;
  /** Start of the process, in seconds since 1970. */
  readonly startedAtSeconds: number;
}

/** Where the figures come from and where they are kept. */
interface ProcessStatsOptions {
  /** Gets the statistics `ratelimit.process.…`. */
  readonly stats: Stats;
  /** Gives the time. */
  readonly clock: Clock;
  /**
   * Reads the figures.
   *
   * @default those of this process
   */
  readonly look?: (() => ProcessFigures) | undefined;
}

/**
 * Returns a part that, from its start to its stop, keeps these statistics up to
 * date: `ratelimit.process.resident_memory_bytes`, `.heap_used_bytes`,
 * `.start_time_seconds` (gauges), `.cpu_seconds_total` (counter) and
 * `.event_loop_lag` (timer: how much later than due a timer fires, measured
 * twice a second).
 */
export function processStats(
  { stats, clock, look = lookAtProcess }: ProcessStatsOptions,
): Part {
  const gauge = (name: string) => stats.gauge(`ratelimit.process.${name}`);
  const resident = gauge("resident_memory_bytes");
  const heap = gauge("heap_used_bytes");
  const startTime = gauge("start_time_seconds");
  const cpu = stats.counter("ratelimit.process.cpu_seconds_total");
  const lag = stats.timer("ratelimit.process.event_loop_lag");
  const steady = steadyClock(clock);
  let countedSeconds = 0;
  let timer: Timer | undefined;
  const sample = (): void => {
    const figures = look();
    resident.set(figures.residentBytes);
    heap.set(figures.heapBytes);
    startTime.set(figures.startedAtSeconds);
    cpu.add(figures.cpuSeconds - countedSeconds);
    countedSeconds = figures.cpuSeconds;
  };
  const wait = (): void => {
    const setAtMs = steady.nowMs();
    timer = clock.setTimer(() => {
      lag.record(steady.nowMs() - setAtMs - LOOK_EVERY_MS);
      sample();
      wait();
    }, LOOK_EVERY_MS);
  };
  return {
    name: "process statistics",
    start() {
      sample();
      wait();
      return Promise.resolve();
    },
    stop() {
      timer?.cancel();
      timer = undefined;
      return Promise.resolve();
    },
  };
}

function lookAtProcess(): ProcessFigures {
  const { rss, heapUsed } = memoryUsage();
  const { user, system } = cpuUsage();
  return {
    residentBytes: rss,
    heapBytes: heapUsed,
    cpuSeconds: (user + system) / 1_000_000,
    startedAtSeconds: performance.timeOrigin / 1_000,
  };
}
