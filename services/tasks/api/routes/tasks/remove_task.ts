/**
 * The route that removes a task.
 *
 * @module
 */

import { actorOf } from "../../../access/caller.ts";
import type { Actor } from "../../../domain/actor.ts";
import type { Task } from "../../../domain/task.ts";
import { isFinal } from "../../../domain/task_status.ts";
import type { Engine } from "../../../engine/engine.ts";
import { removalOf } from "../../../engine/sealed_write.ts";
import type { Write } from "../../../store/store.ts";
import { type Answer, empty } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { noTask } from "./task_answer.ts";
import { changeCondition, findTask, TASK_PARAMS } from "./task_params.ts";
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

/** A task to be removed, as it was read. */
export interface RemovalOptions {
  /** The task. */
  readonly task: Task;
  /** Who removes it. */
  readonly actor: Actor;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Cancels a task if it is live, then removes it with a line in the audit log.
 *
 * @returns false when it changed meanwhile or is gone
 * @throws {Error} when the store fails
 */
export async function removeTask(
  { parts, changes }: Engine,
  { task, actor, nowMs }: RemovalOptions,
): Promise<boolean> {
  let last = task;
  if (!isFinal(task.status)) {
    const { tenantId, id, version } = task;
    const outcome = await changes.apply({
      tenantId,
      id,
      // What is canceled is what was looked at.
      event: (now) =>
        now.version === version
          ? { kind: "cancel", reason: "it is removed" }
          : undefined,
      actor,
      known: task,
    });
    if (outcome.kind !== "changed") return false;
    last = outcome.task;
  }
  const [result] = await parts.store.commit([{
    writes: [removalOf(last), auditOf(last, { actor, nowMs })],
  }]);
  if (result?.kind !== "ok") return false;
  changes.announce(last, undefined);
  return true;
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

function auditOf(
  task: Task,
  { actor, nowMs }: Omit<RemovalOptions, "task">,
): Write {
  const { tenantId, id, workerId, job, status, run, executions } = task;
  return {
    kind: "audit",
    tenantId,
    entry: {
      atMs: nowMs,
      action: "task.removed",
      text: JSON.stringify({
        actor,
        target: id,
        detail: { worker_id: workerId, job, status, run, executions },
      }),
    },
  };
}
