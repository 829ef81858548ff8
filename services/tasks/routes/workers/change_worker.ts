/**
 * The routes that make and change workers.
 *
 * @module
 */

import { asGiven } from "../../../shared/schema/composite.ts";
import {
  jsonEquals,
  readOnlyFaults,
} from "../../../shared/schema/read_only.ts";
import { type ReadOutcome, readWhole } from "../../../shared/schema/schema.ts";
import { actorOf } from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import {
  type AuditFact,
  auditWrite,
  readGuard,
} from "../../engine/record_writes.ts";
import { type Answer, json } from "../../http/answer.ts";
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
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import {
  type AnyRoute,
  defineRoute,
  requiredBody,
  type RouteFacts,
} from "../../http/route.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { quotaProblem } from "../record_plan.ts";
import { actorText } from "./actor_text.ts";
import { copiedMember, patchedMembers } from "../../http/merge_patch.ts";
import {
  factsOf,
  findWorker,
  noSuchWorker,
  viewWorker,
  type WorkerView,
} from "./read_workers.ts";
import { withKeys } from "./read_secrets.ts";
import {
  blankWorker,
  changedWorker,
  readOnlyMembers,
  workerFaults,
} from "./worker_definition.ts";
import {
  CHANGES_EXAMPLE,
  LIVE_FIELDS,
  MAX_WORKER_BYTES,
  type NewWorker,
  WORKER,
  WORKER_CHANGES,
  WORKER_EXAMPLE,
  WORKER_FIELDS,
  type WorkerChanges,
} from "./worker_fields.ts";

/** What a call does, for the audit log. */
type Deed = Omit<AuditFact, "atMs" | "actor">;

