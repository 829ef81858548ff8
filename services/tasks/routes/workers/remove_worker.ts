/**
 * The routes that remove, pause and resume workers.
 *
 * @module
 */

import { NO_FIELDS } from "../../../shared/schema/object.ts";
import { actorOf } from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { LIVE_STATUSES } from "../../domain/task.ts";
import type { EventRequest } from "../../engine/changes.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  callerOf,
  tenantOf,
} from "../../http/call.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import type { TaskPosition } from "../../store/queries.ts";
import type { ApiParts } from "../api_parts.ts";
import { actorText } from "./actor_text.ts";
import { auditOf } from "./change_worker.ts";
import {
  factsOf,
  findWorker,
  noSuchWorker,
  viewWorker,
} from "./read_workers.ts";
import { changedWorker } from "./worker_definition.ts";
import { REMOVAL_QUERY, WORKER, WORKER_EXAMPLE } from "./worker_fields.ts";

/** Tasks that are canceled in one commit. */
const PAGE = 250;

type RemovalCall = Call<{ readonly cancel: boolean }, unknown>;

/** The route that removes a worker. */
export function removeWorkerRoute(parts: ApiParts): AnyRoute {
  return defineRoute({
    method: "DELETE",
    path: "/v1/workers/:id",
    hosts: "tenant",
    operationId: "removeWorker",
    summary: "Remove a worker with its secrets and credentials",
    description: "A worker with live tasks is removed only with " +
      "`cancel=true`, which cancels them all before.",
    tags: ["workers"],
    access: { kind: "member", role: "admin", scope: "workers:write" },
    query: REMOVAL_QUERY,
    answers: { 204: { description: "It is gone" } },
    conditions: "change",
    problems: ["worker_in_use"],
    handle: (call) => removeWorker(call, parts),
  });
}

async function removeWorker(
  call: RemovalCall,
  parts: ApiParts,
): Promise<Answer> {
  const { engine } = parts;
  const tenantId = tenantOf(call).id;
  const find = (): Promise<WorkerDefinition | undefined> =>
    findWorker(engine, tenantId, call.params.id ?? "");
  const first = await find();
  if (first === undefined) return noSuchWorker();
  const refusal = answerOfChange(call, etagOf(first.version));
  if (refusal !== undefined) return refusal;
  // Tasks that are made while the others are canceled are counted below.
  if (call.query.cancel) {
    await cancelTasks(call, { parts, worker: first, toMs: call.nowMs });
  }
  const answer = await commitPlan(engine.parts.store, async () => {
    const worker = await find();
    return worker?.id === first.id
      ? await planRemoval(call, { parts, worker })
      : noSuchWorker();
  });
  if (answer.kind !== "empty") return answer;
  // Until the commit another request could still make a task.
  await cancelTasks(call, { parts, worker: first });
  return answer;
}

async function planRemoval(
  call: RemovalCall,
  { parts, worker }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
  },
): Promise<CommitPlan | Answer> {
  const { engine, workerCredentials } = parts;
  const { workers, secrets, retiredSecrets, credentials } =
    engine.parts.repositories;
  const { tenantId, id } = worker;
  const refusal = answerOfChange(call, etagOf(worker.version)) ??
    await useRefusal(worker, parts);
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
  const live = LIVE_STATUSES.reduce(
    (sum, status) => sum + (counts[status] ?? 0),
    0,
  );
  if (live === 0) return undefined;
  return problem("worker_in_use", {
    detail: `Cannot remove worker: it has ${live} live tasks; "cancel=true" ` +
      "cancels them",
    extensions: { live },
  });
}

/** Cancels live tasks page by page; those made later than `toMs` are left. */
async function cancelTasks(
  call: RemovalCall,
  { parts, worker, toMs }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
    readonly toMs?: number;
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

/** The routes that pause and resume a worker. */
export function pauseWorkerRoutes(parts: ApiParts): readonly AnyRoute[] {
  return [
    pauseRoute(parts, {
      verb: "pause",
      operationId: "pauseWorker",
      summary: "Give a worker no more tasks",
      description: "Attempts under way go on; tasks wait. It stays so until " +
        "it is resumed, whatever else happens.",
      isPaused: true,
    }),
    pauseRoute(parts, {
      verb: "resume",
      operationId: "resumeWorker",
      summary: "Give a worker tasks again",
      description: "What waits is given out at once.",
      isPaused: false,
    }),
  ];
}

interface Verb {
  readonly verb: "pause" | "resume";
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly isPaused: boolean;
}

function pauseRoute(parts: ApiParts, verb: Verb): AnyRoute {
  const { engine } = parts;
  return defineRoute({
    method: "POST",
    path: `/v1/workers/:id/${verb.verb}`,
    hosts: "tenant",
    operationId: verb.operationId,
    summary: verb.summary,
    description: verb.description,
    tags: ["workers"],
    access: { kind: "member", role: "admin", scope: "workers:write" },
    body: optionalBody(NO_FIELDS),
    answers: {
      200: {
        description: "The worker as it is now",
        shape: WORKER,
        example: WORKER_EXAMPLE,
      },
    },
    isIdempotent: true,
    conditions: "change",
    problems: [],
    handle: (call) =>
      commitPlan(engine.parts.store, async () => {
        const worker = await findWorker(
          engine,
          tenantOf(call).id,
          call.params.id ?? "",
        );
        return worker === undefined
          ? noSuchWorker()
          : await planPause(call, { parts, worker, verb });
      }),
  });
}

async function planPause(
  call: CallContext,
  { parts, worker, verb }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
    readonly verb: Verb;
  },
): Promise<CommitPlan | Answer> {
  const { engine } = parts;
  const { isPaused } = verb;
  const refusal = answerOfChange(call, etagOf(worker.version));
  if (refusal !== undefined) return refusal;
  const facts = await factsOf(engine, worker);
  const answerOf = (told: WorkerDefinition): Answer =>
    json(viewWorker(told, facts), { headers: { etag: etagOf(told.version) } });
  if (worker.isPaused === isPaused) return answerOf(worker);
  const { nowMs } = call;
  const actor = actorText(call);
  const next: WorkerDefinition = {
    ...changedWorker(worker, { paused: isPaused }, { nowMs, actor }),
    version: worker.version + 1,
    updatedAtMs: nowMs,
  };
  const answer = answerOf(next);
  return {
    kind: "plan",
    writes: [
      engine.parts.repositories.workers.update(worker, next),
      auditOf(call, {
        action: `worker.${verb.verb}d`,
        target: worker.id,
        detail: { name: worker.name },
      }),
      ...call.extraWrites(answer),
    ],
    answer,
    afterwards: () =>
      engine.claims.trigger({ tenantId: next.tenantId, workerId: next.id }),
  };
}
