/**
 * The route that reads a task's history.
 *
 * @module
 */

import { optional, withDefault } from "../../../shared/schema/object.ts";
import { type QuerySchema, querySchema } from "../../../shared/schema/query.ts";
import { commaList, integerText } from "../../../shared/schema/query_values.ts";
import {
  type JsonObject,
  type JsonSchema,
  named,
  said,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import { choice } from "../../../shared/schema/values.ts";
import { seesPayloads } from "../../access/caller.ts";
import {
  HISTORY_TYPES,
  type HistoryRecord,
  parseDraft,
} from "../../domain/history.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import {
  ACTOR,
  COUNT,
  TASK_ERROR,
  TEXT,
  TEXT_OR_NULL,
  TIME,
} from "../../domain/value_schemas.ts";
import { utcTime } from "../../domain/instant.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, getCaller } from "../../http/call.ts";
import {
  answerPage,
  formatFilter,
  PAGE_FIELDS,
  PAGE_WORDS,
} from "../../http/page.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { findTask, noTask, TASK_PARAMS, viewError } from "./task_view.ts";
import { ORDER, READS_TASKS, type TasksParts } from "./task_schema.ts";

/** The answer to a push call. */
export const HTTP: JsonSchema = {
  ...shownObject({
    status: said("The HTTP status code", { type: "integer" }),
    duration_ms: said("Milliseconds from the call to its answer", COUNT),
  }),
  description: "The answer to a push call",
};

/** The schema of what folding a history dropped. */
const FOLDED: JsonSchema = {
  ...shownObject({
    count: said("The number of dropped records", COUNT),
    hash: said("That of the last one which is gone"),
  }),
  description: "Which records were dropped: how many up to now, and the hash " +
    "of the last. That is the `prev` of the first one that is " + "left",
};

const RECORD_EXAMPLE: JsonObject = {
  seq: 1,
  at: "2027-01-15T08:00:00.000Z",
  type: "created",
  status: "waiting",
  run: 0,
  actor: { type: "key", id: "dk_0123456789abcdef" },
  prev: "",
  hash: "mvW5Ct5z4OWUS2WpzH0hD6AJu1xQ1sUTGUhDZX29bZc",
};

const RECORD: Shape = named(
  "HistoryRecord",
  shape(shownObject({
    seq: said("Its place in the history, 1 for the first record", {
      type: "integer",
      minimum: 1,
    }),
    at: said("When it happened", TIME),
    type: said("What happened", { enum: HISTORY_TYPES }),
    status: { enum: TASK_STATUSES, description: "The status after it" },
    run: said("The number of the run it belongs to, 0 for the first", COUNT),
    attempt: { ...TEXT, description: "The attempt it belongs to" },
    actor: said("The user, key or worker that caused it", ACTOR),
    instance: { ...TEXT, description: "The worker's name for its process" },
    http: HTTP,
    error: said("The failure of an attempt", TASK_ERROR),
    result: { ...TEXT, description: "The beginning of the result's JSON" },
    progress: {
      description: "The progress that the worker reported; not all that was " +
        "said is in the history",
    },
    changes: {
      type: "array",
      description: "The changes of an `updated`",
      items: shownObject({
        field: said("Its name in the API"),
        from: { description: "The value before; absent when it had none" },
        to: { description: "The value after; absent when it has none" },
      }, ["from", "to"]),
    },
    message: said("A log line, a reason, or what was put right, for people"),
    amount: {
      type: "number",
      description: "Slots that were missed, milliseconds of lag",
    },
    next_date: said("When the task is due next, where this changed it", TIME),
    folded: FOLDED,
    prev: { ...TEXT, description: "The hash of the record before" },
    hash: said("SHA-256 of this record and the one before, in base64url"),
  }, [
    "attempt",
    "instance",
    "http",
    "error",
    "result",
    "progress",
    "changes",
    "message",
    "amount",
    "next_date",
    "folded",
  ])),
  "One thing that happened to a task; records never change",
);

