/**
 * The route that explains why a task is not running.
 *
 * @module
 */

import { TIME_OR_NULL } from "../../domain/value_schemas.ts";
import { type Task, TASK_STATUSES } from "../../domain/task.ts";
import {
  named,
  said,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import { judgeDependencies } from "../../domain/dependency_rules.ts";
import {
  explain,
  type ExplainFacts,
  type Hindrance,
} from "../../domain/explain.ts";
import { excludedIn } from "../../domain/preview.ts";
import { computePlacement } from "../../domain/placement.ts";
import type { PlanLimits } from "../../domain/records.ts";
import type { Engine } from "../../engine/engine.ts";
import { json } from "../../http/answer.ts";
import { getLimits } from "../../http/call.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { optionalTime } from "../../domain/instant.ts";
import { isSharing, nextStartMs, sharedRunning } from "../../engine/rates.ts";
import { findTask, noTask, TASK_PARAMS } from "./task_view.ts";
import { READS_TASKS, type TasksParts } from "./task_schema.ts";

/** The schema of an explanation. */
const EXPLANATION: Shape = named(
  "TaskExplanation",
  shape(shownObject({
    task: { type: "string", description: "The id of the task" },
    status: said("That of the task now", { enum: TASK_STATUSES }),
    hindrances: {
      type: "array",
      description: "The reasons for waiting, or none",
      items: shownObject({
        code: {
          type: "string",
          description: "A word for programs, such as `not_due`, " +
            "`excluded`, `worker_paused`, `blocked`, `rate_limit`, `next_in_line`",
        },
        message: said("The same for people"),
        until: {
          ...TIME_OR_NULL,
          description: "When it ends by itself",
        },
      }),
    },
    earliest: {
      ...TIME_OR_NULL,
      description: "When all of it has ended by itself, if it does",
    },
  })),
  {
    description: "Why a task is or is not run now",
    examples: [{
      task: "tsk_37efnd0000749gadqcbm8b2hrm",
      status: "scheduled",
      hindrances: [{
        code: "not_due",
        message: "It is not due for 3 h 2 min",
        until: "2027-01-15T11:02:00.000Z",
      }],
      earliest: "2027-01-15T11:02:00.000Z",
    }],
  },
);

/** Up to how many tasks ahead of a task are counted. */
const MAX_AHEAD = 200;

/** Makes the route that explains a task. */
export function explainTaskRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/tasks/:id/explain",
    operationId: "explainTask",
    summary: "Explain why a task is not running",
    description: "All that holds it back now, the weightiest first, and when " +
      "that ends if it does so by itself.",
    params: TASK_PARAMS,
    answers: {
      200: { description: "What holds it back", shape: EXPLANATION },
    },
    problems: [],
    handle: async (call) => {
      const task = await findTask(call, engine.parts);
      if (task === undefined) return noTask();
      const hindrances = explain(
        task,
        await loadFacts(task, { engine, limits: getLimits(call) }),
      );
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

async function loadFacts(
  task: Task,
  { engine, limits }: { readonly engine: Engine; readonly limits: PlanLimits },
): Promise<ExplainFacts> {
  const { store, workers, clock } = engine.parts;
  const { tenantId, workerId, dependencies } = task;
  const [worker, running, states] = await Promise.all([
    workers.get(tenantId, workerId),
    store.running(tenantId, workerId),
    store.tasks(tenantId, dependencies),
  ]);
  const isShared = worker !== undefined && isSharing(worker);
  const { schedule } = await engine.changes.rules(task);
  const seen = engine.liveness.of({ tenantId, workerId });
  const ahead = await countAhead(task, engine);
  return {
    nowMs: clock.nowMs(),
    worker,
    workerSeenAtMs: seen?.lastSeenAtMs,
    jobSeenAtMs: seen?.jobSeenAtMs(task.job),
    running: isShared
      ? {
        ...running,
        groups: await sharedRunning(tenantId, {
          view: engine.parts.store,
          workers: engine.parts.workers,
        }),
      }
      : running,
    nextStartMs: worker && await nextStartMs(worker, task.group, store),
    excluded: schedule && task.dateMs > clock.nowMs()
      ? excludedIn(
        schedule,
        { afterMs: clock.nowMs(), throughMs: task.slotMs - 1 },
        { anchorMs: task.firstDateMs, timezone: task.timezone },
      )
      : [],
    dependencies: judgeDependencies(task, states),
    dependencyStates: states,
    planConcurrency: limits.concurrency ?? undefined,
    ahead,
  };
}

/** How many tasks of the worker come before this one. */
async function countAhead(
  task: Task,
  { parts: { store } }: Engine,
): Promise<ExplainFacts["ahead"]> {
  if (computePlacement(task).rank === undefined) return undefined;
  const { tenantId, workerId } = task;
  const limit = MAX_AHEAD;
  const candidates = await store.candidates({ tenantId, workerId, limit });
  const index = candidates.findIndex(({ id }) => id === task.id);
  if (index !== -1) return { count: index, isExact: true };
  return { count: candidates.length, isExact: candidates.length < MAX_AHEAD };
}

/** When the last hindrance ends; undefined when one does not end by itself. */
function earliestMs(hindrances: readonly Hindrance[]): number | undefined {
  let latestMs = 0;
  for (const { untilMs } of hindrances) {
    if (untilMs === undefined) return undefined;
    latestMs = Math.max(latestMs, untilMs);
  }
  return latestMs;
}
