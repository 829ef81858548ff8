/**
 * The leases of pull workers: they wait for tasks, keep their leases, and
 * report how the work went.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { Task } from "../domain/task.ts";
import type { LeaseProof, TaskEvent } from "../domain/task_event.ts";
import { countWaitChars } from "../domain/wait.ts";
import { sha256 } from "../store/digest.ts";
import type { WorkerName } from "../store/queries.ts";
import type {
  ConflictReason,
  EventOutcome,
  EventRequest,
  TaskChanges,
} from "./changes.ts";
import { releaseRequests } from "./claim_round.ts";
import type { Claims } from "./claims.ts";
import type { Liveness } from "./workers.ts";
import type { Grant, Waiter } from "./waiter.ts";

/** A worker's request for tasks. */
interface LeaseRequest
  extends WorkerName, Pick<Waiter, "jobs" | "leaseMs" | "instance"> {
  /** The most tasks that the worker wants. */
  readonly max: number;
  /**
   * How long to wait for the first task, in milliseconds; even with 0 the store
   * is asked once.
   */
  readonly waitMs: number;
  /**
   * Tells whether the worker may still get tasks. It is called before the
   * worker gets tasks that it has waited for; when it returns false, the
   * request returns no tasks.
   *
   * @default the worker may
   */
  readonly isStillAuthorized?: () => MaybePromise<boolean>;
  /**
   * Calls the listener once when the client goes away.
   *
   * @returns a function that removes the listener
   */
  readonly onGone?: (listener: () => void) => () => void;
}

/** The holder of a lease, or a caller that claims to be. */
export interface LeaseHolder {
  /** The tenant. */
  readonly tenantId: string;
  /** The lease's id. */
  readonly leaseId: string;
  /**
   * The id of the lease's task; undefined when `leaseId` is not one of a lease.
   */
  readonly taskId: string | undefined;
  /** The hash of the token that was presented. */
  readonly tokenHash: string;
}

/** Builds the holder of a lease from the token that was presented. */
export function leaseHolder(
  { tenantId, leaseId, token }: {
    readonly tenantId: string;
    readonly leaseId: string;
    readonly token: string;
  },
): LeaseHolder {
  const taskId = taskOfLease(leaseId);
  return { tenantId, leaseId, taskId, tokenHash: sha256(token) };
}

/**
 * The id of the task of a lease; undefined when the text is not the id of a
 * lease.
 */
export function taskOfLease(leaseId: string): string | undefined {
  const match = /^lse_([0-9a-z]{26})_[1-9]\d{0,15}$/.exec(leaseId);
  return match === null ? undefined : `tsk_${match[1]}`;
}

/** A report by the holder of a lease. */
export interface LeaseReport {
  /** Who sends the report. */
  readonly holder: LeaseHolder;
  /** Creates the event of the report, given the proof of the lease. */
  event(lease: LeaseProof, task: Task): TaskEvent;
}

/** The outcome of a report. */
export type LeaseOutcome =
  | { readonly kind: "ok"; readonly task: Task; readonly isRepeated: boolean }
  /** The caller does not hold the lease, or no longer. */
  | {
    readonly kind: "lease_gone";
    readonly reason: string;
    /** Whether the caller held the lease and the task was canceled. */
    readonly isCanceled: boolean;
  }
  /** There is no such lease. */
  | { readonly kind: "missing" }
  | { readonly kind: "conflict"; readonly reason: ConflictReason };

interface LeasesOptions {
  readonly claims: Claims;
  readonly changes: TaskChanges;
  /** Records when workers last asked for tasks. */
  readonly liveness: Liveness;
  readonly clock: Clock;
}

