/**
 * The route that lists a task's attempts. Each attempt is put together from two
 * history records, its start and its end.
 *
 * @module
 */

import { withDefault } from "../../../shared/schema/object.ts";
import { type QuerySchema, querySchema } from "../../../shared/schema/query.ts";
import {
  named,
  said,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import {
  type HistoryDraft,
  type HistoryRecord,
  type HistoryType,
  parseDraft,
} from "../../domain/history.ts";
import type { Task } from "../../domain/task.ts";
import {
  COUNT,
  COUNT_OR_NULL,
  INSTANCE_SHOWN,
  TASK_ERROR,
  TIME,
  TIME_OR_NULL,
} from "../../domain/value_schemas.ts";
import { utcTime } from "../../domain/instant.ts";
import type { Answer } from "../../http/answer.ts";
import type { Call } from "../../http/call.ts";
import { answerPage, formatFilter, PAGE_FIELDS } from "../../http/page.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { Store } from "../../store/store.ts";
import { findTask, noTask, TASK_PARAMS, viewError } from "./task_view.ts";
import { buildPageShape, HTTP } from "./task_history.ts";
import { ORDER, READS_TASKS, type TasksParts } from "./task_schema.ts";

/** Types of history records that end an attempt. */
const ENDS: readonly HistoryType[] = [
  "succeeded",
  "failed",
  "timed_out",
  "lost",
  "released",
  "waiting",
  "canceled",
];

/** The schema of an attempt. */
export const ATTEMPT: Shape = named(
  "TaskAttempt",
  shape(shownObject({
    id: said("The lease that held the task (`lse_…`)"),
    run: said("The number of its run, 0 for the first", COUNT),
    outcome: said(
      "How it ended; `lost` when its worker fell silent, `released` when the " +
        "worker gave it back, `waiting` when it ended with a wait",
      { enum: ["running", ...ENDS] },
    ),
    started_at: said("When a worker took the task", TIME),
    ended_at: said("When it ended; null while it runs", TIME_OR_NULL),
    duration: said("Milliseconds", COUNT_OR_NULL),
    instance: INSTANCE_SHOWN,
    http: { anyOf: [HTTP, { type: "null" }] },
    error: said("Its failure; null without one", {
      anyOf: [TASK_ERROR, { type: "null" }],
    }),
  })),
  "One try of a task by a worker",
);

/** The schema of a page of attempts. */
const ATTEMPT_LIST: Shape = buildPageShape("TaskAttemptList", {
  item: ATTEMPT,
  example: {
    id: "lse_37efnd0000749gadqcbm8b2hrm_1",
    run: 0,
    outcome: "succeeded",
    started_at: "2027-01-15T08:00:00.000Z",
    ended_at: "2027-01-15T08:00:02.500Z",
    duration: 2_500,
    instance: "host-1",
    http: null,
    error: null,
  },
});

const ATTEMPTS_QUERY = querySchema({
  order: withDefault(ORDER, "asc"),
  ...PAGE_FIELDS,
});

type AttemptsCall = Call<
  typeof ATTEMPTS_QUERY extends QuerySchema<infer Input> ? Input : never,
  unknown
>;

/** Makes the route that lists attempts. */
export function taskAttemptsRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/tasks/:id/attempts",
    operationId: "listTaskAttempts",
    summary: "List a task's attempts",
    params: TASK_PARAMS,
    query: ATTEMPTS_QUERY,
    answers: { 200: { description: "A page of them", shape: ATTEMPT_LIST } },
    problems: ["bad_cursor"],
    handle: (call) => listAttempts(parts, call),
  });
}

async function listAttempts(
  { engine: { parts: { store } }, cursors }: TasksParts,
  call: AttemptsCall,
): Promise<Answer> {
  const { query } = call;
  const { order, limit } = query;
  const task = await findTask(call, { store });
  if (task === undefined) return noTask();
  const { tenantId, id: taskId } = task;
  return await answerPage(call, {
    cursors,
    tenantId,
    filter: formatFilter({ list: "attempts", task: taskId, order }),
    query,
    url: `${call.baseUrl}/v1/tasks/${taskId}/attempts`,
    async read(position) {
      const { records, nextAfterSeq } = await store.history({
        tenantId,
        taskId,
        types: ["started"],
        order,
        limit,
        afterSeq: typeof position === "number" ? position : undefined,
      });
      const pairs = await attemptPairs(store, {
        tenantId,
        taskId,
        starts: records,
      });
      const isAll = position === undefined && nextAfterSeq === undefined;
      const data = isAll && pairs.length === 0
        ? runningAttempt(task).map((start) => viewAttempt(start, undefined))
        : pairs.map(({ start, end }) => viewAttempt(start, end));
      return { data, next: nextAfterSeq };
    },
  });
}

/** The attempts of a task as the API shows them, the first of them first. */
export async function readAttempts(
  store: Pick<Store, "history">,
  { tenantId, id: taskId }: Pick<Task, "tenantId" | "id">,
  limit: number,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { records: starts } = await store.history({
    tenantId,
    taskId,
    types: ["started"],
    order: "asc",
    limit,
  });
  const pairs = await attemptPairs(store, { tenantId, taskId, starts });
  return pairs.map(({ start, end }) => viewAttempt(start, end));
}

/** Records of a history that are read in one page. */
const PAGE = 200;

/**
 * Finds the ends of the attempts that these records start; an attempt under way
 * has no end.
 */
async function attemptPairs(
  store: Pick<Store, "history">,
  { tenantId, taskId, starts }: {
    readonly tenantId: string;
    readonly taskId: string;
    readonly starts: readonly HistoryRecord[];
  },
): Promise<
  readonly {
    readonly start: HistoryDraft;
    readonly end: HistoryDraft | undefined;
  }[]
> {
  const drafts = starts.map(parseDraft);
  const open = new Set(drafts.map(({ attempt }) => attempt));
  const ends = new Map<string | undefined, HistoryDraft>();
  let afterSeq = starts.reduce(
    (least, { seq }) => Math.min(least, seq),
    Infinity,
  );
  // The end of an attempt comes after its start and before the next one's
  // start.
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
      const draft = parseDraft(record);
      if (open.delete(draft.attempt)) ends.set(draft.attempt, draft);
    }
    afterSeq = page.nextAfterSeq ?? Infinity;
  }
  return drafts.map((start) => ({ start, end: ends.get(start.attempt) }));
}

/**
 * The attempt under way, made from the task itself. Its start record is the
 * newest of its type, so when there is no such record it was folded away.
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

/** The start of an attempt. */
type AttemptStart = Pick<
  HistoryDraft,
  "attempt" | "run" | "atMs" | "instance"
>;

/** Returns an attempt as the API shows it; without an end, it is running. */
function viewAttempt(
  start: AttemptStart,
  end: HistoryDraft | undefined,
): Readonly<Record<string, unknown>> {
  const http = end?.http;
  const error = end?.error;
  return {
    id: start.attempt ?? "",
    run: start.run,
    outcome: end?.type ?? "running",
    started_at: utcTime(start.atMs),
    ended_at: end === undefined ? null : utcTime(end.atMs),
    duration: end === undefined ? null : Math.max(0, end.atMs - start.atMs),
    instance: start.instance ?? end?.instance ?? null,
    http: http === undefined
      ? null
      : { status: http.status, duration_ms: http.durationMs },
    error: error === undefined ? null : viewError(error),
  };
}
