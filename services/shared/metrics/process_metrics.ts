/**
 * Metrics of the process, under the names that Prometheus's own libraries use:
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
 *
 * @module
 */

import { cpuUsage, memoryUsage } from "node:process";
import { type Clock, steadyClock, type Timer } from "../clock.ts";
import type { Part } from "../stopper.ts";
import type { MetricRegistry, Reading } from "./registry.ts";

/** How often the lag of the event loop is measured. */
const LOOK_EVERY_MS = 250;

/** Bounds of lateness in seconds. */
const LAG_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/**
 * Adds memory, processor time, start and the lag of the event loop to the
 * families of a service. The lag is measured from the start of the part that is
 * returned to its end: four times a second, how much later than it should a
 * timer fires.
 */
export function addProcessMetrics(
  registry: MetricRegistry,
  clock: Clock,
): Part {
  const startedAtS = performance.timeOrigin / 1_000;
  const families = [
    {
      kind: "gauge",
      name: "process_start_time_seconds",
      help: "When the process started, in seconds since the epoch.",
      value: () => startedAtS,
    },
    {
      kind: "gauge",
      name: "process_resident_memory_bytes",
      help: "Memory that the process has.",
      value: () => memoryUsage().rss,
    },
    {
      kind: "counter",
      name: "process_cpu_seconds_total",
      help: "Processor time that the process has used.",
      value: () => {
        const { user, system } = cpuUsage();
        return (user + system) / 1_000_000;
      },
    },
  ] as const;
  for (const { kind, name, help, value } of families) {
    registry.read({
      kind,
      name,
      help,
      labels: [],
      read: () => [only(value())],
    });
  }
  const lag = registry.histogram({
    name: "process_event_loop_lag_seconds",
    help:
      "How much later than due timers fired, looked at four times a second.",
    labels: [],
    bounds: LAG_BOUNDS,
  }).of({});
  return lagWatch(clock, (lateMs) => lag.note(lateMs / 1_000));
}

function only(value: number): Reading<never> {
  return { labels: {}, value };
}

function lagWatch(clock: Clock, onLooked: (lateMs: number) => void): Part {
  const steady = steadyClock(clock);
  let timer: Timer | undefined;
  const look = (): void => {
    const setAtMs = steady.nowMs();
    timer = clock.setTimer(() => {
      onLooked(Math.max(0, steady.nowMs() - setAtMs - LOOK_EVERY_MS));
      look();
    }, LOOK_EVERY_MS);
  };
  return {
    name: "event loop watch",
    start() {
      look();
      return Promise.resolve();
    },
    stop() {
      timer?.cancel();
      return Promise.resolve();
    },
  };
}
