/**
 * The steps of a round of claims: which tasks are proposed within the limits of
 * the worker and of its tenant's plan, which waiter gets which of them, and
 * what happens to tasks that could not be delivered.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { Logger } from "../../shared/logger.ts";
import { BackgroundWork } from "../../shared/periodic.ts";
import { SYSTEM_ACTOR, type WorkerDefinition } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import { sha256 } from "../store/digest.ts";
import type { Claim } from "../store/queries.ts";
import type { ClaimView } from "../store/store.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";
import { type RoundRates, sharedRunning } from "./rates.ts";
import type { Grant, Waiter } from "./waiter.ts";

const TOKEN_BYTES = 32;

/** Tasks that were proposed to waiters that want the same jobs. */
interface Proposal {
  /** The waiters in the order of their arrival. */
  readonly waiters: readonly Waiter[];
  /** The tasks. */
  readonly tasks: readonly Task[];
}

/** The tasks that a round proposes. */
export interface Choice {
  /** Tasks for the waiters; no task is in two proposals. */
  readonly proposals: readonly Proposal[];
  /**
   * When the rate limit allows the next start, if the limit is all that holds
   * tasks back.
   */
  readonly retryAtMs?: number | undefined;
}

/**
 * Chooses tasks for the current waiters, first come, first served.
 *
 * @throws {Error} when the store fails
 */
export async function choose(
  worker: WorkerDefinition,
  { waiters: all, maxTasks, afterGroup, rates, sharesGroups, view, parts }: {
    readonly waiters: ReadonlySet<Waiter>;
    /** The most tasks of all proposals together. */
    readonly maxTasks: number;
    /** The group that had its turn last, if it is known. */
    readonly afterGroup: string | undefined;
    /** The rates that hold. */
    readonly rates: RoundRates;
    /** Whether the worker shares the limits of its groups. */
    readonly sharesGroups: boolean;
    /** What the claim sees. */
    readonly view: ClaimView;
    readonly parts: Pick<EngineParts, "findLimits" | "workers">;
  },
): Promise<Choice> {
  const { tenantId, id: workerId } = worker;
  const limits = await parts.findLimits(tenantId);
  const bounds = [worker.concurrency, limits.concurrency ?? 0]
    .filter((bound) => bound > 0);
  const groupBound = worker.limits?.groupConcurrency;
  const counts = bounds.length > 0 || groupBound !== undefined
    ? await view.running(tenantId, workerId)
    : undefined;
  const free = Math.min(...bounds) - (counts?.all ?? 0);
  await rates.read(view);
  const room = Math.min(maxTasks, free, rates.room());
  if (room <= 0) {
    const nextAtMs = rates.nextAtMs();
    return {
      proposals: [],
      retryAtMs: nextAtMs > rates.nowMs ? nextAtMs : undefined,
    };
  }
  const groupRoom = createGroupRoom(worker, {
    running: sharesGroups && groupBound !== undefined
      ? await sharedRunning(tenantId, { view, workers: parts.workers })
      : counts?.groups,
    rates,
  });
  const proposals: Proposal[] = [];
  const taken = new Set<string>();
  const takenByGroup = new Map<string, number>();
  for (const [jobs, waiters] of waitersByJobs(all, worker)) {
    const wanted = waiters.reduce((sum, waiter) => sum + waiter.max(), 0);
    const limit = Math.min(wanted, room - taken.size);
    if (limit <= 0) continue;
    const candidates = await view.candidates({
      tenantId,
      workerId,
      limit: limit + taken.size,
      jobs,
      afterGroup,
      room: groupRoom,
    });
    const tasks: Task[] = [];
    for (const task of candidates) {
      const { id, group } = task;
      const ofGroup = takenByGroup.get(group) ?? 0;
      if (tasks.length === limit) break;
      if (taken.has(id) || ofGroup >= (groupRoom?.(group) ?? Infinity)) {
        continue;
      }
      taken.add(id);
      takenByGroup.set(group, ofGroup + 1);
      tasks.push(task);
    }
    proposals.push({ waiters, tasks });
  }
  return { proposals };
}

/**
 * Groups the waiters by the jobs they want, in the order of their arrival.
 * Waiters that make push calls get no tasks of a pull worker, which asks for
 * its tasks itself.
 */
function waitersByJobs(
  waiters: ReadonlySet<Waiter>,
  worker: WorkerDefinition,
): readonly (readonly [readonly string[] | undefined, readonly Waiter[]])[] {
  const groups = new Map<string, [readonly string[] | undefined, Waiter[]]>();
  for (const waiter of waiters) {
    if (waiter.isPush && worker.kind !== "push") continue;
    const name = JSON.stringify(waiter.jobs ?? null);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [waiter.jobs, [waiter]]);
    else group[1].push(waiter);
  }
  return [...groups.values()];
}

/**
 * How many more tasks of a group may start; undefined when groups have no
 * limit.
 */
function createGroupRoom(
  worker: WorkerDefinition,
  { running, rates }: {
    readonly running: ReadonlyMap<string, number> | undefined;
    readonly rates: RoundRates;
  },
): Claim["room"] {
  const { groupConcurrency: bound, rate } = worker.limits ?? {};
  if (bound === undefined && rate?.per !== "group") return undefined;
  return (group) => {
    // Tasks without a group have no group limit.
    if (group === "") return Infinity;
    const free = bound === undefined
      ? Infinity
      : bound - (running?.get(group) ?? 0);
    return Math.min(free, rates.groupRoom(group));
  };
}

