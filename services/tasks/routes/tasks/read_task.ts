/**
 * The route that reads a task.
 *
 * @module
 */

import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { findTask, readCondition, TASK_PARAMS } from "./task_params.ts";
import { noTask, taskAnswer, workerNameOf } from "./task_answer.ts";
import { TASK } from "./task_shape.ts";
import { READS_TASKS, type TasksParts } from "./tasks_parts.ts";

/** Makes the route. */
export function readTaskRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/tasks/:id",
    hosts: "tenant",
    operationId: "getTask",
    summary: "Read a task",
    tags: ["tasks"],
    access: READS_TASKS,
    params: TASK_PARAMS,
    answers: { 200: { description: "The task", shape: TASK } },
    conditions: "read",
    problems: [],
    handle: async (call) => {
      const task = await findTask(call, engine.parts);
      if (task === undefined) return noTask();
      return readCondition(call, task) ?? taskAnswer(call, task, {
        workerName: await workerNameOf(task, engine.parts),
        parts: engine.parts,
      });
    },
  });
}
