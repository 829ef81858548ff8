/**
 * The route that tells a task's history.
 *
 * @module
 */

import { seesPayloads } from "../../access/caller.ts";
import { HISTORY_TYPES } from "../../domain/history.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import {
  badCursor,
  type CursorScope,
  filterTextOf,
} from "../../http/cursor.ts";
import { nextPageLink } from "../../http/page_link.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { described } from "../../../shared/schema/annotated.ts";
import { choice } from "../../../shared/schema/choice.ts";
import { optional, withDefault } from "../../../shared/schema/field.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import {
  booleanText,
  commaList,
  integerText,
} from "../../../shared/schema/query_values.ts";
import { viewRecord } from "./history_view.ts";
import { HISTORY_LIST } from "./history_shape.ts";
import { CURSOR, LIMIT, ORDER } from "./list_query.ts";
import { noTask } from "./task_answer.ts";
import { findTask, TASK_PARAMS } from "./task_params.ts";
import { READS_TASKS, type TasksParts } from "./tasks_parts.ts";

const QUERY = queryOf({
  type: optional(
    described(commaList(choice(HISTORY_TYPES)), "Types of records"),
  ),
  run: optional(described(
    integerText({ minimum: 0 }),
    "The run, 0 for the first",
  )),
  order: withDefault(ORDER, "asc"),
  limit: withDefault(LIMIT, 50),
  cursor: optional(CURSOR),
  proof: withDefault(
    described(
      booleanText(),
      "Whether to show the text of each record, of which `hash` is the " +
        "SHA-256 in base64url with `prev`, a line feed, `seq` and a line " +
        "feed before it",
    ),
    false,
  ),
});

type HistoryCall = Call<NonNullable<ReturnType<typeof QUERY.read>>, unknown>;

/** Makes the route. */
export function taskHistoryRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/tasks/:id/history",
    hosts: "tenant",
    operationId: "getTaskHistory",
    summary: "Read a task's history",
    description: "Records never change, the oldest come first, and each " +
      "holds the hash of the one before. With `proof` all of it can be " +
      "checked by anybody. The oldest of more than the plan's " +
      "`history_per_task` are dropped; a record `folded` tells which.",
    tags: ["tasks"],
    access: READS_TASKS,
    params: TASK_PARAMS,
    query: QUERY,
    answers: { 200: { description: "A page of it", shape: HISTORY_LIST } },
    problems: ["bad_cursor"],
    handle: (call) => readHistory(parts, call),
  });
}

async function readHistory(
  { engine, cursors }: TasksParts,
  call: HistoryCall,
): Promise<Answer> {
  const { type: types, run, order, limit, cursor, proof } = call.query;
  const payloads = seesPayloads(callerOf(call));
  const task = await findTask(call, engine.parts);
  if (task === undefined) return noTask();
  if (proof && !payloads) {
    return problem("forbidden", {
      detail: "Cannot show proof: it holds results, which the caller may not " +
        "see",
    });
  }
  const { id: tenantId } = tenantOf(call);
  const scope: CursorScope = {
    tenantId,
    filter: filterTextOf({
      list: "history",
      task: task.id,
      types: types ?? null,
      run: run ?? null,
      order,
    }),
  };
  const opened = cursor === undefined ? undefined : cursors.open(scope, cursor);
  const position = opened?.kind === "ok" ? opened.position : undefined;
  const afterSeq = typeof position === "number" ? position : undefined;
  if (cursor !== undefined && afterSeq === undefined) return badCursor();
  const page = await engine.parts.store.history({
    tenantId,
    taskId: task.id,
    order,
    limit,
    ...(types === undefined ? {} : { types }),
    ...(run === undefined ? {} : { run }),
    ...(afterSeq === undefined ? {} : { afterSeq }),
  });
  const next = page.nextAfterSeq === undefined
    ? undefined
    : cursors.seal(scope, page.nextAfterSeq);
  const url = `${call.baseUrl}/v1/tasks/${task.id}/history`;
  return json(
    {
      data: page.records.map((record) =>
        viewRecord(record, { payloads, isProof: proof })
      ),
      next: next ?? null,
    },
    next === undefined ? {} : {
      headers: {
        link: nextPageLink({ url, rawQuery: call.rawQuery, cursor: next }),
      },
    },
  );
}