/** The schema of a page of history records, or of things made from them. */
export function buildPageShape(
  name: string,
  { item, example }: { readonly item: Shape; readonly example: JsonObject },
): Shape {
  return named(
    name,
    shape(
      shownObject({
        data: said(PAGE_WORDS.data, { type: "array", items: item.json }),
        next: said(PAGE_WORDS.next, TEXT_OR_NULL),
      }),
      [item],
    ),
    {
      description: PAGE_WORDS.page,
      examples: [{ data: [example], next: null }],
    },
  );
}

const HISTORY_QUERY = querySchema({
  type: optional(commaList(choice(HISTORY_TYPES)), "Types of records"),
  run: optional(integerText({ minimum: 0 }), "The run, 0 for the first"),
  order: withDefault(ORDER, "asc"),
  ...PAGE_FIELDS,
});

type HistoryCall = Call<
  typeof HISTORY_QUERY extends QuerySchema<infer Input> ? Input : never,
  unknown
>;

/** Makes the route that reads a history. */
export function taskHistoryRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/tasks/:id/history",
    operationId: "getTaskHistory",
    summary: "Read a task's history",
    description: "Records never change, the oldest come first, and each " +
      "holds the hash of the one before. The oldest of more than the plan's " +
      "`history_per_task` are dropped; a record `folded` tells which.",
    params: TASK_PARAMS,
    query: HISTORY_QUERY,
    answers: {
      200: {
        description: "A page of it",
        shape: buildPageShape("HistoryList", {
          item: RECORD,
          example: RECORD_EXAMPLE,
        }),
      },
    },
    problems: ["bad_cursor"],
    handle: (call) => readHistory(parts, call),
  });
}

async function readHistory(
  { engine, cursors }: TasksParts,
  call: HistoryCall,
): Promise<Answer> {
  const { query } = call;
  const { type: types, run, order, limit } = query;
  const payloads = seesPayloads(getCaller(call));
  const task = await findTask(call, engine.parts);
  if (task === undefined) return noTask();
  const { tenantId, id: taskId } = task;
  return await answerPage(call, {
    cursors,
    tenantId,
    filter: formatFilter({
      list: "history",
      task: taskId,
      types: types ?? null,
      run: run ?? null,
      order,
    }),
    query,
    url: `${call.baseUrl}/v1/tasks/${taskId}/history`,
    async read(position) {
      const { records, nextAfterSeq } = await engine.parts.store.history({
        tenantId,
        taskId,
        types,
        run,
        order,
        limit,
        afterSeq: typeof position === "number" ? position : undefined,
      });
      const data = records.map((record) => viewRecord(record, payloads));
      return { data, next: nextAfterSeq };
    },
  });
}

/**
 * Returns a record as the API shows it; fields without a value are absent.
 *
 * @param payloads whether results, progress and values of data are shown
 */
function viewRecord(
  record: HistoryRecord,
  payloads: boolean,
): Readonly<Record<string, unknown>> {
  const draft = parseDraft(record);
  const { http, error, resultPreview, progressJson, changes, nextDateMs } =
    draft;
  const { folded } = draft;
  return {
    seq: record.seq,
    at: utcTime(draft.atMs),
    type: draft.type,
    status: draft.status,
    run: draft.run,
    attempt: draft.attempt,
    actor: draft.actor,
    instance: draft.instance,
    http: http && { status: http.status, duration_ms: http.durationMs },
    error: error && viewError(error),
    result: payloads ? resultPreview : undefined,
    progress: payloads && progressJson !== undefined
      ? JSON.parse(progressJson)
      : undefined,
    changes: changes?.map(({ field, from, to }) =>
      field === "data" && !payloads ? { field } : { field, from, to }
    ),
    message: draft.message,
    amount: draft.amount,
    next_date: nextDateMs === undefined ? undefined : utcTime(nextDateMs),
    folded: folded && { count: folded.count, hash: folded.hash },
    prev: record.prev,
    hash: record.hash,
  };
}
