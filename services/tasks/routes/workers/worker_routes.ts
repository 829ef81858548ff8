/**
 * The routes of workers, and how one is made.
 *
 * @module
 */

import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { readGuard } from "../../engine/record_writes.ts";
import { json, type JsonAnswer } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  callerOf,
  tenantOf,
} from "../../http/call.ts";
import {
  CALL_ADDRESS_RULE,
  workerAddressRefusal,
} from "../../http/call_address.ts";
import { etagOf } from "../../http/etag.ts";
import { filterTextOf } from "../../http/page.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { type AnyRoute, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { auditOf, quotaProblem } from "../record_plan.ts";
import type { Planned } from "../record_resource.ts";
import {
  changeWorkerRoutes,
  nameTaken,
  pauseWorkerRoutes,
} from "./change_worker.ts";
import { removeWorkerRoute } from "./remove_worker.ts";
import { secretRoutes } from "./secret_routes.ts";
import { withKeys } from "./signing_keys.ts";
import { tryWorkerRoute } from "./try_worker.ts";
import {
  blankWorker,
  changedWorker,
  workerFaults,
} from "./worker_definition.ts";
import {
  MAX_WORKER_BYTES,
  type NewWorker,
  viewWorker,
  WORKER,
  WORKER_EXAMPLE,
  WORKER_FIELDS,
} from "./worker_fields.ts";
import { workerResource } from "./worker_resource.ts";

/** The routes of workers, their secrets and credentials. */
export function workerRoutes(parts: ApiParts): readonly AnyRoute[] {
  const resource = workerResource(parts);
  const workers = { parts, resource };
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
      filter: filterTextOf({ list: "workers" }),
    }),
    resource.readRoute({
      summary: "Read a worker",
      description: "`:id` is its id or its name. The entity tag is that of " +
        "its definition: `status`, `last_seen_at`, `instances` and `counts` " +
        "change without it.",
      answer: "The worker",
    }),
    ...changeWorkerRoutes(workers),
    removeWorkerRoute(parts, resource),
    ...pauseWorkerRoutes(workers),
    tryWorkerRoute(parts, resource),
    ...secretRoutes(parts, resource),
  ];
}

/** Plans a new worker. */
async function planWorker(
  call: Call<unknown, NewWorker>,
  { engine, vault, targets, plans }: ApiParts,
): Promise<Planned> {
  const { body, nowMs } = call;
  const { id: tenantId, plan } = tenantOf(call);
  const { store, repositories, newId } = engine.parts;
  const blank = blankWorker({ tenantId, id: newId("wrk") }, nowMs);
  const bare = changedWorker(blank, body, call);
  const forbidden = workerAddressRefusal(callerOf(call), { after: bare });
  if (forbidden !== undefined) return forbidden;
  const isAsymmetric = body.asymmetric;
  const faults = [
    ...readOnlyFaults({
      given: body,
      current: { kind: bare.kind },
      fields: WORKER_FIELDS,
    }),
    ...workerFaults(bare, { targets, isAsymmetric }),
  ];
  if (faults.length > 0) return invalidRequest(faults);
  const guard = await readGuard(engine.parts, tenantId, "workers");
  const over = await quotaProblem(store, {
    kind: "worker",
    tenantId,
    plan: plans.plan(plan),
  });
  if (over !== undefined) return over;
  const keyed = await withKeys(vault, bare, { isAsymmetric, isNew: true });
  if (keyed.kind === "problem") return keyed;
  const { worker, secret = null } = keyed;
  return {
    kind: "plan",
    writes: [
      repositories.workers.insert(worker),
      guard,
      auditOf(call, {
        action: "worker.created",
        target: worker.id,
        detail: { name: worker.name, kind: worker.kind },
      }),
      ...keyed.writes,
      // Secrets are kept sealed or not at all, in kept answers too.
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
      etag: etagOf(worker.version),
    },
  });
}
