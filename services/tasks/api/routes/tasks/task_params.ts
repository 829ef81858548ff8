/**
 * The task that a path names.
 *
 * @module
 */

import type { Task } from "../../../domain/task.ts";
import type { EngineParts } from "../../../engine/parts.ts";
import { taskNumber } from "../../../store/task_id.ts";
import { type CallContext, tenantOf } from "../../http/call.ts";
import {
  checkChange,
  checkRead,
  type ConditionOutcome,
  etagOf,
} from "../../http/etag.ts";
import { type Answer, empty } from "../../http/answer.ts";
import { problem } from "../../http/problem_answer.ts";
import { described } from "../../schema/annotated.ts";
import type { Shape } from "../../schema/schema.ts";
import { text } from "../../schema/text.ts";

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
  const etag = etagOf(task.version);
  return answerTo(
    checkRead({
      ifMatch: call.header("if-match"),
      ifNoneMatch: call.header("if-none-match"),
    }, etag),
    etag,
  );
}

/** What keeps a request from changing the task. */
export function changeCondition(
  call: CallContext,
  task: Pick<Task, "version">,
): Answer | undefined {
  const etag = etagOf(task.version);
  return answerTo(
    checkChange({
      ifMatch: call.header("if-match"),
      ifNoneMatch: call.header("if-none-match"),
    }, etag),
    etag,
  );
}

function answerTo(
  outcome: ConditionOutcome,
  etag: string,
): Answer | undefined {
  switch (outcome.kind) {
    case "ok":
      return undefined;
    case "not_modified":
      return empty({ status: 304, headers: { etag } });
    case "failed":
      return problem("precondition_failed", {
        detail: "Cannot go on: the task has another version than the request " +
          "says",
      });
    case "malformed":
      return problem("bad_header", {
        detail: `Cannot read header "${outcome.header}": it is no list of ` +
          "entity tags",
        extensions: { header: outcome.header },
      });
  }
}
