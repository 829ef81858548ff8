/**
 * The route that makes workers.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";
import { actorText } from "./actor_text.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  CALL_ADDRESS_RULE,
  workerAddressRefusal,
} from "../../http/call_address.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { etagOf } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import { readGuard } from "../../engine/guard.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { quotaProblem } from "../quota.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { viewWorker } from "./worker_view.ts";
import { auditOf } from "./audit.ts";
import { withKeys } from "./signing_keys.ts";
import { blankWorker, changedWorker } from "./worker_definition.ts";
import { workerFaults } from "./worker_faults.ts";
import { WORKER_FIELDS } from "./worker_fields.ts";
import {
  MAX_WORKER_BYTES,
  type NewWorker,
  WORKER,
  WORKER_EXAMPLE,
} from "./worker_schema.ts";

/** The route that makes a worker. */
export function createWorkerRoute(parts: ApiParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/workers",
    hosts: "tenant",
    operationId: "createWorker",
    summary: "Create a worker",
    description: "With a `url` the service calls it. `signing_secret` of the " +
      "answer is what these calls are signed with, and those to the `callback` " +
      "of its tasks. It is shown this once: an answer that is given again for " +
      "an Idempotency-Key has null there. " + CALL_ADDRESS_RULE,
    tags: ["workers"],
    access: { kind: "member", role: "admin", scope: "workers:write" },
    body: requiredBody(WORKER, {
      maxBytes: () => MAX_WORKER_BYTES,
      example: WORKER_EXAMPLE,
    }),
    answers: {
      201: {
        description: "The worker",
        shape: WORKER,
        example: WORKER_EXAMPLE,
        headers: { Location: "Where it is", ETag: "Its version" },
      },
    },
    isIdempotent: true,
    problems: [
      "read_only",
      "name_taken",
      "quota_exceeded",
      "secrets_unavailable",
    ],
    handle: (call) =>
      commitPlan(
        parts.engine.parts.store,
        () => planWorker(call, parts),
      ),
  });
}

async function planWorker(
  call: Call<unknown, NewWorker>,
  parts: ApiParts,
): Promise<CommitPlan | Answer> {
  const { engine, vault, targets, plans } = parts;
  const { body, nowMs } = call;
  const tenantId = tenantOf(call).id;
  const { repositories, newId } = engine.parts;
  const id = newId("wrk");
  const bare = changedWorker(blankWorker({ tenantId, id }, nowMs), body, {
    nowMs,
    actor: actorText(call),
  });
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
  const over = await quotaProblem(engine.parts.store, {
    kind: "worker",
    tenantId,
    plan: plans.plan(tenantOf(call).plan),
    limit: "workers",
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

/** The problem of a name that another worker has. */
export function nameTaken(verb: string, name: string): ProblemAnswer {
  return problem("name_taken", {
    detail: `Cannot ${verb} worker: the name "${name}" is taken`,
  });
}

function createdAnswer(
  call: Pick<Call<unknown, unknown>, "baseUrl" | "nowMs">,
  worker: WorkerDefinition,
  secret: string | null,
): Answer {
  const view = viewWorker(worker, { counts: {}, nowMs: call.nowMs });
  return json({ ...view, signing_secret: secret }, {
    status: 201,
    headers: {
      location: `${call.baseUrl}/v1/workers/${worker.id}`,
      etag: etagOf(worker.version),
    },
  });
}
