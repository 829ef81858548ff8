/**
 * The routes that read a task's history and list its attempts, which are put
 * together of the records of their beginning and their end.
 *
 * @module
 */

import {
  HISTORY_TYPES,
  type HistoryDraft,
  type HistoryRecord,
  type HistoryType,
} from "../../domain/history.ts";
import type { HistoryPage, HistoryQuery } from "../../store/queries.ts";
import type { Store } from "../../store/store.ts";
import {
  ATTEMPT_LIST,
  type AttemptStart,
  draftOf,
  HISTORY_LIST,
  viewAttempt,
  viewRecord,
} from "./history_view.ts";
import { seesPayloads } from "../../access/caller.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf } from "../../http/call.ts";
import {
  badCursor,
  type CursorScope,
  filterTextOf,
  nextPageLink,
  PAGE_FIELDS,
} from "../../http/page.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { described, type JsonObject } from "../../../shared/schema/schema.ts";
import type { MaybePromise } from "../../../shared/settled.ts";
import { choice } from "../../../shared/schema/values.ts";
import { optional, withDefault } from "../../../shared/schema/object.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import {
  booleanText,
  commaList,
  integerText,
} from "../../../shared/schema/query_values.ts";
import { findTask, noTask, TASK_PARAMS } from "./task_answer.ts";
import { ORDER, READS_TASKS, type TasksParts } from "./tasks_parts.ts";
import type { Task } from "../../domain/task.ts";

/** Types of records that end an attempt. */
const ENDS: readonly HistoryType[] = [
  "succeeded",
  "failed",
  "timed_out",
  "lost",
  "released",
  "canceled",
];

/** Records that are read in one go. */
const PAGE = 200;

/** An attempt. */
interface AttemptPair {
  /** How it began. */
  readonly start: HistoryDraft;
  /** How it ended; absent while it runs. */
  readonly end: HistoryDraft | undefined;
}

/** Finds the ends of the attempts that these records begin. */
async function attemptPairs(
  store: Pick<Store, "history">,
  { tenantId, taskId, starts }: {
    readonly tenantId: string;
    readonly taskId: string;
    readonly starts: readonly HistoryRecord[];
  },
): Promise<readonly AttemptPair[]> {
  const drafts = starts.map(draftOf);
  const open = new Set(drafts.map(({ attempt }) => attempt));
  const ends = new Map<string | undefined, HistoryDraft>();
  let afterSeq = starts.reduce(
    (least, { seq }) => Math.min(least, seq),
    Infinity,
  );
  // An end stands behind its beginning and before the next one's.
  while (open.size > 0 && afterSeq < Infinity) {
    const page = await store.history({
      tenantId,
      taskId,
      types: ENDS,
      order: "asc",
      limit: PAGE,
      afterSeq,
    });
    for (const record of page.records) {
      const draft = draftOf(record);
      if (open.delete(draft.attempt)) ends.set(draft.attempt, draft);
    }
    afterSeq = page.nextAfterSeq ?? Infinity;
  }
  return drafts.map((start) => ({ start, end: ends.get(start.attempt) }));
}

const HISTORY_QUERY = queryOf({
  type: optional(commaList(choice(HISTORY_TYPES)), "Types of records"),
  run: optional(integerText({ minimum: 0 }), "The run, 0 for the first"),
  order: withDefault(ORDER, "asc"),
  ...PAGE_FIELDS,
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

type HistoryCall = Call<
  NonNullable<ReturnType<typeof HISTORY_QUERY.read>>,
  unknown
>;

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
      "checked by its readers. The oldest of more than the plan's " +
      "`history_per_task` are dropped; a record `folded` tells which.",
    tags: ["tasks"],
    access: READS_TASKS,
    params: TASK_PARAMS,
    query: HISTORY_QUERY,
    answers: { 200: { description: "A page of it", shape: HISTORY_LIST } },
    problems: ["bad_cursor"],
    handle: (call) => readHistory(parts, call),
  });
}

