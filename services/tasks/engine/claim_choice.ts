/**
 * Which tasks a round of claims proposes, within the bounds of the worker and of
 * its tenant's plan.
 *
 * @module
 */

import type { Task } from "../domain/task.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { Claim } from "../store/store.ts";
import type { Demand } from "./claim_demand.ts";
import { demandsByJobs, type Proposal } from "./claim_starts.ts";
import type { EngineParts } from "./parts.ts";
import type { WorkerRates } from "./worker_rates.ts";

/** What a choice depends on. */
export interface ChooseOptions {
  /** Who wants tasks. */
  readonly demands: ReadonlySet<Demand>;
  /** Most tasks of all proposals together. */
  readonly maxTasks: number;
  /** The group that had its turn last, if it is known. */
  readonly afterGroup: string | undefined;
  /** How fast tasks may be started. */
  readonly rates: WorkerRates;
  /** The engine's parts. */
  readonly parts: Pick<EngineParts, "store" | "clock" | "limitsOf">;
}

/** What was chosen. */
export interface Choice {
  /** Tasks for the demands; no task is in two of them. */
  readonly proposals: readonly Proposal[];
  /** When the rate lets the next task start, if it is what holds all back. */
  readonly retryAtMs?: number;
}

/**
 * Picks the tasks for the demands of now, first come first served.
 *
 * @throws {Error} when the store fails
 */
export async function choose(
  worker: WorkerDefinition,
  options: ChooseOptions,
): Promise<Choice> {
  const { demands: all, maxTasks, afterGroup, rates, parts } = options;
  const { tenantId, id: workerId } = worker;
  const nowMs = parts.clock.nowMs();
  const limits = await parts.limitsOf(tenantId);
  const bounds = [worker.concurrency, limits.concurrency ?? 0]
    .filter((bound) => bound > 0);
  const groupBound = worker.limits?.groupConcurrency;
  const counts = bounds.length > 0 || groupBound !== undefined
    ? await parts.store.running(tenantId, workerId)
    : undefined;
  const free = Math.min(...bounds) - (counts?.all ?? 0);
  const room = Math.min(maxTasks, free, rates.room(worker, nowMs));
  if (room <= 0) {
    const nextAtMs = rates.nextAtMs(worker, nowMs);
    return nextAtMs > nowMs
      ? { proposals: [], retryAtMs: nextAtMs }
      : { proposals: [] };
  }
  const groupRoom = groupRoomOf(worker, {
    running: counts?.groups,
    rates,
    nowMs,
  });
  const proposals: Proposal[] = [];
  const taken = new Set<string>();
  const takenOf = new Map<string, number>();
  for (const [jobs, demands] of demandsByJobs(all, worker)) {
    const wanted = demands.reduce((sum, demand) => sum + demand.max(), 0);
    const limit = Math.min(wanted, room - taken.size);
    if (limit <= 0) continue;
    const claim: Claim = {
      tenantId,
      workerId,
      limit: limit + taken.size,
      ...(jobs === undefined ? {} : { jobs }),
      ...(afterGroup === undefined ? {} : { afterGroup }),
      ...(groupRoom === undefined ? {} : { room: groupRoom }),
    };
    const [candidates = []] = await parts.store.candidates([claim]);
    const tasks: Task[] = [];
    for (const task of candidates) {
      const { id, group } = task;
      const ofGroup = takenOf.get(group) ?? 0;
      if (tasks.length === limit) break;
      if (taken.has(id) || ofGroup >= (groupRoom?.(group) ?? Infinity)) {
        continue;
      }
      taken.add(id);
      takenOf.set(group, ofGroup + 1);
      tasks.push(task);
    }
    proposals.push({ demands, tasks });
  }
  return { proposals };
}

/** How many more tasks of a group may start; undefined when groups have no bound. */
function groupRoomOf(
  worker: WorkerDefinition,
  { running, rates, nowMs }: {
    readonly running: ReadonlyMap<string, number> | undefined;
    readonly rates: WorkerRates;
    readonly nowMs: number;
  },
): Claim["room"] {
  const bound = worker.limits?.groupConcurrency;
  const isRatePerGroup = worker.limits?.rate?.per === "group";
  if (bound === undefined && !isRatePerGroup) return undefined;
  return (group) => {
    // Tasks without a group share nothing.
    if (group === "") return Infinity;
    const free = bound === undefined
      ? Infinity
      : bound - (running?.get(group) ?? 0);
    return Math.min(free, rates.groupRoom(worker, { group, nowMs }));
  };
}
