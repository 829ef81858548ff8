/**
 * The routes of workers, and how a worker is created and removed.
 *
 * @module
 */

import { withDefault } from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import { booleanText } from "../../../shared/schema/query_values.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { toActor } from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { LIVE_STATUSES, liveCount } from "../../domain/task.ts";
import type { EventRequest } from "../../engine/changes.ts";
import { readGuard } from "../../engine/record_writes.ts";
import { empty, json, type JsonAnswer } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getLimits,
  getTenant,
} from "../../http/call.ts";
import {
  CALL_ADDRESS_RULE,
  workerAddressRefusal,
} from "../../http/call_address.ts";
import { answerOfChange, formatEtag } from "../../http/etag.ts";
import { formatFilter } from "../../http/page.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, requiredBody } from "../../http/route.ts";
import type { TaskPosition } from "../../store/queries.ts";
import type { ApiParts } from "../api_parts.ts";
import { buildAuditWrite, quotaProblem } from "../record_plan.ts";
import type { Planned, RecordResource } from "../record_resource.ts";
import {
  changeWorkerRoutes,
  nameTaken,
  pauseWorkerRoutes,
} from "./change_worker.ts";
import { secretRoutes } from "./secret_routes.ts";
import { withKeys } from "./signing_keys.ts";
import { tryWorkerRoute } from "./try_worker.ts";
import {
  MAX_WORKER_BYTES,
  type NewWorker,
  viewWorker,
  WORKER,
  WORKER_EXAMPLE,
  WORKER_FIELDS,
} from "./worker_fields.ts";
import {
  blankWorker,
  changedWorker,
  noSuchWorker,
  workerFaults,
  workerResource,
} from "./worker_resource.ts";

/** The routes of workers, their secrets and credentials. */
export function workerRoutes(parts: ApiParts): readonly AnyRoute[] {
  const resource = workerResource(parts);
  return [
    resource.createRoute({
      summary: "Create a worker",
      description: "With a `url` the service calls it. `signing_secret` of " +
        "the answer is what these calls are signed with, and those to the " +
        "`callback` of its tasks. It is shown this once: an answer that is " +
        "given again for an Idempotency-Key has null there. " +
        CALL_ADDRESS_RULE,
      body: requiredBody(WORKER, {
        maxBytes: () => MAX_WORKER_BYTES,
        example: WORKER_EXAMPLE,
      }),
      answer: {
        description: "The worker",
        shape: WORKER,
        example: WORKER_EXAMPLE,
        headers: { Location: "Where it is", ETag: "Its version" },
      },
      problems: [
        "read_only",
        "name_taken",
        "quota_exceeded",
        "secrets_unavailable",
      ],
      plan: (call) => planWorker(call, parts),
    }),
    resource.listRoute({
      summary: "List workers, the oldest first",
      answer: "A page of workers",
      pageName: "WorkerPage",
      cursors: parts.cursors,
      filter: formatFilter({ list: "workers" }),
    }),
    resource.readRoute({
      summary: "Read a worker",
      description: "`:id` is its id or its name. The entity tag is that of " +
        "its definition: `status`, `last_seen_at`, `instances` and `counts` " +
        "change without it.",
      answer: "The worker",
    }),
    ...changeWorkerRoutes(parts, resource),
    removeWorkerRoute(parts, resource),
    ...pauseWorkerRoutes(parts, resource),
    tryWorkerRoute(parts, resource),
    ...secretRoutes(parts, resource),
  ];
}

