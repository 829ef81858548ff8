/**
 * Calls of push workers, by outcome.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { MetricRegistry } from "../../shared/metrics/registry.ts";
import type { PushOutcome } from "../delivery/push_answer.ts";
import type { PushCaller } from "../delivery/push_call.ts";

/** Bounds of the histogram in seconds. */
const BOUNDS = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 900];

/** What makes calls. */
type Caller = Pick<PushCaller, "call">;

/** The same caller, with its calls counted in families that are added. */
export function meteredCaller(
  caller: Caller,
  { registry, clock }: {
    readonly registry: MetricRegistry;
    readonly clock: Clock;
  },
): Caller {
  const steady = steadyClock(clock);
  const calls = registry.counter({
    name: "tasks_push_calls_total",
    help: "Calls of push workers and callbacks, by outcome: the class of the " +
      "status, or why there was no answer.",
    labels: ["outcome"],
  });
  const durations = registry.histogram({
    name: "tasks_push_call_duration_seconds",
    help: "How long calls of push workers and callbacks took.",
    labels: [],
    bounds: BOUNDS,
  }).of({});
  return {
    async call(request) {
      const begunAtMs = steady.nowMs();
      const outcome = await caller.call(request);
      durations.note((steady.nowMs() - begunAtMs) / 1_000);
      calls.of({ outcome: labelOf(outcome) }).add();
      return outcome;
    },
  };
}

/** Adds how many calls are under way. */
export function addCallsInFlight(
  registry: MetricRegistry,
  inFlight: () => number,
): void {
  registry.read({
    kind: "gauge",
    name: "tasks_push_calls_in_flight",
    help: "Calls of push workers and callbacks that are under way.",
    labels: [],
    read: () => [{ labels: {}, value: inFlight() }],
  });
}

function labelOf(outcome: PushOutcome): string {
  return outcome.kind === "answered"
    ? `${Math.floor(outcome.status / 100)}xx`
    : outcome.code;
}