/**
 * Reauthorizes the waiters that are about to get tasks after waiting: a
 * credential may have been revoked or have expired meanwhile.
 *
 * @throws {Error} when a credential cannot be checked
 */
export async function reauthorize(
  proposals: readonly Proposal[],
  hasWaited: (waiter: Waiter) => boolean,
): Promise<void> {
  for (const { tasks, waiters } of proposals) {
    let left = tasks.length;
    for (const waiter of waiters) {
      if (left <= 0) break;
      const checking = hasWaited(waiter) ? waiter.reauthorize?.() : undefined;
      if (checking !== undefined) await checking;
      left -= waiter.max();
    }
  }
}

/** A task that is about to be started for a waiter. */
export interface Start {
  /** The waiter that gets it. */
  readonly waiter: Waiter;
  /** The task as it was proposed. */
  readonly task: Task;
  /** The token of the lease that the start will create. */
  readonly token: string;
}

/**
 * Assigns tasks to waiters, as many as each accepts, until there are no more.
 */
export function assign(proposals: readonly Proposal[]): readonly Start[] {
  const starts: Start[] = [];
  for (const { tasks, waiters } of proposals) {
    let next = 0;
    for (const waiter of waiters) {
      const end = Math.min(next + waiter.max(), tasks.length);
      const tokens = leaseTokens(end - next);
      for (const [index, task] of tasks.slice(next, end).entries()) {
        starts.push({ waiter, task, token: tokens[index]! });
      }
      waiter.hold?.(end - next);
      next = end;
    }
  }
  return starts;
}

/**
 * Creates tokens that cannot be guessed. Drawing their random bytes all at once
 * is faster.
 */
function leaseTokens(count: number): readonly string[] {
  const bytes = randomBytes(count * TOKEN_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const from = index * TOKEN_BYTES;
    return `lt_${bytes.toString("base64url", from, from + TOKEN_BYTES)}`;
  });
}

/** A request to start a task as it was just read. */
type StartRequest = EventRequest & { readonly cachedTask: Task };

/** The event that starts a task. */
export function startRequest(
  { waiter, task, token }: Start,
  { worker, rates, parts }: {
    readonly worker: WorkerDefinition;
    readonly rates: RoundRates;
    readonly parts: EngineParts;
  },
): StartRequest {
  const { isPush, instance } = waiter;
  const event: TaskEvent = {
    kind: "start",
    tokenHash: sha256(token),
    bootId: isPush ? parts.instances.id : undefined,
    leaseMs: waiter.leaseMs ?? worker.leaseMs,
    instance,
  };
  return {
    tenantId: task.tenantId,
    id: task.id,
    // A task that changed since it was proposed is not started.
    event: (now) => now.version === task.version ? event : undefined,
    extraWrites: (next) => rates.writesOf(next),
    cachedTask: task,
    actor: isPush ? SYSTEM_ACTOR : { type: "worker", id: task.workerId },
  };
}

/**
 * Returns tasks that were claimed but never delivered, so that another waiter
 * gets them.
 */
export class UndeliveredTasks {
  readonly #changes: TaskChanges;
  readonly #releasing: BackgroundWork;
  #uncertain: readonly Start[] = [];

  /** Begins without any tasks to return. */
  constructor(changes: TaskChanges, logger: Logger) {
    this.#changes = changes;
    this.#releasing = new BackgroundWork((error) => {
      // The leases of these tasks end by themselves.
      logger.warn("Cannot return tasks: the store failed", {
        error: String(error),
      });
    });
  }

  /** Whether there are starts that may or may not have been applied. */
  get hasUncertain(): boolean {
    return this.#uncertain.length > 0;
  }

  /**
   * Remembers starts of a commit that failed, which may have been applied all
   * the same.
   */
  noteUncertain(starts: readonly Start[]): void {
    this.#uncertain = starts;
  }

  /**
   * Releases tasks whose start was applied although its commit failed: no
   * worker has the token, so they would time out without having been tried.
   *
   * @throws {Error} when the store fails; the call can be repeated
   */
  async releaseUncertain(): Promise<void> {
    if (!this.hasUncertain) return;
    await this.#changes.applyAll(
      this.#uncertain.map(({ task, token }): EventRequest => ({
        tenantId: task.tenantId,
        id: task.id,
        event: ({ attempt }) =>
          attempt?.tokenHash !== sha256(token) ? undefined : {
            kind: "release",
            lease: { id: attempt.id },
            reason: "the store failed before the task was handed out",
          },
        actor: SYSTEM_ACTOR,
      })),
    );
    this.#uncertain = [];
  }

  /** Releases tasks whose waiter has gone, in the background. */
  release(grants: readonly Grant[]): void {
    const requests = releaseRequests(grants, "the worker had gone");
    this.#releasing.run(() => this.#changes.applyAll(requests));
  }

  /** Waits until all releases are written. */
  async settled(): Promise<void> {
    await this.#releasing.settled();
  }
}

/**
 * The requests that give claimed tasks back without an attempt used up, so that
 * others may take them.
 */
export function releaseRequests(
  grants: readonly Grant[],
  reason: string,
): readonly EventRequest[] {
  return grants.flatMap(({ task }): EventRequest[] =>
    task.attempt === undefined ? [] : [{
      tenantId: task.tenantId,
      id: task.id,
      event: { kind: "release", lease: { id: task.attempt.id }, reason },
      actor: SYSTEM_ACTOR,
    }]
  );
}
