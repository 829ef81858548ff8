/**
 * The route that removes workers.
 *
 * @module
 */

import { withDefault } from "../../../shared/schema/object.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import { booleanText } from "../../../shared/schema/query_values.ts";
import {} from "../../../shared/schema/schema.ts";
import { actorOf } from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { LIVE_STATUSES, liveCount } from "../../domain/task.ts";
import type { EventRequest } from "../../engine/changes.ts";
import { empty } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { TaskPosition } from "../../store/queries.ts";
import type { ApiParts } from "../api_parts.ts";
import { auditOf } from "../record_plan.ts";
import type { Planned, RecordResource } from "../record_resource.ts";
import { noSuchWorker, WORKER_WRITE } from "./worker_resource.ts";

/** Tasks that are canceled in one commit. */
const PAGE = 250;

/** The query of a removal. */
const QUERY = queryOf({
  cancel: withDefault(
    booleanText(),
    false,
    "Whether its live tasks are canceled",
  ),
});

/** The route that removes a worker. */
export function removeWorkerRoute(
  parts: ApiParts,
  resource: RecordResource<WorkerDefinition>,
): AnyRoute {
  return defineRoute({
    method: "DELETE",
    path: "/v1/workers/:id",
    hosts: "tenant",
    operationId: "removeWorker",
    summary: "Remove a worker with its secrets and credentials",
    description: "A worker with live tasks is removed only with " +
      "`cancel=true`, which cancels them all before.",
    tags: ["workers"],
    access: WORKER_WRITE,
    query: QUERY,
    answers: { 204: { description: "It is gone" } },
    conditions: "change",
    problems: ["worker_in_use"],
    handle: async (call) => {
      const first = await resource.find(call);
      if ("code" in first) return first;
      const refusal = answerOfChange(call, etagOf(first.version));
      if (refusal !== undefined) return refusal;
      // Tasks that are made while the others are canceled are counted below.
      if (call.query.cancel) {
        await cancelTasks(call, { parts, worker: first, toMs: call.nowMs });
      }
      const answer = await resource.change(call, {
        given: undefined,
        plan: async (worker) =>
          worker.id === first.id
            ? await planRemoval(call, worker, parts)
            : noSuchWorker(),
      });
      if (answer.kind !== "empty") return answer;
      // Until the commit another request could still make a task.
      await cancelTasks(call, { parts, worker: first, toMs: undefined });
      return answer;
    },
  });
}

async function planRemoval(
  call: CallContext,
  worker: WorkerDefinition,
  parts: ApiParts,
): Promise<Planned> {
  const { engine, workerCredentials } = parts;
  const { workers, secrets, retiredSecrets, credentials } =
    engine.parts.repositories;
  const { tenantId, id } = worker;
  const refusal = await useRefusal(worker, parts);
  if (refusal !== undefined) return refusal;
  // Adding one changes the worker too, so none is left behind.
  const [values, retired, pairs] = await Promise.all([
    secrets.all(tenantId, id),
    retiredSecrets.get(tenantId, id),
    credentials.all(tenantId, id),
  ]);
  return {
    kind: "plan",
    writes: [
      workers.remove(worker),
      ...values.map((secret) => secrets.remove(secret)),
      ...(retired === undefined ? [] : [retiredSecrets.remove(retired)]),
      ...pairs.map((pair) => credentials.remove(pair)),
      auditOf(call, {
        action: "worker.removed",
        target: id,
        detail: { name: worker.name },
      }),
    ],
    answer: empty(),
    afterwards() {
      for (const { id } of pairs) workerCredentials.forget(worker.tenantId, id);
    },
  };
}

async function useRefusal(
  { tenantId, id: workerId }: WorkerDefinition,
  { engine }: ApiParts,
): Promise<ProblemAnswer | undefined> {
  const counts = await engine.parts.store.counts({ tenantId, workerId });
  const live = liveCount(counts);
  if (live === 0) return undefined;
  return problem("worker_in_use", {
    detail: `Cannot remove worker: it has ${live} live tasks; "cancel=true" ` +
      "cancels them",
    extensions: { live },
  });
}

/** Cancels live tasks page by page; those made later than `toMs` are left. */
async function cancelTasks(
  call: CallContext,
  { parts, worker, toMs }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
    readonly toMs: number | undefined;
  },
): Promise<void> {
  const { parts: { store }, changes } = parts.engine;
  const { tenantId, id: workerId } = worker;
  const actor = actorOf(callerOf(call));
  let after: TaskPosition | undefined;
  do {
    const { tasks, next } = await store.listTasks({
      tenantId,
      workerIds: [workerId],
      statuses: LIVE_STATUSES,
      by: "created_at",
      toMs,
      sort: "created_at",
      order: "asc",
      limit: PAGE,
      after,
    });
    await changes.applyAll(tasks.map(({ id }): EventRequest => ({
      tenantId,
      id,
      event: { kind: "cancel", reason: "its worker is removed" },
      actor,
    })));
    after = next;
  } while (after !== undefined && !call.isGone());
}
