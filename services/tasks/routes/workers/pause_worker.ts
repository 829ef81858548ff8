/**
 * The routes that stop a worker and let it go on.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type CallContext, tenantOf } from "../../http/call.ts";
import { answerOfChange, etagOf } from "../../http/etag.ts";
import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { NO_FIELDS } from "../../../shared/schema/object.ts";
import { viewWorker } from "./worker_view.ts";
import { actorText } from "./actor_text.ts";
import { auditOf } from "./audit.ts";
import { changedWorker } from "./worker_definition.ts";
import { factsOf, findWorker, noSuchWorker } from "./worker_finder.ts";
import { WORKER, WORKER_EXAMPLE } from "./worker_schema.ts";

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
