/**
 * Who gets which of the tasks that were proposed.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { SYSTEM_ACTOR, type WorkerDefinition } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { EventRequest } from "./changes.ts";
import type { Demand } from "./claim_demand.ts";
import { sha256 } from "../store/digest.ts";
import type { EngineParts } from "./parts.ts";

const TOKEN_BYTES = 32;

/** A task that is to be started for somebody. */
export interface Start {
  /** Who wants it. */
  readonly demand: Demand;
  /** The task as it was proposed. */
  readonly task: Task;
  /** The token of the lease to be. */
  readonly token: string;
}

/** Tasks that were proposed for demands of the same jobs. */
export interface Proposal {
  /** Who wants them, first come first served. */
  readonly demands: readonly Demand[];
  /** The tasks. */
  readonly tasks: readonly Task[];
}

/**
 * The demands by the jobs they want, in the order of their arrival. The service
 * calls nobody that asks for tasks by now.
 */
export function demandsByJobs(
  demands: ReadonlySet<Demand>,
  worker: WorkerDefinition,
): readonly (readonly [readonly string[] | undefined, readonly Demand[]])[] {
  const groups = new Map<string, [readonly string[] | undefined, Demand[]]>();
  for (const demand of demands) {
    if (demand.isPush && worker.kind !== "push") continue;
    const name = JSON.stringify(demand.jobs ?? null);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [demand.jobs, [demand]]);
    else group[1].push(demand);
  }
  return [...groups.values()];
}

/**
 * Asks those who are about to be given tasks, and have waited for them, whether
 * they may still have any: what let somebody in may have ended meanwhile.
 *
 * @throws {Error} when that cannot be told
 */
export async function askAgain(
  proposals: readonly Proposal[],
  hasWaited: (demand: Demand) => boolean,
): Promise<void> {
  for (const { tasks, demands } of proposals) {
    let left = tasks.length;
    for (const demand of demands) {
      if (left <= 0) break;
      const asking = hasWaited(demand) ? demand.askAgain?.() : undefined;
      if (asking !== undefined) await asking;
      left -= demand.max();
    }
  }
}

/** Gives tasks to demands, each as many as it wants, until there are no more. */
export function deal(proposals: readonly Proposal[]): readonly Start[] {
  const starts: Start[] = [];
  for (const { tasks, demands } of proposals) {
    let next = 0;
    for (const demand of demands) {
      const end = Math.min(next + demand.max(), tasks.length);
      const tokens = leaseTokens(end - next);
      for (const [index, task] of tasks.slice(next, end).entries()) {
        starts.push({ demand, task, token: tokens[index]! });
      }
      demand.hold?.(end - next);
      next = end;
    }
  }
  return starts;
}

/** Tokens that nobody can guess; random bytes come cheaper together. */
function leaseTokens(count: number): readonly string[] {
  const bytes = randomBytes(count * TOKEN_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const from = index * TOKEN_BYTES;
    return `lt_${bytes.toString("base64url", from, from + TOKEN_BYTES)}`;
  });
}

/** The event that starts a task. */
export function startRequest(
  { demand, task, token }: Start,
  { worker, parts }: {
    readonly worker: WorkerDefinition;
    readonly parts: EngineParts;
  },
): EventRequest {
  const event: TaskEvent = {
    kind: "start",
    tokenHash: sha256(token),
    ...(demand.isPush ? { bootId: parts.bootId } : {}),
    leaseMs: demand.leaseMs ?? worker.leaseMs,
    ...(demand.instance === undefined ? {} : { instance: demand.instance }),
  };
  return {
    tenantId: task.tenantId,
    id: task.id,
    // A task that changed since it was proposed is not started blindly.
    event: (now) => now.version === task.version ? event : undefined,
    known: task,
    actor: demand.isPush
      ? SYSTEM_ACTOR
      : { type: "worker", id: demand.actorId },
  };
}
