/**
 * Claims the due tasks of push workers and delivers them, within a limit on the
 * calls of all tenants.
 *
 * @module
 */

import { BackgroundWork, Periodic } from "../../shared/periodic.ts";
import { waitAtMost } from "../../shared/settled.ts";
import type { WorkerName } from "../store/queries.ts";
import type { TaskChange, TaskChanges } from "./changes.ts";
import type { Claims } from "./claims.ts";
import type { Delivery } from "./delivery.ts";
import type { EngineParts } from "./parts.ts";
import type { Grant, Waiter } from "./waiter.ts";
import { workerKey } from "./workers.ts";

/**
 * How often the store is asked which push workers have tasks, in milliseconds.
 */
const LOOK_AGAIN_MS = 5_000;
/** How many workers one query returns. */
const PAGE = 500;

interface PushOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  readonly claims: Claims;
  /** Makes a single call and writes its outcome. */
  readonly delivery: Delivery;
  /** The most calls at once, of all tenants together. */
  readonly maxInFlight: number;
}

/** Calls push workers with their tasks. */
export class Push {
  readonly #options: PushOptions;
  readonly #permits: PushPermits;
  readonly #waiters = new Map<string, PushWaiter>();
  readonly #work: BackgroundWork;
  readonly #periodic: Periodic;
  #isStopped = false;
  #after: WorkerName | undefined;

  /** Listens to changes; {@linkcode start} begins to make calls. */
  constructor(options: PushOptions) {
    this.#options = options;
    this.#permits = new PushPermits(options.maxInFlight);
    const { clock, logger } = options.parts;
    const onError = (error: unknown): void => {
      logger.error(
        "Cannot find the tasks of push workers: the store failed",
        { error: String(error) },
      );
    };
    this.#work = new BackgroundWork(onError);
    this.#periodic = new Periodic({
      clock,
      intervalMs: LOOK_AGAIN_MS,
      run: () => this.#look(),
      onError,
    });
    options.changes.onChange(
      (change) => this.#onChange(change),
      ["ready", "canceled"],
    );
    const { instances, notices } = options.parts;
    notices.on("due", (due) => this.#onDue(due));
    notices.on("canceled", ({ attemptId }) => {
      options.delivery.cancel(attemptId);
    });
    notices.on("gap", () => this.#periodic.wake());
    instances.onChange((change) => {
      if (change.kind === "fenced") options.delivery.giveUp();
      else if (change.isBack) this.#periodic.wake();
    });
  }

  /** Starts, with the tasks that are already due. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /**
   * Takes no more tasks and waits for the running calls. Calls that have not
   * ended after `graceMs` are aborted, and their tasks released, which uses up
   * no retry.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const looking = this.#periodic.stop();
    const { claims, delivery, parts } = this.#options;
    for (const waiter of this.#waiters.values()) {
      waiter.close();
      claims.remove(waiter.worker, waiter);
    }
    await waitAtMost(this.#work.settled(), {
      clock: parts.clock,
      timeoutMs: graceMs,
    });
    delivery.stop();
    await this.#work.settled();
    await looking;
  }

  /** How many calls are running. */
  get inFlight(): number {
    return this.#permits.inUse;
  }

  #onChange({ previous, next, placement }: TaskChange): void {
    if (next === undefined) return;
    if (previous?.status === "running" && next.status === "canceled") {
      this.#options.delivery.cancel(previous.attempt?.id ?? "");
    }
    if (placement?.rank !== undefined) this.#onDue(next);
  }

  /** Serves a worker that has tasks, if it is a push worker. */
  #onDue(of: WorkerName): void {
    if (this.#isStopped || this.#waiters.has(workerKey(of))) return;
    const worker = this.#options.parts.workers.get(of.tenantId, of.workerId);
    // Most tasks belong to pull workers, which ask for them.
    if (!(worker instanceof Promise) && worker?.kind !== "push") return;
    this.#work.run(() => this.#serve(of, worker));
  }

  /** Adds a waiter for the tasks of a worker, if it is a push worker. */
  async #serve(
    of: WorkerName,
    found = this.#options.parts.workers.get(of.tenantId, of.workerId),
  ): Promise<void> {
    const { claims, delivery } = this.#options;
    const worker = await found;
    const key = workerKey(of);
    if (worker?.kind !== "push" || this.#isStopped || this.#waiters.has(key)) {
      return;
    }
    const waiter = new PushWaiter({
      worker: { tenantId: of.tenantId, workerId: of.workerId },
      permits: this.#permits,
      deliver: (grant) => {
        const delivering = delivery.deliver(grant);
        this.#work.run(() => delivering);
        return delivering;
      },
      onRelease: () => this.#onRelease(),
    });
    this.#waiters.set(key, waiter);
    claims.add(waiter.worker, waiter);
  }

  /**
   * After a permit was released, lets the workers that found no free permit
   * claim again.
   */
  #onRelease(): void {
    if (this.#isStopped || !this.#permits.takeScarcity()) return;
    for (const { worker } of this.#waiters.values()) {
      this.#options.claims.trigger(worker);
    }
  }

  async #look(): Promise<void> {
    const { parts, claims } = this.#options;
    for (const [key, waiter] of this.#waiters) {
      if (waiter.inFlight === 0 && !waiter.wasUsed) {
        claims.remove(waiter.worker, waiter);
        this.#waiters.delete(key);
      }
      waiter.wasUsed = false;
    }
    const found = await parts.store.workersWithDueTasks({
      limit: PAGE,
      after: this.#after,
    });
    this.#after = found.length < PAGE ? undefined : found.at(-1);
    for (const worker of found) {
      if (!this.#waiters.has(workerKey(worker))) await this.#serve(worker);
    }
  }
}