async function readHistory(
  parts: TasksParts,
  call: HistoryCall,
): Promise<Answer> {
  const { engine } = parts;
  const { type: types, run, proof } = call.query;
  const payloads = seesPayloads(callerOf(call));
  const task = await findTask(call, engine.parts);
  if (task === undefined) return noTask();
  if (proof && !payloads) {
    return problem("forbidden", {
      detail: "Cannot show proof: it holds results, which the caller may not " +
        "see",
    });
  }
  return await answerPage(parts, call, {
    task,
    filter: {
      list: "history",
      task: task.id,
      types: types ?? null,
      run: run ?? null,
    },
    types,
    run,
    view: ({ records }) =>
      records.map((record) => viewRecord(record, { payloads, isProof: proof })),
  });
}

interface PageOptions {
  readonly task: Task;
  /** What a cursor of the list is bound to, beside the order. */
  readonly filter: JsonObject & { readonly list: "history" | "attempts" };
  readonly types: HistoryQuery["types"];
  readonly run?: number | undefined;
  readonly view: (page: HistoryPage) => MaybePromise<readonly unknown[]>;
}

/** Answers with a page that is made of records of a task's history. */
async function answerPage(
  { engine, cursors }: TasksParts,
  call: AttemptsCall | HistoryCall,
  { task, filter, types, run, view }: PageOptions,
): Promise<Answer> {
  const { order, limit, cursor } = call.query;
  const { tenantId, id: taskId } = task;
  const scope: CursorScope = {
    tenantId,
    filter: filterTextOf({ ...filter, order }),
  };
  const opened = cursor === undefined ? undefined : cursors.open(scope, cursor);
  const position = opened?.kind === "ok" ? opened.position : undefined;
  const afterSeq = typeof position === "number" ? position : undefined;
  if (cursor !== undefined && afterSeq === undefined) return badCursor();
  const page = await engine.parts.store.history({
    tenantId,
    taskId,
    types,
    run,
    order,
    limit,
    afterSeq,
  });
  const data = await view(page);
  const next = page.nextAfterSeq === undefined
    ? undefined
    : cursors.seal(scope, page.nextAfterSeq);
  const url = `${call.baseUrl}/v1/tasks/${taskId}/${filter.list}`;
  return json(
    { data, next: next ?? null },
    next === undefined ? {} : {
      headers: {
        link: nextPageLink({ url, rawQuery: call.rawQuery, cursor: next }),
      },
    },
  );
}

const ATTEMPTS_QUERY = queryOf({
  order: withDefault(ORDER, "asc"),
  ...PAGE_FIELDS,
});

type AttemptsCall = Call<
  NonNullable<ReturnType<typeof ATTEMPTS_QUERY.read>>,
  unknown
>;

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
    query: ATTEMPTS_QUERY,
    answers: { 200: { description: "A page of them", shape: ATTEMPT_LIST } },
    problems: ["bad_cursor"],
    handle: (call) => listAttempts(parts, call),
  });
}

async function listAttempts(
  parts: TasksParts,
  call: AttemptsCall,
): Promise<Answer> {
  const { store } = parts.engine.parts;
  const task = await findTask(call, parts.engine.parts);
  if (task === undefined) return noTask();
  return await answerPage(parts, call, {
    task,
    filter: { list: "attempts", task: task.id },
    types: ["started"],
    view: async ({ records, nextAfterSeq }) => {
      const pairs = await attemptPairs(store, {
        tenantId: task.tenantId,
        taskId: task.id,
        starts: records,
      });
      const isAll = call.query.cursor === undefined &&
        nextAfterSeq === undefined;
      return isAll && pairs.length === 0
        ? runningAttempt(task).map((start) => viewAttempt(start, undefined))
        : pairs.map(({ start, end }) => viewAttempt(start, end));
    },
  });
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
    instance,
  }];
}
