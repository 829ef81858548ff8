/**
 * The routes of bulk actions.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Write } from "../../store/store.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { invalidRequest, problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { requiredBody } from "../../http/route_body.ts";
import { pointerTo } from "../../../shared/schema/fault.ts";
import { viewOperation } from "./operation_view.ts";
import {
  addResults,
  type BulkOrder,
  type BulkProgress,
  NO_PROGRESS,
} from "./bulk_action.ts";
import { doneAnswer, operationAnswer } from "./bulk_answer.ts";
import { type BulkPosition, firstPosition } from "./bulk_position.ts";
import {
  BULK,
  BULK_RESULT,
  type BulkInput,
  MAX_AT_ONCE,
  OPERATION,
} from "./bulk_schema.ts";
import { doStep, planStep } from "./bulk_steps.ts";
import { type Operation, readOperation } from "./operation.ts";
import { MAX_UNDER_WAY, type Operations } from "./operations.ts";
import { readFilter, type TaskFilter } from "./task_filter.ts";
import { READS_TASKS, type TasksParts, WRITES_TASKS } from "./tasks_parts.ts";

/** An order with {@linkcode MAX_AT_ONCE} ids. */
const MAX_BODY_BYTES = 524_288;

/** Makes the routes. */
export function bulkRoutes(parts: TasksParts): readonly AnyRoute[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/tasks/actions",
      hosts: "tenant",
      operationId: "applyToTasks",
      summary: "Do something to many tasks",
      description: "Each task stands for itself. What is done to more than " +
        `${MAX_AT_ONCE} tasks is answered with 202 at once; the operation ` +
        "tells how far it has come. With an Idempotency-Key it is done to its " +
        "end once it has begun, whatever happens to the service; the same " +
        "request then gets its answer.",
      tags: ["tasks"],
      access: WRITES_TASKS,
      body: requiredBody(BULK, { maxBytes: () => MAX_BODY_BYTES }),
      answers: {
        200: { description: "What it came to", shape: BULK_RESULT },
        202: {
          description: "It has begun",
          shape: OPERATION,
          headers: { Location: "Where it tells how far it has come" },
        },
      },
      isIdempotent: true,
      problems: ["wrong_state", "unknown_worker", "bad_timezone"],
      handle: (call) => applyToTasks(parts, call),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/operations/:id",
      hosts: "tenant",
      operationId: "getOperation",
      summary: "Read how far a bulk action has come",
      tags: ["tasks"],
      access: READS_TASKS,
      answers: { 200: { description: "It", shape: OPERATION } },
      problems: [],
      handle: async (call) => {
        const operation = await readOperation(parts.engine.parts.store, {
          tenantId: tenantOf(call).id,
          id: call.params.id ?? "",
        });
        return operation === undefined
          ? problem("not_found", {
            detail: "Cannot find operation: there is none with this id",
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
  const { store, clock, workers } = engine.parts;
  const { action, ids, filter: given, dry_run: isDryRun, limit } = call.body;
  const { id: tenantId } = tenantOf(call);
  const actor = actorOf(callerOf(call));
  let filter: TaskFilter | undefined;
  if (given !== undefined && given !== null) {
    const read = await readFilter(given, {
      tenantId,
      workers,
      // Who mistypes a name is to hear of it before believing it was done.
      demandsWorkers: true,
    });
    if (read.kind === "invalid") {
      return invalidRequest(
        read.problems.map(({ field, code, reason }) => ({
          pointer: pointerTo("/filter", field),
          code,
          detail: reason,
        })),
      );
    }
    filter = read.filter;
  }
  const order: BulkOrder = {
    action,
    tenantId,
    actor,
    ...(ids === undefined || ids === null ? {} : { ids }),
    ...(filter === undefined ? {} : { filter }),
    limit: limit ?? Number.MAX_SAFE_INTEGER,
    isDryRun,
    orderedAtMs: clock.nowMs(),
  };
  if (await isMany(engine, order)) {
    // How many they are is known when it has ended.
    call.charge(Math.min(order.limit, MAX_AT_ONCE));
    return await begin(operations, { call, order });
  }
  const { answerPlace: place } = call;
  if (place !== undefined && !isDryRun) {
    const writes = auditOf(order);
    const outcome = await operations.perform(order, { place, writes });
    if (outcome.kind !== "done") return inProgress();
    call.charge(outcome.progress.matched);
    return doneAnswer(order, outcome.progress);
  }
  if (!isDryRun) await store.commit([{ writes: auditOf(order) }]);
  const progress = await doAll(engine, order);
  call.charge(progress.matched);
  return doneAnswer(order, progress);
}

/** Whether it is too much to be done before it is answered. */
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

async function doAll(engine: Engine, order: BulkOrder): Promise<BulkProgress> {
  let progress = NO_PROGRESS;
  let from: BulkPosition | undefined = firstPosition(order);
  while (from !== undefined) {
    const { matched } = progress;
    const { found, next } = await planStep(engine, order, { from, matched });
    progress = addResults(progress, await doStep(engine, order, found));
    from = next;
  }
  return progress;
}

async function begin(
  operations: Operations,
  { call, order }: {
    readonly call: Call<unknown, BulkInput>;
    readonly order: BulkOrder;
  },
): Promise<Answer> {
  const answerOf = (operation: Operation): Answer =>
    operationAnswer(operation, call.baseUrl);
  const outcome = await operations.order(
    order,
    (operation) => [
      ...(order.isDryRun ? [] : auditOf(order)),
      ...call.along(answerOf(operation)),
    ],
  );
  switch (outcome.kind) {
    case "ok":
      return answerOf(outcome.operation);
    case "too_many":
      return problem("wrong_state", {
        detail: `Cannot begin: ${MAX_UNDER_WAY} bulk actions are under way ` +
          "already; wait for one to end",
      });
    case "conflict":
      return inProgress();
  }
}

function inProgress(): Answer {
  return problem("idempotency_in_progress", {
    detail: "Cannot answer yet: the first request with this " +
      "Idempotency-Key is still under way",
    retryAfterMs: 1_000,
  });
}

function auditOf(order: BulkOrder): readonly Write[] {
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
          ...(ids === undefined ? {} : { ids: ids.length }),
          ...(filter === undefined ? {} : { filter }),
          ...(limit === Number.MAX_SAFE_INTEGER ? {} : { limit }),
        },
      }),
    },
  }];
}
