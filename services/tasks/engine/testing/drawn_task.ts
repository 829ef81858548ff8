/**
 * Tasks of a simulation, drawn by chance.
 *
 * @module
 */

import {
  BLANK_DEFINITION,
  type RepeatRule,
  type TaskDefinition,
} from "../../domain/task.ts";
import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { WorkerDefinition } from "../../domain/records.ts";

/** What tasks are drawn from. */
export interface DrawOptions {
  /** Decides. */
  readonly random: SeededRandom;
  /** The worker. */
  readonly worker: WorkerDefinition;
  /** The time. */
  readonly nowMs: number;
  /** Ids of tasks that there are. */
  readonly known: readonly string[];
  /** Whether no attempt may run out of time. */
  readonly isPatient: boolean;
}

/** Draws what the owner of a task decides. */
export function drawDefinition(options: DrawOptions): TaskDefinition {
  const { random, worker, nowMs, isPatient } = options;
  const timeouts: readonly Partial<Pick<TaskDefinition, "timeoutMs">>[] =
    isPatient
      ? [{}, { timeoutMs: 40_000 }]
      : [{}, {}, { timeoutMs: 5_000 }, { timeoutMs: 20_000 }];
  const key = random.chance(0.1) ? random.pick(["k1", "k2"]) : undefined;
  return {
    ...BLANK_DEFINITION,
    workerId: worker.id,
    job: random.pick(["default", "default", "a", "b"]),
    timezone: random.pick(["UTC", "Europe/Paris"]),
    repeat: random.chance(0.25) ? drawRepeat(options) : undefined,
    ...random.pick(RETRIES),
    ...random.pick(timeouts),
    expiresAtMs: random.chance(0.1)
      ? nowMs + random.below(600_000) - 60_000
      : undefined,
    dependencies: drawDependencies(options),
    onDependencyFailure: random.pick(["fail", "run", "wait"]),
    priority: random.pick([0, 0, 0, -9, 9, 3]),
    group: random.pick(["", "", "g1", "g2", "g3"]),
    key,
  };
}

/** Draws how a task repeats; never for ever, so that a run comes to rest. */
export function drawRepeat({ random, nowMs }: DrawOptions): RepeatRule {
  const untilMs = random.chance(0.2)
    ? nowMs + random.below(600_000)
    : undefined;
  return {
    ...(random.chance(0.7)
      ? { interval: random.pick(["PT1S", "PT7S", "PT1M", "PT5M"]) }
      : { cron: random.pick(["*/2 * * * *", "*/15 * * * * *", "0 0 1 1 *"]) }),
    limit: random.below(5),
    ...(untilMs === undefined ? {} : { untilMs }),
    catchUp: random.pick(["one", "one", "all", "none"]),
    catchUpWindowMs: random.pick([60_000, 3_600_000]),
    jitterMs: random.pick([0, 0, 5_000]),
    mode: random.chance(0.25) ? "spawn" : "same",
    onFailure: random.pick(["stop", "continue"]),
  };
}

/** Draws some of the tasks that there are. */
export function drawDependencies(
  { random, known }: Pick<DrawOptions, "random" | "known">,
): readonly string[] {
  if (known.length === 0 || !random.chance(0.2)) return [];
  const recent = known.slice(-20);
  const count = 1 + random.below(3);
  return [
    ...new Set(Array.from({ length: count }, () => random.pick(recent))),
  ];
}

const RETRIES: readonly Partial<Pick<TaskDefinition, "retry">>[] = [
  {},
  {},
  { retry: null },
  { retry: { limit: 2, interval: "PT5S" } },
  { retry: { limit: 4, interval: "PT1S", backoff: "exponential" } },
  { retry: { limit: 3, interval: "PT2S", backoff: "linear", for: "PT30S" } },
];