/** The write that notes what a call does; it belongs into the transaction of it. */
export function auditOf(
  call: Pick<CallContext, "caller" | "tenant" | "nowMs">,
  deed: Deed,
): Write {
  return auditWrite(tenantOf(call).id, {
    ...deed,
    atMs: call.nowMs,
    actor: actorOf(callerOf(call)),
  });
}

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
function nameTaken(verb: string, name: string): ProblemAnswer {
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

/** A patch is read when the worker is known that it is for. */
const PATCH = asGiven(WORKER_CHANGES.json, [WORKER_CHANGES]);

/** Members that say when and how often, not what has changed. */
const BOOKKEEPING = ["updated_at", "version", "paused_at", "paused_by"];

/** The routes that change a worker. */
export function changeWorkerRoutes(parts: ApiParts): readonly AnyRoute[] {
  const common = {
    path: "/v1/workers/:id",
    hosts: "tenant",
    tags: ["workers"],
    access: { kind: "member", role: "admin", scope: "workers:write" },
    answers: {
      200: {
        description: "The worker as it is now",
        shape: WORKER,
        example: WORKER_EXAMPLE,
      },
    },
    conditions: "change",
    problems: ["read_only", "name_taken", "secrets_unavailable"],
  } as const satisfies Partial<RouteFacts>;
  return [
    defineRoute({
      ...common,
      method: "PUT",
      operationId: "updateWorker",
      summary: "Change a worker",
      description:
        "Members that are given are changed, the others stay; null " +
        "resets one to its default. Attempts under way go on as they began. " +
        CALL_ADDRESS_RULE,
      body: requiredBody(WORKER_CHANGES, {
        maxBytes: () => MAX_WORKER_BYTES,
        example: CHANGES_EXAMPLE,
      }),
      handle: (call) =>
        changeWorker(call, {
          parts,
          changes: () => ({ kind: "ok", value: call.body }),
        }),
    }),
    defineRoute({
      ...common,
      method: "PATCH",
      operationId: "patchWorker",
      summary: "Change a worker by a merge patch",
      description: "As PUT, but that members of `headers`, `jobs`, `limits` " +
        "and `retry` are merged one by one (RFC 7396). " + CALL_ADDRESS_RULE,
      body: requiredBody(PATCH, {
        maxBytes: () => MAX_WORKER_BYTES,
        mediaTypes: ["application/merge-patch+json", "application/json"],
        example: CHANGES_EXAMPLE,
      }),
      handle: (call) =>
        changeWorker(call, {
          parts,
          changes: async (view) =>
            readWhole(
              WORKER_CHANGES,
              await patchedMembers(call.body, {
                memberOf: (name) => copiedMember(view, name),
                pausing: call.pausing,
              }),
            ),
        }),
    }),
  ];
}

interface Change {
  readonly parts: ApiParts;
  /** The changes to set, given the worker as it is shown. */
  readonly changes: (
    view: WorkerView,
  ) => ReadOutcome<WorkerChanges> | Promise<ReadOutcome<WorkerChanges>>;
}

async function changeWorker(
  call: CallContext,
  change: Change,
): Promise<Answer> {
  const { engine } = change.parts;
  return await commitPlan(engine.parts.store, () => planChange(call, change));
}

async function planChange(
  call: CallContext,
  { parts, changes }: Change,
): Promise<CommitPlan | Answer> {
  const { engine, vault, targets } = parts;
  const worker = await findWorker(
    engine,
    tenantOf(call).id,
    call.params.id ?? "",
  );
  if (worker === undefined) return noSuchWorker();
  const refusal = answerOfChange(call, etagOf(worker.version));
  if (refusal !== undefined) return refusal;
  const facts = await factsOf(engine, worker);
  const view = viewWorker(worker, facts);
  const read = await changes(view);
  if (read.kind === "invalid") return invalidRequest(read.faults);
  const { value: given } = read;
  const isAsymmetric = given.asymmetric === undefined
    ? worker.asymmetric !== undefined
    : given.asymmetric === true;
  const { nowMs } = call;
  const bare = changedWorker(worker, given, { nowMs, actor: actorText(call) });
  const forbidden = workerAddressRefusal(callerOf(call), {
    before: worker,
    after: bare,
  });
  if (forbidden !== undefined) return forbidden;
  const faults = [
    ...await readOnlyMembers(given, { worker, view, vault }),
    ...workerFaults(bare, { targets, isAsymmetric }),
  ];
  if (faults.length > 0) return invalidRequest(faults);
  const keyed = await withKeys(vault, bare, { isAsymmetric });
  if (keyed.kind === "problem") return keyed;
  const fields = changedFields(view, viewWorker(keyed.worker, facts));
  if (fields.length === 0 && keyed.secret === undefined) {
    return json(view, { headers: { etag: etagOf(worker.version) } });
  }
  const next: WorkerDefinition = {
    ...keyed.worker,
    version: worker.version + 1,
    updatedAtMs: nowMs,
  };
  const { secret } = keyed;
  return {
    kind: "plan",
    writes: [
      engine.parts.repositories.workers.update(worker, next),
      auditOf(call, {
        action: "worker.updated",
        target: next.id,
        detail: { name: next.name, fields },
      }),
      ...keyed.writes,
    ],
    answer: json({
      ...viewWorker(next, facts),
      signing_secret: secret,
    }, {
      headers: { etag: etagOf(next.version) },
    }),
    onConflict: ({ reason }) =>
      reason === "alias" ? nameTaken("change", next.name) : undefined,
    afterwards: () =>
      engine.claims.trigger({ tenantId: next.tenantId, workerId: next.id }),
  };
}

/** The names of what is told differently now, but for what changes by itself. */
function changedFields(
  before: WorkerView,
  after: WorkerView,
): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) =>
    !Object.hasOwn(LIVE_FIELDS, name) && !BOOKKEEPING.includes(name) &&
    !sameMember(before, after, name)
  );
}

/** A missing member is not the same as null: no retry policy is not none. */
function sameMember(
  before: WorkerView,
  after: WorkerView,
  name: string,
): boolean {
  return Object.hasOwn(before, name) === Object.hasOwn(after, name) &&
    jsonEquals(before[name], after[name]);
}