/** Options of {@linkcode PushWaiter}. */
interface PushWaiterOptions {
  /** The worker. */
  readonly worker: WorkerName;
  /** The permits of all calls. */
  readonly permits: PushPermits;
  /** Makes the call of a task; resolves when its outcome is written. */
  readonly deliver: (grant: Grant) => Promise<void>;
  /** Called when permits were released. */
  readonly onRelease: () => void;
}

/**
 * Waits for the tasks of one push worker, as many as there are free permits.
 */
class PushWaiter implements Waiter {
  /** Always true: the service calls the worker. */
  readonly isPush = true;
  /** The worker. */
  readonly worker: WorkerName;
  /** How many calls of the worker are running. */
  inFlight = 0;
  /** Whether the waiter has taken tasks since the last query. */
  wasUsed = true;
  readonly #options: PushWaiterOptions;
  #isClosed = false;

  constructor(options: PushWaiterOptions) {
    this.#options = options;
    this.worker = options.worker;
  }

  /** The most tasks that it wants now. */
  max(): number {
    if (this.#isClosed) return 0;
    return this.#options.permits.free(this.worker.tenantId);
  }

  /** Takes permits for calls that are about to be made. */
  hold(tasks: number): void {
    this.inFlight += tasks;
    this.#options.permits.take(this.worker.tenantId, tasks);
  }

  /** Releases permits. */
  release(tasks: number): void {
    const { permits, onRelease } = this.#options;
    this.inFlight -= tasks;
    permits.release(this.worker.tenantId, tasks);
    onRelease();
  }

  /** Starts the calls, whose permits it already holds. */
  take(grants: readonly Grant[]): boolean {
    if (this.#isClosed) {
      this.release(grants.length);
      return false;
    }
    this.wasUsed = true;
    for (const grant of grants) {
      // `deliver` logs its faults and never rejects.
      void this.#options.deliver(grant).finally(() => this.release(1));
    }
    return true;
  }

  /** Takes no more tasks; tasks that are being claimed for it are released. */
  close(): void {
    this.#isClosed = true;
  }
}

/**
 * Permits for push calls, which limit the calls of all tenants together. While
 * there are enough, each tenant takes as many as it wants; when they become
 * scarce, no tenant takes more than an equal share. They bound the connections
 * and the memory of one process, so each instance has as many. Limits of
 * workers, which hold over instances, are no matter of theirs.
 */
export class PushPermits {
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  #all = 0;
  #isScarce = false;

  /** Creates permits for `max` calls at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** How many permits are taken. */
  get inUse(): number {
    return this.#all;
  }

  /** How many more calls a tenant may start. */
  free(tenantId: string): number {
    const mine = this.#taken.get(tenantId) ?? 0;
    const tenants = this.#taken.size + (mine === 0 ? 1 : 0);
    const share = Math.max(1, Math.floor(this.#max / tenants));
    const free = Math.max(0, Math.min(this.#max - this.#all, share - mine));
    if (free === 0) this.#isScarce = true;
    return free;
  }

  /**
   * Tells whether a tenant has found no free permit since this was last called.
   */
  takeScarcity(): boolean {
    const wasScarce = this.#isScarce;
    this.#isScarce = false;
    return wasScarce;
  }

  /** Takes permits for calls of a tenant. */
  take(tenantId: string, calls: number): void {
    this.#all += calls;
    const taken = (this.#taken.get(tenantId) ?? 0) + calls;
    if (taken === 0) this.#taken.delete(tenantId);
    else this.#taken.set(tenantId, taken);
  }

  /** Returns the permits of a tenant's calls that have ended. */
  release(tenantId: string, calls: number): void {
    this.take(tenantId, -calls);
  }
}
