/**
 * Workers as a resource of the API: how the worker of a call is found, and what is
 * known of it.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";
import type { Engine } from "../../engine/engine.ts";
import { tenantOf } from "../../http/call.ts";
import { etagOf } from "../../http/etag.ts";
import type { ProblemAnswer } from "../../http/problem_answer.ts";
import type { ApiParts } from "../api_parts.ts";
import { noSuchRecord } from "../record_plan.ts";
import { RecordResource } from "../record_resource.ts";
import { viewWorker, WORKER, type WorkerFacts } from "./worker_fields.ts";

/** Workers as a resource. */
export function workerResource(
  { engine }: ApiParts,
): RecordResource<WorkerDefinition> {
  const { store, repositories, workers } = engine.parts;
  return new RecordResource<WorkerDefinition>({
    noun: "worker",
    name: "Worker",
    path: "/v1/workers/:id",
    tags: ["workers"],
    access: {
      read: { kind: "member", role: "viewer", scope: "workers:read" },
      write: { kind: "member", role: "admin", scope: "workers:write" },
    },
    shape: WORKER,
    store,
    repository: repositories.workers,
    find: async (call) => {
      const { id: idOrName = "" } = call.params;
      return await workers.find(tenantOf(call).id, idOrName) ?? noSuchWorker();
    },
    view: async (worker) => viewWorker(worker, await factsOf(engine, worker)),
    tag: ({ version }) => etagOf(version),
  });
}

/** The problem of a worker that is not there. */
export function noSuchWorker(): ProblemAnswer {
  return noSuchRecord("worker", "id or name");
}

/** What is known of a worker now. */
export async function factsOf(
  engine: Pick<Engine, "parts" | "liveness">,
  { tenantId, id: workerId }: Pick<WorkerDefinition, "tenantId" | "id">,
): Promise<WorkerFacts> {
  const { store, clock } = engine.parts;
  return {
    life: engine.liveness.of({ tenantId, workerId }),
    counts: await store.counts({ tenantId, workerId }),
    nowMs: clock.nowMs(),
  };
}
