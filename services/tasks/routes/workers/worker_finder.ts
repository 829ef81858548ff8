/**
 * Finds the worker that a path names, and what is known of it.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";
import type { Engine } from "../../engine/engine.ts";
import type { WorkerFacts } from "./worker_view.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";

/** The worker of that id or, whatever the case, that name; of this tenant alone. */
export async function findWorker(
  { parts }: Pick<Engine, "parts">,
  tenantId: string,
  idOrName: string,
): Promise<WorkerDefinition | undefined> {
  const { workers } = parts.repositories;
  // No name is like an id, so each is looked for in one place only.
  return idOrName.startsWith("wrk_")
    ? await workers.get(tenantId, idOrName)
    : await workers.byAlias(tenantId, idOrName.toLowerCase());
}

/** The problem of a worker that is not there. */
export function noSuchWorker(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find worker: there is none with this id or name",
  });
}

/** What is known of a worker now. */
export async function factsOf(
  engine: Pick<Engine, "parts" | "liveness">,
  { tenantId, id: workerId }: Pick<WorkerDefinition, "tenantId" | "id">,
): Promise<WorkerFacts> {
  const { store, clock } = engine.parts;
  const life = engine.liveness.of({ tenantId, workerId });
  return {
    ...(life === undefined ? {} : { life }),
    counts: await store.counts({ tenantId, workerId }),
    nowMs: clock.nowMs(),
  };
}
