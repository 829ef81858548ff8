/**
 * The task that a path names, and answers that show one task.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { taskNumber } from "../../store/task_id.ts";
import { type CallContext, callerOf, tenantOf } from "../../http/call.ts";
import { answerOfChange, answerOfRead, etagOf } from "../../http/etag.ts";
import { type Answer, json, type JsonAnswer } from "../../http/answer.ts";
import { described, type Shape } from "../../../shared/schema/schema.ts";
import { text } from "../../../shared/schema/values.ts";
import { seesPayloads } from "../../access/caller.ts";
import { EmbeddedJson } from "../../engine/stored_json.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type TaskView, viewTask } from "./task_view.ts";
import { nextDates } from "../../domain/preview.ts";

/** The parameters of paths below `/v1/tasks/:id`. */
export const TASK_PARAMS: Readonly<Record<string, Shape>> = {
  id: described(text({ maxLength: 30 }), "The id of the task"),
};

/** The task of the path; undefined when the tenant has none of that id. */
export async function findTask(
  call: Pick<CallContext, "tenant" | "params">,
  { store }: Pick<EngineParts, "store">,
): Promise<Task | undefined> {
  const { id = "" } = call.params;
  if (taskNumber(id) === undefined) return undefined;
  return await store.task(tenantOf(call).id, id);
}

/** What keeps a request that reads from being answered with the task. */
export function readCondition(
  call: CallContext,
  task: Pick<Task, "version">,
): Answer | undefined {
  return answerOfRead(call, etagOf(task.version));
}

/** What keeps a request from changing the task. */
export function changeCondition(
  call: CallContext,
  task: Pick<Task, "version">,
): Answer | undefined {
  return answerOfChange(call, etagOf(task.version));
}

/** What an answer with a task needs to know. */
interface TaskAnswerOptions {
  /** The name of the task's worker. */
  readonly workerName: string;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /**
   * The status of the answer.
   * @default {200}
   */
  readonly status?: number | undefined;
  /**
   * Whether the answer tells where the task is.
   * @default {false}
   */
  readonly hasLocation?: boolean | undefined;
}

/** The answer that shows a task, with its version as entity tag. */
export function taskAnswer(
  call: CallContext,
  task: Task,
  options: TaskAnswerOptions,
): JsonAnswer {
  const { status = 200, hasLocation = false } = options;
  const embedded = new EmbeddedJson();
  const etag = etagOf(task.version);
  return json(singleView(call, task, { ...options, embedded }), {
    status,
    embedded,
    headers: hasLocation
      ? { etag, location: `${call.baseUrl}/v1/tasks/${task.id}` }
      : { etag },
  });
}

/**
 * A task as it is shown by itself: with its next dates as of the time the request
 * is answered at, so that an answer that is kept is the one that is given.
 */
function singleView(
  call: CallContext,
  task: Task,
  { workerName, parts, embedded }:
    & Pick<TaskAnswerOptions, "workerName" | "parts">
    & { readonly embedded: EmbeddedJson },
): TaskView {
  return viewTask(task, {
    workerName,
    payloads: seesPayloads(callerOf(call)),
    embedded,
    nextMs: nextDates(task, {
      nowMs: call.nowMs,
      cache: parts.ruleCache,
    }),
  });
}

/** The name of a task's worker; its id when that is gone. */
export async function workerNameOf(
  task: Task,
  parts: Pick<EngineParts, "workers">,
): Promise<string> {
  const worker = await parts.workers.get(task.tenantId, task.workerId);
  return worker?.name ?? task.workerId;
}

/** The problem of a task that is not there, or is another tenant's. */
export function noTask(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find task: there is none with this id",
  });
}

/** The problem of a task whose status does not allow something. */
export function wrongState(
  reason: string,
  task: Pick<Task, "status">,
): ProblemAnswer {
  return problem("wrong_state", {
    detail: reason,
    extensions: { state: task.status },
  });
}

/** The problem of one field of a request. */
export function faultProblem(
  code: "unknown_worker" | "read_only",
  { field, detail }: { readonly field: string; readonly detail: string },
): ProblemAnswer {
  const errors = [{ pointer: `/${field}`, code, detail }];
  return problem(code, { detail, errors });
}

/** How often a request is tried again when its task changes meanwhile. */
export const MAX_CHANGE_TRIES = 20;

/** The problem of a task that changed each time it was tried. */
export function changesTooFast(verb: "change" | "remove"): ProblemAnswer {
  return problem("overloaded", {
    detail: `Cannot ${verb} task: it changes too fast`,
    retryAfterMs: 1_000,
  });
}
