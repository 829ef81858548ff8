/**
 * The route that lists tasks, and the filter that it shares with bulk actions.
 *
 * @module
 */

import { seesPayloads } from "../../access/caller.ts";
import { MAX_LABEL_CHARS } from "../../domain/task_fields.ts";
import { JOB_NAME, METADATA_VALUE } from "../../domain/value_schemas.ts";
import { parseInstantRange } from "../../domain/instant.ts";
import {
  FINAL_STATUSES,
  type Task,
  TASK_STATUSES,
  type TaskStatus,
} from "../../domain/task.ts";
import type { TaskFilter } from "../../engine/bulk/operation.ts";
import { EmbeddedJson } from "../../engine/stored_json.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, getCaller, getTenant } from "../../http/call.ts";
import { answerPage, formatFilter, PAGE_FIELDS } from "../../http/page.ts";
import {
  invalidRequest,
  type ProblemAnswer,
  type RequestFault,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../../store/queries.ts";
import { quote } from "../../../shared/quote.ts";
import { pointerTo } from "../../../shared/schema/fault.ts";
import {
  type ObjectOf,
  optional,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  prefixed,
  type QuerySchema,
  querySchema,
} from "../../../shared/schema/query.ts";
import { booleanText, commaList } from "../../../shared/schema/query_values.ts";
import { described, type Schema } from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import {
  ORDER,
  READS_TASKS,
  TASK_FIELD_NAMES,
  TASK_LIST,
  type TasksParts,
  WORKER_REFERENCE,
} from "./task_schema.ts";
import { type TaskView, viewTask } from "./task_view.ts";

/**
 * Words that filters accept for statuses, with the statuses that each stands
 * for.
 */
const STATUS_WORDS: Readonly<Record<string, readonly TaskStatus[]>> = {
  ...Object.fromEntries(TASK_STATUSES.map((status) => [status, [status]])),
  cancel: ["canceled"],
  cancelled: ["canceled"],
  completed: ["complete"],
  active: ["waiting", "running", "retry", "done", "scheduled", "blocked"],
  final: FINAL_STATUSES,
};

/** A word for one or several statuses. */
export const STATUS_WORD: Schema<string> = choice(Object.keys(STATUS_WORDS));

/** The text of a label of a task. */
export const LABEL: Schema<string> = text({
  minLength: 1,
  maxLength: MAX_LABEL_CHARS,
});

const BY: Schema<TaskQuery["by"]> = described(
  choice(["date", "created_at", "finished_at"]),
  "The time that start and end bound",
);

const TIME = text({ minLength: 1, maxLength: 64 });

/** What conditions mean that lists and bulk actions write differently. */
export const FILTER_WORDS = {
  status: "Any of these; `active` stands for all of live tasks that are not " +
    "paused, `final` for those of tasks that have ended",
  tag: "Tags, all of which they have",
  metadata: "Named labels with their values, all of which they have",
  due: "Whether they may be taken by a worker now",
  repeats: "Whether they have a schedule",
} as const;

/** The conditions that lists and bulk actions have in the same form. */
export const FILTER_FIELDS = {
  start: optional(
    TIME,
    "From then on: YYYY, YYYY-MM, YYYY-MM-DD or RFC 3339; the whole of it",
  ),
  end: optional(TIME, "Up to then, as `start`; the whole of it is included"),
  tz: optional(TIME, "The zone of years, months and days; UTC when absent"),
  by: withDefault(BY, "date" as const),
  job: optional(JOB_NAME, "The handler within the worker"),
  group: optional(
    text({ maxLength: MAX_LABEL_CHARS }),
    "The group; empty for tasks without one",
  ),
  key: optional(LABEL, "Those that have this key, ended ones too"),
  error: optional(LABEL, "The code of the last error"),
};

/** A filter as a client sent it. */
interface FilterInput extends ObjectOf<typeof FILTER_FIELDS> {
  /** Names or ids of workers. */
  readonly worker?: readonly string[];
  /** Words for statuses. */
  readonly status?: readonly string[];
  /** Tags; a task must have all of them. */
  readonly tag?: readonly string[];
  /** Labels; a task must have all of them. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Whether the tasks may be claimed now. */
  readonly due?: boolean;
  /** Whether the tasks repeat. */
  readonly repeats?: boolean;
}

/** Options of {@linkcode readFilter}. */
interface ReadFilterOptions {
  /** The tenant whose tasks are selected. */
  readonly tenantId: string;
  /** Looks up the workers that the filter names. */
  readonly workers: EngineParts["workers"];
  /**
   * Where the filter was sent. In the query of a list, a worker that does not
   * exist has no tasks. In the body of a bulk action it is a fault, since a
   * mistyped name must not look like an action on no tasks.
   */
  readonly in: "query" | "body";
}

/** Reads a filter; a problem when it has faults. */
export async function readFilter(
  input: FilterInput,
  { tenantId, workers, in: place }: ReadFilterOptions,
): Promise<
  { readonly kind: "ok"; readonly filter: TaskFilter } | ProblemAnswer
> {
  const faults: RequestFault[] = [];
  const add = (field: string, code: string, detail: string): void => {
    faults.push(
      place === "query"
        ? { parameter: field, code, detail }
        : { pointer: pointerTo("/filter", field), code, detail },
    );
  };
  const range = parseInstantRange(input);
  if (range.kind === "invalid") {
    for (const { parameter, code, reason } of range.problems) {
      add(parameter, code, reason);
    }
  }
  const workerIds: string[] = [];
  for (const name of input.worker ?? []) {
    const worker = await workers.find(tenantId, name);
    // Tasks outlive their worker, so the id of a removed worker is valid.
    const id = worker?.id ??
      (/^wrk_[0-9a-z]{26}$/.test(name) ? name : undefined);
    if (id !== undefined) workerIds.push(id);
    else if (place === "body") {
      const quoted = quote(name, { maxChars: 64 });
      add(
        "worker",
        "unknown_worker",
        `Cannot find worker ${quoted}: no worker has this name`,
      );
    }
  }
  if (faults.length > 0 || range.kind === "invalid") {
    return invalidRequest(faults);
  }
  const { by, job, group, key, tag, metadata, due, repeats, error } = input;
  const statuses = input.status?.flatMap((word) => STATUS_WORDS[word] ?? []);
  return {
    kind: "ok",
    filter: {
      by,
      ...range.value,
      workerIds: input.worker && [...new Set(workerIds)],
      statuses: statuses && [...new Set(statuses)],
      job,
      group,
      key,
      tags: tag,
      metadata,
      isDue: due,
      repeats,
      errorCode: error,
    },
  };
}

const LIST_QUERY = querySchema({
  worker: optional(
    commaList(WORKER_REFERENCE),
    "Names or ids of workers; one that is not there has no tasks",
  ),
  status: optional(commaList(STATUS_WORD), FILTER_WORDS.status),
  ...FILTER_FIELDS,
  tag: optional(commaList(LABEL), FILTER_WORDS.tag),
  metadata: prefixed(
    "metadata.",
    described(METADATA_VALUE, FILTER_WORDS.metadata),
  ),
  due: optional(booleanText(), FILTER_WORDS.due),
  repeats: optional(booleanText(), FILTER_WORDS.repeats),
  waiting: optional(
    choice(["event", "approval"]),
    "Only those that wait for an event, or for an approval, without a worker",
  ),
  sort: withDefault(
    choice(["date", "created_at"]),
    "date",
    "The time that orders the list",
  ),
  order: withDefault(ORDER, "asc"),
  ...PAGE_FIELDS,
  count: withDefault(
    booleanText(),
    false,
    "Whether to count them, up to a bound",
  ),
  fields: optional(
    commaList(choice(TASK_FIELD_NAMES)),
    "The fields to show; the id is shown in any case",
  ),
});

type ListInput = typeof LIST_QUERY extends QuerySchema<infer Input> ? Input
  : never;

/** Makes the route that lists tasks. */
export function listTasksRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/tasks",
    operationId: "listTasks",
    summary: "List tasks",
    description: "All conditions hold together. `start` and `end` include " +
      "all of what they are written as: `start=2016&end=2017` is both years. " +
      "A page may be short, or empty, and have a `next` all the same: where " +
      "no index knows what is asked for (a `tag` of more than 5,000 tasks, " +
      "`metadata`, `group`, `job`, `error`, `repeats=false`, `due=false`, a " +
      "time that does not order the list), it ends after " +
      "20,000 tasks were looked at. The last page is the one whose " +
      "`next` is null.",
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
  const { id: tenantId } = getTenant(call);
  const { query } = call;
  const { sort, order, limit, count, fields, waiting: awaits } = query;
  const read = await readFilter(query, { tenantId, workers, in: "query" });
  if (read.kind === "problem") return read;
  const { filter } = read;
  const payloads = seesPayloads(getCaller(call));
  const shown = fields === undefined ? undefined : ["id", ...fields];
  return await answerPage(call, {
    cursors,
    tenantId,
    filter: formatFilter({ list: "tasks", ...filter, awaits, sort, order }),
    query,
    url: `${call.baseUrl}/v1/tasks`,
    async read(position) {
      const page = await store.listTasks({
        ...filter,
        tenantId,
        awaits,
        sort,
        order,
        limit,
        count,
        after: readPosition(position),
      });
      const names = await workerNames(page.tasks, engine.parts);
      // The read may have waited; the rest takes its turn like other work.
      const pause = call.pausing.pause();
      if (pause !== undefined) await pause;
      const embedded = new EmbeddedJson();
      return {
        data: page.tasks.map((task) => {
          const workerName = names.get(task.workerId) ?? task.workerId;
          const view = viewTask(task, { workerName, payloads, embedded });
          return only(view, shown);
        }),
        next: page.next && [page.next.sortMs, page.next.id],
        members: toCountFields(page),
        embedded,
      };
    },
  });
}

/** Reads the position of a cursor, which was sealed by this route's list. */
function readPosition(position: unknown): TaskPosition | undefined {
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

function toCountFields({ count }: TaskPage): Readonly<Record<string, unknown>> {
  return count === undefined
    ? {}
    : { count: count.value, count_is_exact: count.isExact };
}
