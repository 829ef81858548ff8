/**
 * The route that lists the attempts of a task.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, tenantOf } from "../../http/call.ts";
import {
  badCursor,
  type CursorScope,
  filterTextOf,
} from "../../http/cursor.ts";
import { nextPageLink } from "../../http/page_link.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { optional, withDefault } from "../../../shared/schema/field.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import { type AttemptStart, viewAttempt } from "./attempt_view.ts";
import { attemptPairs } from "./attempt_pairs.ts";
import { ATTEMPT_LIST } from "./history_shape.ts";
import { CURSOR, LIMIT, ORDER } from "./list_query.ts";
import { noTask } from "./task_answer.ts";
import { findTask, TASK_PARAMS } from "./task_params.ts";
import { READS_TASKS, type TasksParts } from "./tasks_parts.ts";

const QUERY = queryOf({
  order: withDefault(ORDER, "asc"),
  limit: withDefault(LIMIT, 50),
  cursor: optional(CURSOR),
});

type AttemptsCall = Call<NonNullable<ReturnType<typeof QUERY.read>>, unknown>;

/** Makes the route. */
export function taskAttemptsRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/tasks/:id/attempts",
    hosts: "tenant",
    operationId: "listTaskAttempts",
    summary: "List a task's attempts",
    tags: ["tasks"],
    access: READS_TASKS,
    params: TASK_PARAMS,
    query: QUERY,
    answers: { 200: { description: "A page of them", shape: ATTEMPT_LIST } },
    problems: ["bad_cursor"],
    handle: (call) => listAttempts(parts, call),
  });
}

async function listAttempts(
  { engine, cursors }: TasksParts,
  call: AttemptsCall,
): Promise<Answer> {
  const { order, limit, cursor } = call.query;
  const { store } = engine.parts;
  const task = await findTask(call, engine.parts);
  if (task === undefined) return noTask();
  const { id: tenantId } = tenantOf(call);
  const scope: CursorScope = {
    tenantId,
    filter: filterTextOf({ list: "attempts", task: task.id, order }),
  };
  const opened = cursor === undefined ? undefined : cursors.open(scope, cursor);
  const position = opened?.kind === "ok" ? opened.position : undefined;
  const afterSeq = typeof position === "number" ? position : undefined;
  if (cursor !== undefined && afterSeq === undefined) return badCursor();
  const page = await store.history({
    tenantId,
    taskId: task.id,
    types: ["started"],
    order,
    limit,
    ...(afterSeq === undefined ? {} : { afterSeq }),
  });
  const pairs = await attemptPairs(store, {
    tenantId,
    taskId: task.id,
    starts: page.records,
  });
  const isAll = cursor === undefined && page.nextAfterSeq === undefined;
  const running = isAll && pairs.length === 0 ? runningAttempt(task) : [];
  const next = page.nextAfterSeq === undefined
    ? undefined
    : cursors.seal(scope, page.nextAfterSeq);
  const url = `${call.baseUrl}/v1/tasks/${task.id}/attempts`;
  return json(
    {
      data: [
        ...running.map((start) => viewAttempt(start, undefined)),
        ...pairs.map(({ start, end }) => viewAttempt(start, end)),
      ],
      next: next ?? null,
    },
    next === undefined ? {} : {
      headers: {
        link: nextPageLink({ url, rawQuery: call.rawQuery, cursor: next }),
      },
    },
  );
}

/**
 * The attempt under way, of the task itself: its record is the newest of those
 * that begin attempts, so where there is none it was folded away.
 */
function runningAttempt({ attempt, run }: Task): readonly AttemptStart[] {
  if (attempt === undefined) return [];
  const { id, startedAtMs: atMs, instance } = attempt;
  return [{
    attempt: id,
    run,
    atMs,
    ...(instance === undefined ? {} : { instance }),
  }];
}
