/**
 * Answers that show one task.
 *
 * @module
 */

import { seesPayloads } from "../../access/caller.ts";
import type { Task } from "../../domain/task.ts";
import { EmbeddedJson } from "../../engine/embedded_json.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { json, type JsonAnswer } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import { etagOf } from "../../http/etag.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type TaskView, viewTask } from "./task_view.ts";
import { nextDates } from "./next_dates.ts";

/** What an answer with a task needs to know. */
export interface TaskAnswerOptions {
  /** The name of the task's worker. */
  readonly workerName: string;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /**
   * The status of the answer.
   * @default {200}
   */
  readonly status?: number;
  /**
   * Whether the answer tells where the task is.
   * @default {false}
   */
  readonly hasLocation?: boolean;
}

/** The answer that shows a task, with its version as entity tag. */
export function taskAnswer(
  call: CallContext,
  task: Task,
  options: TaskAnswerOptions,
): JsonAnswer {
  const { status = 200, hasLocation = false } = options;
  const embedded = new EmbeddedJson();
  return json(singleView(call, task, { ...options, embedded }), {
    status,
    embedded,
    headers: {
      etag: etagOf(task.version),
      ...(hasLocation
        ? { location: `${call.baseUrl}/v1/tasks/${task.id}` }
        : {}),
    },
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