/** The leases of pull workers. */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #waiters = new Set<LeaseWaiter>();
  /**
   * Tasks that were handed out lately, which saves reading them at their end.
   */
  readonly #recent = new RecentTasks();
  #isStopped = false;

  /** Takes the claims and the changes that leases are made of. */
  constructor(options: LeasesOptions) {
    this.#options = options;
    options.changes.onChange(({ next }) => {
      if (next !== undefined) this.#recent.update(next);
    }, ["changed"]);
  }

  /**
   * Leases tasks; waits for the first one.
   *
   * @throws {Error} when the store failed in the last round, so that there may
   * be tasks that could not be claimed
   */
  async lease(request: LeaseRequest): Promise<readonly Grant[]> {
    const { claims, clock, liveness } = this.#options;
    const { waitMs, instance, jobs } = request;
    liveness.seen(request, { instance, jobs, nowMs: clock.nowMs() });
    const waiter = new LeaseWaiter(request);
    // At the timeout, a round that is running is awaited: the tasks that it
    // claims would otherwise have to be released.
    const timeOut = async (): Promise<void> => {
      const failure = await claims.afterCurrentRound(request, waiter);
      if (failure === undefined) waiter.cancel();
      else waiter.fail(failure.error);
    };
    const timer = waitMs > 0 && !this.#isStopped
      ? clock.setTimer(timeOut, waitMs)
      : undefined;
    const removeListener = request.onGone?.(() => waiter.cancel());
    this.#waiters.add(waiter);
    try {
      if (!claims.add(request, waiter)) return [];
      if (timer === undefined) void timeOut();
      const grants = await waiter.grants;
      for (const { task } of grants) this.#recent.add(task);
      return grants;
    } finally {
      timer?.cancel();
      removeListener?.();
      this.#waiters.delete(waiter);
      claims.remove(request, waiter);
    }
  }

  /**
   * Gives leased tasks back that cannot be handed over, so that they do not
   * wait for the end of their leases. No attempt is used up.
   *
   * @throws {Error} when the store fails; the leases then end by themselves
   */
  async giveBack(grants: readonly Grant[], reason: string): Promise<void> {
    await this.#options.changes.applyAll(releaseRequests(grants, reason));
  }

  /**
   * Ends all waiting requests without tasks, because the server stops; later
   * requests do not wait.
   */
  stop(): void {
    this.#isStopped = true;
    for (const waiter of [...this.#waiters]) waiter.cancel();
  }

  /**
   * Tells whether a lease is known to be held by the caller, without reading
   * the store. A caller may hold the lease even when this returns false.
   */
  isHeldBy({ tenantId, leaseId, taskId, tokenHash }: LeaseHolder): boolean {
    const task = this.#recent.get(taskId ?? "");
    return task?.tenantId === tenantId && task.attempt?.id === leaseId &&
      task.attempt.tokenHash === tokenHash;
  }

  /** Applies the report of a lease's holder. */
  async report(report: LeaseReport): Promise<LeaseOutcome> {
    const [outcome] = await this.reportAll([report]);
    return outcome ?? { kind: "missing" };
  }

  /** Applies the reports of the holders of different leases, in one commit. */
  async reportAll(
    reports: readonly LeaseReport[],
  ): Promise<readonly LeaseOutcome[]> {
    const requests = reports.flatMap((report): EventRequest[] => {
      const { tenantId, leaseId, taskId, tokenHash } = report.holder;
      if (taskId === undefined) return [];
      const recent = this.#recent.get(taskId);
      return [{
        tenantId,
        id: taskId,
        event: (task) => report.event({ id: leaseId, tokenHash }, task),
        actor: (task) => ({ type: "worker", id: task.workerId }),
        cachedTask: recent?.tenantId === tenantId ? recent : undefined,
      }];
    });
    const outcomes = await this.#options.changes.applyAll(requests);
    let next = 0;
    return reports.map(({ holder }) =>
      holder.taskId === undefined
        ? { kind: "missing" }
        : toOutcome(outcomes[next++], holder)
    );
  }
}

/** A pull worker that waits for tasks; it gets tasks only once. */
class LeaseWaiter implements Waiter {
  readonly isPush = false;
  readonly jobs: readonly string[] | undefined;
  readonly leaseMs: number | undefined;
  readonly instance: string | undefined;
  readonly #request: LeaseRequest;
  readonly #answered = Promise.withResolvers<readonly Grant[]>();
  #isOpen = true;

  constructor(request: LeaseRequest) {
    this.#request = request;
    this.jobs = request.jobs;
    this.leaseMs = request.leaseMs;
    this.instance = request.instance;
  }

  /** The tasks that the waiter gets. */
  get grants(): Promise<readonly Grant[]> {
    return this.#answered.promise;
  }

  max(): number {
    return this.#isOpen ? this.#request.max : 0;
  }

  reauthorize(): MaybePromise<void> {
    return andThen(this.#request.isStillAuthorized?.() ?? true, (is) => {
      if (!is) this.cancel();
    });
  }

  take(grants: readonly Grant[]): boolean {
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    this.#answered.resolve(grants);
    return true;
  }

  /** Ends the waiting without tasks, unless it has ended. */
  cancel(): void {
    this.take([]);
  }

  /** Ends the waiting with an error, unless it has ended. */
  fail(error: unknown): void {
    this.#isOpen = false;
    this.#answered.reject(error);
  }
}

function toOutcome(
  outcome: EventOutcome | undefined,
  { leaseId, tokenHash }: LeaseHolder,
): LeaseOutcome {
  switch (outcome?.kind) {
    case "changed":
      return { kind: "ok", task: outcome.task, isRepeated: false };
    case "unchanged":
      return { kind: "ok", task: outcome.task, isRepeated: true };
    case "refused": {
      const { settled } = outcome.task;
      return {
        kind: "lease_gone",
        reason: outcome.reason,
        isCanceled: settled?.id === leaseId &&
          settled.outcome === "canceled" && settled.tokenHash === tokenHash,
      };
    }
    case "conflict":
      return outcome;
    case "purged":
    case "missing":
    case undefined:
      return { kind: "missing" };
  }
}

/** How many running tasks are remembered. */
const MAX_TASKS = 20_000;
/** The most characters of data, events and state of a task that is remembered. */
const MAX_DATA_CHARS = 4_096;

/**
 * A cache of running tasks, so that the end of a task needs no read. Its
 * entries may be out of date; a commit compares versions.
 */
export class RecentTasks {
  readonly #tasks = new BoundedMap<string, Task>({ maxEntries: MAX_TASKS });

  /** Remembers a task that was started. */
  add(task: Task): void {
    if (isShort(task)) this.#tasks.set(task.id, task);
  }

  /** Updates a remembered task, and forgets it when it no longer runs. */
  update(task: Task): void {
    if (!this.#tasks.has(task.id)) return;
    if (task.status === "running" && isShort(task)) {
      this.#tasks.set(task.id, task);
    } else this.#tasks.delete(task.id);
  }

  /** The task, if it is remembered. */
  get(id: string): Task | undefined {
    return this.#tasks.get(id);
  }
}

function isShort({ dataJson, wait }: Task): boolean {
  return dataJson.length + countWaitChars(wait) <= MAX_DATA_CHARS;
}
