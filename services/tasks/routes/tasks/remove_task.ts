/**
 * The route that removes a task.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import type { Engine } from "../../engine/engine.ts";
import { type Answer, empty } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { noTask } from "./task_answer.ts";
import { changeCondition, findTask, TASK_PARAMS } from "./task_params.ts";
import { removeTask } from "./task_removal.ts";
import { type TasksParts, WRITES_TASKS } from "./tasks_parts.ts";

/** How often it is begun anew when the task changes meanwhile. */
const MAX_TRIES = 20;

/** Makes the route. */
export function removeTaskRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    method: "DELETE",
    path: "/v1/tasks/:id",
    hosts: "tenant",
    operationId: "deleteTask",
    summary: "Remove a task",
    description: "One that is live is canceled first. Its history goes with " +
      "it; the audit log keeps that it was removed.",
    tags: ["tasks"],
    access: WRITES_TASKS,
    params: TASK_PARAMS,
    answers: { 204: { description: "It is gone" } },
    conditions: "change",
    problems: [],
    handle: (call) => answerRemoval(engine, call),
  });
}

async function answerRemoval(
  engine: Engine,
  call: CallContext,
): Promise<Answer> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const task = await findTask(call, engine.parts);
    if (task === undefined) return noTask();
    const refusal = changeCondition(call, task);
    if (refusal !== undefined) return refusal;
    const isRemoved = await removeTask(engine, {
      task,
      actor: actorOf(callerOf(call)),
      nowMs: engine.parts.clock.nowMs(),
    });
    if (isRemoved) return empty();
  }
  return problem("overloaded", {
    detail: "Cannot remove task: it changes too fast",
    retryAfterMs: 1_000,
  });
}
