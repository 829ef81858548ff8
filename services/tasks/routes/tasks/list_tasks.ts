/**
 * The route that lists tasks.
 *
 * @module
 */

import { TASK_FIELD_NAMES, TASK_LIST } from "./task_schema.ts";
import { seesPayloads } from "../../access/caller.ts";
import type { Task } from "../../domain/task.ts";
import { EmbeddedJson } from "../../engine/embedded_json.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { TaskPage, TaskPosition } from "../../store/queries.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { answerPage, filterTextOf, PAGE_FIELDS } from "../../http/page.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { optional, withDefault } from "../../../shared/schema/object.ts";
import {
  prefixed,
  queryOf,
  type QuerySchema,
} from "../../../shared/schema/query.ts";
import { booleanText, commaList } from "../../../shared/schema/query_values.ts";
import { described } from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import {
  FILTER_FIELDS,
  LABEL,
  readFilter,
  STATUS_WORD,
} from "./task_filter.ts";
import { type TaskView, viewTask } from "./task_view.ts";
import { ORDER, READS_TASKS, type TasksParts } from "./tasks_parts.ts";

const LIST_QUERY = queryOf({
  worker: optional(described(
    commaList(text({ maxLength: 128 })),
    "Names or ids of workers; one that is not there has no tasks",
  )),
  status: optional(described(
    commaList(STATUS_WORD),
    "Statuses; `active` stands for all of live tasks that are not paused, " +
      "`final` for those of tasks that have ended",
  )),
  ...FILTER_FIELDS,
  tag: optional(described(commaList(LABEL), "Tags, all of which they have")),
  metadata: prefixed("metadata.", text({ maxLength: 500 })),
  due: optional(described(
    booleanText(),
    "Whether they may be taken by a worker now",
  )),
  sort: withDefault(choice(["date", "created_at"]), "date"),
  order: withDefault(ORDER, "asc"),
  ...PAGE_FIELDS,
  count: withDefault(
    described(booleanText(), "Whether to count them, up to a bound"),
    false,
  ),
  fields: optional(described(
    commaList(choice(TASK_FIELD_NAMES)),
    "The fields to show; the id is shown in any case",
  )),
});

type ListInput = typeof LIST_QUERY extends QuerySchema<infer Input> ? Input
  : never;

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
  call: Call<ListInput, unknown>,
): Promise<Answer> {
  const { store, workers } = engine.parts;
  const { id: tenantId } = tenantOf(call);
  const { query } = call;
  const { sort, order, limit, count, fields } = query;
  const read = await readFilter(query, { tenantId, workers });
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
  const payloads = seesPayloads(callerOf(call));
  const shown = fields === undefined ? undefined : ["id", ...fields];
  return await answerPage(call, {
    cursors,
    tenantId,
    filter: filterTextOf({ list: "tasks", ...filter, sort, order }),
    query,
    url: `${call.baseUrl}/v1/tasks`,
    async read(position) {
      const page = await store.listTasks({
        ...filter,
        tenantId,
        sort,
        order,
        limit,
        count,
        after: positionOf(position),
      });
      const names = await workerNames(page.tasks, engine.parts);
      const embedded = new EmbeddedJson();
      return {
        data: page.tasks.map((task) => {
          const workerName = names.get(task.workerId) ?? task.workerId;
          const view = viewTask(task, { workerName, payloads, embedded });
          return only(view, shown);
        }),
        next: page.next && [page.next.sortMs, page.next.id],
        members: countOf(page),
        embedded,
      };
    },
  });
}

/** The position in a cursor of this list, which {@linkcode listTasks} sealed. */
function positionOf(position: unknown): TaskPosition | undefined {
  if (position === undefined) return undefined;
  const [sortMs, id] = position as [number, string];
  return { sortMs, id };
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