/** Plans a new worker. */
async function planWorker(
  call: Call<unknown, NewWorker>,
  parts: ApiParts,
): Promise<Planned> {
  const { engine, vault, targets } = parts;
  const { body, nowMs } = call;
  const { id: tenantId } = getTenant(call);
  const { repositories, newId } = engine.parts;
  const blank = blankWorker({ tenantId, id: newId("wrk") }, nowMs);
  const bare = changedWorker(blank, body, call);
  const forbidden = workerAddressRefusal(getCaller(call), { after: bare });
  if (forbidden !== undefined) return forbidden;
  const isAsymmetric = body.asymmetric;
  const faults = [
    ...readOnlyFaults({
      given: body,
      current: { kind: bare.kind },
      fields: WORKER_FIELDS,
    }),
    ...workerFaults(bare, {
      targets,
      isAsymmetric,
      retentionMs: getLimits(call).retentionMs,
    }),
  ];
  if (faults.length > 0) return invalidRequest(faults);
  const guard = await readGuard(engine.parts, tenantId, "workers");
  const over = await quotaProblem(call, "worker", parts);
  if (over !== undefined) return over;
  const keyed = await withKeys(vault, bare, { isAsymmetric, isNew: true });
  if (keyed.kind === "problem") return keyed;
  const { worker, secret = null } = keyed;
  return {
    kind: "plan",
    writes: [
      repositories.workers.insert(worker),
      guard,
      buildAuditWrite(call, {
        action: "worker.created",
        target: worker.id,
        detail: { name: worker.name, kind: worker.kind },
      }),
      ...keyed.writes,
      // Secrets are stored sealed or not at all; that includes kept answers.
      ...call.extraWrites(createdAnswer(call, worker, null)),
    ],
    answer: createdAnswer(call, worker, secret),
    onConflict: ({ reason }) =>
      reason === "alias" ? nameTaken("create", worker.name) : undefined,
  };
}

function createdAnswer(
  call: Pick<CallContext, "baseUrl" | "nowMs">,
  worker: WorkerDefinition,
  secret: string | null,
): JsonAnswer {
  const view = viewWorker(worker, {
    life: undefined,
    counts: {},
    nowMs: call.nowMs,
  });
  return json({ ...view, signing_secret: secret }, {
    status: 201,
    headers: {
      location: `${call.baseUrl}/v1/workers/${worker.id}`,
      etag: formatEtag(worker.version),
    },
  });
}

/** How many tasks are canceled in one commit. */
const PAGE = 250;

/** The route that removes a worker. */
function removeWorkerRoute(
  parts: ApiParts,
  resource: RecordResource<WorkerDefinition>,
): AnyRoute {
  return resource.route({
    method: "DELETE",
    path: "/v1/workers/:id",
    operationId: "removeWorker",
    summary: "Remove a worker with its secrets and credentials",
    description: "A worker with live tasks is removed only with " +
      "`cancel=true`, which cancels them all before.",
    query: querySchema({
      cancel: withDefault(
        booleanText(),
        false,
        "Whether its live tasks are canceled",
      ),
    }),
    answers: { 204: { description: "It is gone" } },
    conditions: "change",
    problems: ["worker_in_use"],
    handle: async (call) => {
      const first = await resource.find(call);
      if ("code" in first) return first;
      const refusal = answerOfChange(call, formatEtag(first.version));
      if (refusal !== undefined) return refusal;
      // Tasks that are created while others are canceled are counted below.
      if (call.query.cancel) {
        await cancelTasks(call, { parts, worker: first, toMs: call.nowMs });
      }
      const answer = await resource.change(
        call,
        async (worker) =>
          worker.id === first.id
            ? await planRemoval(call, worker, parts)
            : noSuchWorker(),
      );
      if (answer.kind !== "empty") return answer;
      // Until the commit, another request could still create a task for the
      // worker.
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
  const { engine } = parts;
  const { workers, secrets, retiredSecrets, credentials } =
    engine.parts.repositories;
  const { tenantId, id } = worker;
  const refusal = await useRefusal(worker, parts);
  if (refusal !== undefined) return refusal;
  // Adding a secret changes the worker as well, so no secret is left behind.
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
      buildAuditWrite(call, {
        action: "worker.removed",
        target: id,
        detail: { name: worker.name },
      }),
    ],
    answer: empty(),
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

/**
 * Cancels live tasks page by page for as long as the client is connected; tasks
 * created later than `toMs` stay. Without `toMs` the worker is gone already, so
 * all tasks are canceled whether the client waits or not.
 */
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
  const actor = toActor(getCaller(call));
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
  } while (after !== undefined && (toMs === undefined || !call.isGone()));
}
