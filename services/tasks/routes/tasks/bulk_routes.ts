/**
 * The routes of bulk actions on tasks.
 *
 * @module
 */

import { toActor } from "../../access/caller.ts";
import {
  type AnswerPlace,
  type BulkOrder,
  type BulkProgress,
  newOperation,
  type Operation,
  readOperation,
} from "../../engine/bulk/operation.ts";
import { MAX_RUNNING, Operations } from "../../engine/bulk/operations.ts";
import { runOrder } from "../../engine/bulk/portion.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Write } from "../../store/store.ts";
import { type Answer, json, renderAnswer } from "../../http/answer.ts";
import { type Call, getCaller, getTenant } from "../../http/call.ts";
import {
  fillPlace,
  holdPlace,
  requestInProgress,
} from "../../http/idempotency.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import {
  BULK,
  BULK_RESULT,
  type BulkInput,
  MAX_AT_ONCE,
  OPERATION,
} from "./bulk_schema.ts";
import { readFilter } from "./list_tasks.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import { READS_TASKS, type TasksParts, WRITES_TASKS } from "./task_schema.ts";

/**
 * The base path of links in answers that are written after the request has
 * ended.
 */
const BASE_PATH = "/api";

/** Room for an order with {@linkcode MAX_AT_ONCE} ids. */
const MAX_BODY_BYTES = 524_288;

/** Makes the routes. */
export function bulkRoutes(parts: TasksParts): readonly AnyRoute[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/tasks/actions",
      hosts: "tenant",
      operationId: "applyToTasks",
      summary: "Apply an action to many tasks",
      description: "Each task stands for itself. An action on more than " +
        `${MAX_AT_ONCE} tasks is answered with 202 at once; the operation ` +
        "shows its progress. With an Idempotency-Key an action that has begun " +
        "runs to its end, whatever happens to the service; the same request " +
        "then gets its answer.",
      tags: ["tasks"],
      access: WRITES_TASKS,
      body: requiredBody(BULK, { maxBytes: () => MAX_BODY_BYTES }),
      answers: {
        200: { description: "The result", shape: BULK_RESULT },
        202: {
          description: "The operation has begun",
          shape: OPERATION,
          headers: { Location: "Where the operation can be read" },
        },
      },
      isIdempotent: true,
      problems: ["wrong_state", "unknown_worker", "bad_timezone"],
      handle: (call) => applyToTasks(parts, call),
    }),
    defineRoute({
      ...READS_TASKS,
      path: "/v1/operations/:id",
      operationId: "getOperation",
      summary: "Read the progress of a bulk action",
      answers: { 200: { description: "The operation", shape: OPERATION } },
      problems: [],
      handle: async (call) => {
        const operation = await readOperation(parts.engine.parts.store, {
          tenantId: getTenant(call).id,
          id: call.params.id ?? "",
        });
        return operation === undefined
          ? problem("not_found", {
            detail: "Cannot find operation: no operation has this id",
          })
          : json(viewOperation(operation));
      },
    }),
  ];
}

async function applyToTasks(
  { engine, operations }: TasksParts,
  call: Call<unknown, BulkInput>,
): Promise<Answer> {
  const { store, clock, workers, newId } = engine.parts;
  const { action, ids, filter: given, dry_run: isDryRun, limit } = call.body;
  const { id: tenantId } = getTenant(call);
  const actor = toActor(getCaller(call));
  const read = given === undefined || given === null
    ? undefined
    : await readFilter(given, { tenantId, workers, in: "body" });
  if (read?.kind === "problem") return read;
  const order: BulkOrder = {
    action,
    tenantId,
    actor,
    ids: ids ?? undefined,
    filter: read?.filter,
    limit: limit ?? Number.MAX_SAFE_INTEGER,
    isDryRun,
    orderedAtMs: clock.nowMs(),
  };
  if (await isMany(engine, order)) {
    // The number of tasks is known only after the action, so as many as may be
    // changed before an answer are charged.
    call.charge(Math.min(order.limit, MAX_AT_ONCE));
    const operation = newOperation(order, newId("opr"));
    return await begin(operations, { call, operation });
  }
  const { answerPlace: place } = call;
  if (place !== undefined && !isDryRun) {
    const writes = [
      ...buildAuditWrites(order),
      holdPlace(place, order.orderedAtMs),
    ];
    const outcome = await operations.perform(
      { ...newOperation(order, newId("opr")), answersTo: place },
      writes,
    );
    if (outcome.kind !== "done") return requestInProgress();
    call.charge(outcome.progress.matched);
    return doneAnswer(order, outcome.progress);
  }
  if (!isDryRun) await store.commit([{ writes: buildAuditWrites(order) }]);
  const progress = await runOrder(engine, order);
  call.charge(progress.matched);
  return doneAnswer(order, progress);
}

