/**
 * The route that lists tasks.
 *
 * @module
 */

import { TASK_LIST } from "./task_schema.ts";
import { seesPayloads } from "../../access/caller.ts";
import type { Task } from "../../domain/task.ts";
import { EmbeddedJson } from "../../engine/embedded_json.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import {
  badCursor,
  type CursorScope,
  filterTextOf,
  nextPageLink,
} from "../../http/page.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { TaskPage, TaskPosition } from "../../store/queries.ts";
import { LIST_QUERY, type ListInput } from "./list_query.ts";
import { readFilter } from "./task_filter.ts";
import { type TaskView, viewTask } from "./task_view.ts";
import { READS_TASKS, type TasksParts } from "./tasks_parts.ts";

type ListCall = Call<ListInput, unknown>;

/** Makes the route. */
export function listTasksRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/tasks",
    hosts: "tenant",
    operationId: "listTasks",
    summary: "List tasks",
    description: "All conditions hold together. `start` and `end` include " +
      "all of what they are written as: `start=2016&end=2017` is both years. " +
      "A page may be short, or empty, and have a `next` all the same: where " +
      "no index knows what is asked for (`tag`, `metadata`, `group`, `job`, " +
      "`error`, `due=false`, a time that does not order the list), it ends " +
      "after 20,000 tasks were looked at. The last page is the one whose " +
      "`next` is null.",
    tags: ["tasks"],
    access: READS_TASKS,
    query: LIST_QUERY,
    answers: { 200: { description: "A page of tasks", shape: TASK_LIST } },
    problems: ["bad_cursor", "bad_timezone"],
    handle: (call) => listTasks(parts, call),
  });
}

async function listTasks(
  { engine, cursors }: TasksParts,
  call: ListCall,
): Promise<Answer> {
  const { store, workers } = engine.parts;
  const { id: tenantId } = tenantOf(call);
  const { sort, order, limit, cursor, count, fields } = call.query;
  const read = await readFilter(call.query, { tenantId, workers });
  if (read.kind === "invalid") {
    return invalidRequest(
      read.problems.map(({ field, code, reason }) => ({
        parameter: field,
        code,
        detail: reason,
      })),
    );
  }
  const { filter } = read;
  const scope: CursorScope = {
    tenantId,
    filter: filterTextOf({ list: "tasks", ...filter, sort, order }),
  };
  const after = cursor === undefined
    ? undefined
    : positionOf(cursors.open(scope, cursor));
  if (cursor !== undefined && after === undefined) return badCursor();
  const page = await store.listTasks({
    ...filter,
    tenantId,
    sort,
    order,
    limit,
    count,
    ...(after === undefined ? {} : { after }),
  });
  const next = page.next &&
    cursors.seal(scope, [page.next.sortMs, page.next.id]);
  const names = await workerNames(page.tasks, engine.parts);
  const payloads = seesPayloads(callerOf(call));
  const shown = fields === undefined ? undefined : ["id", ...fields];
  const embedded = new EmbeddedJson();
  const url = `${call.baseUrl}/v1/tasks`;
  return json(
    {
      data: page.tasks.map((task) => {
        const workerName = names.get(task.workerId) ?? task.workerId;
        return only(viewTask(task, { workerName, payloads, embedded }), shown);
      }),
      next: next ?? null,
      ...countOf(page),
    },
    next === undefined ? { embedded } : {
      embedded,
      headers: {
        link: nextPageLink({ url, rawQuery: call.rawQuery, cursor: next }),
      },
    },
  );
}

function positionOf(
  outcome: ReturnType<TasksParts["cursors"]["open"]>,
): TaskPosition | undefined {
  if (outcome.kind !== "ok" || !Array.isArray(outcome.position)) {
    return undefined;
  }
  const [sortMs, id] = outcome.position;
  return typeof sortMs === "number" && typeof id === "string"
    ? { sortMs, id }
    : undefined;
}

async function workerNames(
  tasks: readonly Task[],
  { workers }: Pick<EngineParts, "workers">,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const { tenantId, workerId } of tasks) {
    if (names.has(workerId)) continue;
    const worker = await workers.get(tenantId, workerId);
    names.set(workerId, worker?.name ?? workerId);
  }
  return names;
}

function only(
  view: TaskView,
  fields: readonly string[] | undefined,
): TaskView {
  if (fields === undefined) return view;
  return Object.fromEntries(
    fields.filter((field) => view[field] !== undefined)
      .map((field) => [field, view[field]]),
  );
}

function countOf({ count }: TaskPage): Readonly<Record<string, unknown>> {
  return count === undefined
    ? {}
    : { count: count.value, count_is_exact: count.isExact };
}
