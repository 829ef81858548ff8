/**
 * The route that tells why a task is not running.
 *
 * @module
 */

import { judgeDependencies } from "../../domain/transitions/service_events.ts";
import {
  explain,
  type ExplainFacts,
  type Hindrance,
} from "../../domain/explain.ts";
import { placementOf } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import type { Engine } from "../../engine/engine.ts";
import { json } from "../../http/answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { optionalTime } from "./task_view.ts";
import { EXPLANATION } from "./explanation_shape.ts";
import { noTask } from "./task_answer.ts";
import { findTask, TASK_PARAMS } from "./task_params.ts";
import { READS_TASKS, type TasksParts } from "./tasks_parts.ts";

/** Most tasks before a task that are counted. */
const MAX_AHEAD = 200;

/** Makes the route. */
export function explainTaskRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/tasks/:id/explain",
    hosts: "tenant",
    operationId: "explainTask",
    summary: "Tell why a task is not running",
    description: "All that holds it back now, the weightiest first, and when " +
      "that ends if it does so by itself.",
    tags: ["tasks"],
    access: READS_TASKS,
    params: TASK_PARAMS,
    answers: {
      200: { description: "What holds it back", shape: EXPLANATION },
    },
    problems: [],
    handle: async (call) => {
      const task = await findTask(call, engine.parts);
      if (task === undefined) return noTask();
      const hindrances = explain(task, await factsOf(task, engine));
      return json({
        task: task.id,
        status: task.status,
        hindrances: hindrances.map(({ code, message, untilMs }) => ({
          code,
          message,
          until: optionalTime(untilMs),
        })),
        earliest: task.status === "running"
          ? null
          : optionalTime(earliestMs(hindrances)),
      });
    },
  });
}

async function factsOf(task: Task, engine: Engine): Promise<ExplainFacts> {
  const { store, workers, limitsOf, clock } = engine.parts;
  const { tenantId, workerId, dependencies } = task;
  const [worker, running, states, { concurrency }] = await Promise.all([
    workers.get(tenantId, workerId),
    store.running(tenantId, workerId),
    store.tasks(tenantId, dependencies),
    limitsOf(tenantId),
  ]);
  const verdict = judgeDependencies(task, states);
  const seen = engine.liveness.of({ tenantId, workerId });
  const ahead = await aheadOf(task, engine);
  const nextSlotMs = worker === undefined
    ? undefined
    : engine.claims.nextSlotMs(worker, task.group);
  return {
    nowMs: clock.nowMs(),
    worker,
    ...(seen === undefined ? {} : { workerSeenAtMs: seen.lastSeenAtMs }),
    running,
    ...(nextSlotMs === undefined ? {} : { nextSlotMs }),
    waitsFor: verdict.kind === "waits" ? verdict.for : [],
    ...(concurrency === null ? {} : { planConcurrency: concurrency }),
    ...(ahead === undefined ? {} : { ahead }),
  };
}

/** How many tasks the worker would be given before this one. */
async function aheadOf(
  task: Task,
  { parts: { store } }: Engine,
): Promise<ExplainFacts["ahead"]> {
  if (placementOf(task).rank === undefined) return undefined;
  const { tenantId, workerId } = task;
  const [candidates = []] = await store.candidates([
    { tenantId, workerId, limit: MAX_AHEAD },
  ]);
  const index = candidates.findIndex(({ id }) => id === task.id);
  if (index !== -1) return { count: index, isExact: true };
  return { count: candidates.length, isExact: candidates.length < MAX_AHEAD };
}

/** When all that holds it back has ended, as far as it ends by itself. */
function earliestMs(hindrances: readonly Hindrance[]): number | undefined {
  let latestMs = 0;
  for (const { untilMs } of hindrances) {
    if (untilMs === undefined) return undefined;
    latestMs = Math.max(latestMs, untilMs);
  }
  return latestMs;
}
