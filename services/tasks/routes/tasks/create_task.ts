/**
 * The route that makes a task.
 *
 * @module
 */

import { actorOf, seesPayloads } from "../../access/caller.ts";
import { callbackRefusal } from "../../http/call_address.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { jsonTextOf } from "../../http/json_writer.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import {
  judgeNewTask,
  problemOfFaults,
  readSurroundings,
} from "./validate_task.ts";
import { taskAnswer } from "./task_answer.ts";
import type { Made } from "./task_creator.ts";
import { NEW_TASK_EXAMPLE } from "./task_example.ts";
import { NEW_TASK, type NewTaskInput } from "./task_schema.ts";
import { TASK } from "./task_shape.ts";
import { taskBodyBytes, type TasksParts, WRITES_TASKS } from "./tasks_parts.ts";

const HEADERS = {
  Location: "Where the task is",
  ETag: "The entity tag of its version",
};

/** Makes the route. */
export function createTaskRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/tasks",
    hosts: "tenant",
    operationId: "createTask",
    summary: "Create a task",
    description: "When a live task of the worker has the same `key`, " +
      "`on_conflict` decides; the answer is 200 with that task then.",
    tags: ["tasks"],
    access: WRITES_TASKS,
    body: requiredBody(NEW_TASK, {
      maxBytes: taskBodyBytes,
      example: NEW_TASK_EXAMPLE,
    }),
    answers: {
      201: { description: "The new task", shape: TASK, headers: HEADERS },
      200: {
        description: "The live task that has the key",
        shape: TASK,
        headers: HEADERS,
      },
    },
    isIdempotent: true,
    problems: [
      "quota_exceeded",
      "key_conflict",
      "wrong_state",
      "unknown_worker",
      "read_only",
      "bad_cron",
      "never_fires",
      "bad_timezone",
    ],
    handle: (call) => createTask(parts, call),
  });
}

async function createTask(
  parts: TasksParts,
  call: Call<unknown, NewTaskInput>,
): Promise<Answer> {
  const { engine, creator, targets } = parts;
  const { body } = call;
  const tenant = tenantOf(call);
  const surroundings = await readSurroundings(engine.parts, tenant.id, {
    workers: [body.worker],
    tasks: body.dependencies ?? [],
  });
  const dataJson = body.data === undefined
    ? undefined
    : await jsonTextOf(body.data, call.pausing);
  const faults: Fault[] = [];
  const judged = judgeNewTask(body, {
    surroundings,
    timezone: tenant.timezone,
    dataJson,
    nowMs: engine.parts.clock.nowMs(),
    targets,
    at: "",
    faults,
  });
  if (judged === undefined) {
    return problemOfFaults(faults, surroundings.limits);
  }
  const caller = callerOf(call);
  const refusal = callbackRefusal({ payloads: seesPayloads(caller) }, {
    after: judged.definition.callback,
  });
  if (refusal !== undefined) return refusal;
  const answerOf = ([made]: readonly Made[]): Answer => {
    if (made === undefined) return problem("internal");
    if (made.kind === "problem") return made;
    return taskAnswer(call, made.task, {
      workerName: made.judged.worker.name,
      parts: engine.parts,
      status: made.isNew ? 201 : 200,
      hasLocation: true,
    });
  };
  const outcome = await creator.create([judged], {
    tenantId: tenant.id,
    plan: tenant.plan,
    actor: actorOf(caller),
    surroundings,
    isAtomic: true,
    call,
    along: (made) => call.extraWrites(answerOf(made)),
  });
  return outcome.kind === "problem" ? outcome : answerOf(outcome.made);
}