/**
 * Makes the operations of an engine, which write the answer of a bulk action
 * for a repeated request when the action has ended.
 */
export function openOperations(engine: Engine): Operations {
  return new Operations(engine, { answerWrites });
}

function answerWrites(ended: Operation, place: AnswerPlace): readonly Write[] {
  const { status, order, progress, updatedAtMs: nowMs } = ended;
  const answer = renderAnswer(
    status === "done"
      ? doneAnswer(order, progress)
      : operationAnswer(ended, BASE_PATH),
    // A kept answer has none of these.
    { requestId: "", scheme: "http", host: "" },
  );
  return [fillPlace(place, { answer, nowMs })];
}

/** Whether there are too many tasks to change them before the answer. */
async function isMany(
  { parts: { store } }: Engine,
  { tenantId, filter, limit }: BulkOrder,
): Promise<boolean> {
  if (filter === undefined || limit <= MAX_AT_ONCE) return false;
  const { count } = await store.listTasks({
    ...filter,
    tenantId,
    sort: "created_at",
    order: "asc",
    limit: 1,
    count: true,
  });
  return count === undefined || !count.isExact || count.value > MAX_AT_ONCE;
}

async function begin(
  operations: Operations,
  { call, operation }: {
    readonly call: Call<unknown, BulkInput>;
    readonly operation: Operation;
  },
): Promise<Answer> {
  const { order } = operation;
  const answer = operationAnswer(operation, call.baseUrl);
  const outcome = await operations.order(operation, [
    ...(order.isDryRun ? [] : buildAuditWrites(order)),
    ...call.extraWrites(answer),
  ]);
  switch (outcome.kind) {
    case "ok":
      return answer;
    case "too_many":
      return problem("wrong_state", {
        detail: `Cannot begin: ${MAX_RUNNING} bulk actions are under way ` +
          "already; wait for one to end",
      });
    case "conflict":
      return requestInProgress();
  }
}

function doneAnswer(order: BulkOrder, progress: BulkProgress): Answer {
  return json(viewBulk(order, progress));
}

function operationAnswer(operation: Operation, baseUrl: string): Answer {
  return json(viewOperation(operation), {
    status: 202,
    headers: { location: `${baseUrl}/v1/operations/${operation.id}` },
  });
}

function viewOperation(
  { id, status, order, progress, updatedAtMs, finishedAtMs }: Operation,
): Readonly<Record<string, unknown>> {
  return {
    id,
    status,
    ...viewBulk(order, progress),
    created_at: utcTime(order.orderedAtMs),
    updated_at: utcTime(updatedAtMs),
    finished_at: optionalTime(finishedAtMs),
    links: { self: `/api/v1/operations/${id}` },
  };
}

function viewBulk(
  { action, isDryRun }: BulkOrder,
  progress: BulkProgress,
): Readonly<Record<string, unknown>> {
  return { action, dry_run: isDryRun, ...progress };
}

function buildAuditWrites(order: BulkOrder): readonly Write[] {
  const { tenantId, orderedAtMs, actor, action, ids, filter, limit } = order;
  return [{
    kind: "audit",
    tenantId,
    entry: {
      atMs: orderedAtMs,
      action: "tasks.bulk",
      text: JSON.stringify({
        actor,
        target: "tasks",
        detail: {
          action,
          ids: ids?.length,
          filter,
          limit: limit === Number.MAX_SAFE_INTEGER ? undefined : limit,
        },
      }),
    },
  }];
}
