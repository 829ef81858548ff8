/**
 * The routes that change workers, and pause and resume them.
 *
 * @module
 */

import { asGiven } from "../../../shared/schema/composite.ts";
import { jsonEquals } from "../../../shared/schema/json_value.ts";
import { NO_FIELDS } from "../../../shared/schema/object.ts";
import { type ReadOutcome, readWhole } from "../../../shared/schema/schema.ts";
import type { MaybePromise } from "../../../shared/settled.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { json } from "../../http/answer.ts";
import { type CallContext, getCaller, getLimits } from "../../http/call.ts";
import {
  CALL_ADDRESS_RULE,
  workerAddressRefusal,
} from "../../http/call_address.ts";
import { formatEtag } from "../../http/etag.ts";
import { copiedMember, patchedMembers } from "../../http/merge_patch.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, optionalBody, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { buildAuditWrite, nextVersion } from "../record_plan.ts";
import type { Planned, RecordResource } from "../record_resource.ts";
import type { RecordView } from "../record_table.ts";
import { withKeys } from "./signing_keys.ts";
import {
  CHANGES_EXAMPLE,
  isLive,
  MAX_WORKER_BYTES,
  viewWorker,
  WORKER,
  WORKER_CHANGES,
  WORKER_EXAMPLE,
  type WorkerChanges,
} from "./worker_fields.ts";
import {
  changedWorker,
  loadFacts,
  readOnlyMembers,
  workerFaults,
} from "./worker_resource.ts";

/** The answer of a route that changes a worker. */
const CHANGED = {
  200: {
    description: "The worker as it is now",
    shape: WORKER,
    example: WORKER_EXAMPLE,
  },
};

/** A patch can be read only when the worker that it is for is known. */
const PATCH = asGiven(WORKER_CHANGES.json, [WORKER_CHANGES]);

/** The routes that change a worker. */
export function changeWorkerRoutes(
  parts: ApiParts,
  resource: RecordResource<WorkerDefinition>,
): readonly AnyRoute[] {
  const common = {
    path: "/v1/workers/:id",
    answers: CHANGED,
    conditions: "change",
    problems: ["read_only", "name_taken", "secrets_unavailable"],
  } as const;
  return [
    resource.route({
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
        resource.change(call, (worker) =>
          planChange(call, worker, {
            parts,
            read: () => ({ kind: "ok", value: call.body }),
          })),
    }),
    resource.route({
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
        resource.change(call, (worker) =>
          planChange(call, worker, {
            parts,
            read: async (view) =>
              readWhole(
                WORKER_CHANGES,
                await patchedMembers(call.body, {
                  copyMember: (name) => copiedMember(view, name),
                  pausing: call.pausing,
                }),
              ),
          })),
    }),
  ];
}

/** Plans a change of a worker. */
async function planChange(
  call: CallContext,
  worker: WorkerDefinition,
  { parts, read }: {
    readonly parts: ApiParts;
    /** Reads the changes, given the worker as the API shows it. */
    readonly read: (
      view: RecordView,
    ) => MaybePromise<ReadOutcome<WorkerChanges>>;
  },
): Promise<Planned> {
  const { engine, vault, targets } = parts;
  const facts = await loadFacts(engine, worker);
  const view = viewWorker(worker, facts);
  const changes = await read(view);
  if (changes.kind === "invalid") return invalidRequest(changes.faults);
  const { value: given } = changes;
  const isAsymmetric = given.asymmetric === undefined
    ? worker.asymmetric !== undefined
    : given.asymmetric === true;
  const bare = changedWorker(worker, given, call);
  const forbidden = workerAddressRefusal(getCaller(call), {
    before: worker,
    after: bare,
  });
  if (forbidden !== undefined) return forbidden;
  const faults = [
    ...await readOnlyMembers(given, { worker, view, vault }),
    ...workerFaults(bare, {
      targets,
      isAsymmetric,
      retentionMs: getLimits(call).retentionMs,
    }),
  ];
  if (faults.length > 0) return invalidRequest(faults);
  const keyed = await withKeys(vault, bare, { isAsymmetric, isNew: false });
  if (keyed.kind === "problem") return keyed;
  const { secret } = keyed;
  const fields = changedFields(view, viewWorker(keyed.worker, facts));
  if (fields.length === 0 && secret === undefined) {
    return json(view, { headers: { etag: formatEtag(worker.version) } });
  }
  const next = nextVersion(keyed.worker, call);
  return {
    kind: "plan",
    writes: [
      engine.parts.repositories.workers.update(worker, next),
      buildAuditWrite(call, {
        action: "worker.updated",
        target: next.id,
        detail: { name: next.name, fields },
      }),
      ...keyed.writes,
    ],
    answer: json({ ...viewWorker(next, facts), signing_secret: secret }, {
      headers: { etag: formatEtag(next.version) },
    }),
    onConflict: ({ reason }) =>
      reason === "alias" ? nameTaken("change", next.name) : undefined,
    afterwards: () =>
      engine.claims.trigger({ tenantId: next.tenantId, workerId: next.id }),
  };
}

/** The problem of a worker's name that is taken. */
export function nameTaken(
  verb: "create" | "change",
  name: string,
): ProblemAnswer {
  return problem("name_taken", {
    detail: `Cannot ${verb} worker: the name "${name}" is taken`,
  });
}

/**
 * Members that change with every change, and so do not tell what has changed.
 */
const BOOKKEEPING = ["updated_at", "version", "paused_at", "paused_by"];

/**
 * The names of the shown members that differ, except those that change by
 * themselves. A missing member is not the same as null: in `retry`, missing
 * means no policy of its own, null means no retries.
 */
function changedFields(
  before: RecordView,
  after: RecordView,
): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) =>
    !isLive(name) && !BOOKKEEPING.includes(name) &&
    (Object.hasOwn(before, name) !== Object.hasOwn(after, name) ||
      !jsonEquals(before[name], after[name]))
  );
}

/** The routes that pause and resume a worker. */
export function pauseWorkerRoutes(
  { engine }: ApiParts,
  resource: RecordResource<WorkerDefinition>,
): readonly AnyRoute[] {
  const verbs = [{
    verb: "pause",
    paused: true,
    summary: "Pause a worker",
    description: "Attempts under way go on; tasks wait. It stays so until " +
      "it is resumed, whatever else happens.",
  }, {
    verb: "resume",
    paused: false,
    summary: "Resume a worker",
    description: "Waiting tasks are given out at once.",
  }] as const;
  return verbs.map(({ verb, paused, summary, description }) =>
    resource.route({
      method: "POST",
      path: `/v1/workers/:id/${verb}`,
      operationId: `${verb}Worker`,
      summary,
      description,
      body: optionalBody(NO_FIELDS),
      answers: CHANGED,
      isIdempotent: true,
      conditions: "change",
      problems: [],
      handle: (call) =>
        resource.change(call, async (worker) => {
          if (worker.isPaused === paused) {
            return await resource.answer(worker, call);
          }
          const { tenantId, id: workerId, name } = worker;
          const next = nextVersion(
            changedWorker(worker, { paused }, call),
            call,
          );
          const answer = await resource.answer(next, call);
          return {
            kind: "plan",
            writes: [
              engine.parts.repositories.workers.update(worker, next),
              buildAuditWrite(call, {
                action: `worker.${verb}d`,
                target: workerId,
                detail: { name },
              }),
              ...call.extraWrites(answer),
            ],
            answer,
            afterwards: () => engine.claims.trigger({ tenantId, workerId }),
          };
        }),
    })
  );
}
