/**
 * The task that a path names.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { taskNumber } from "../../store/task_id.ts";
import { type CallContext, tenantOf } from "../../http/call.ts";
import { etagOf } from "../../http/etag.ts";
import type { Answer } from "../../http/answer.ts";
import { answerOfChange, answerOfRead } from "../../http/conditions.ts";
import { described } from "../../../shared/schema/annotated.ts";
import type { Shape } from "../../../shared/schema/schema.ts";
import { text } from "../../../shared/schema/text.ts";

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
