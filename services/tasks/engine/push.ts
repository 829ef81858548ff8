/**
 * Calls push workers.
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

/** How often the store is asked which push workers have tasks. */
const LOOK_AGAIN_MS = 5_000;
/** Workers of one look. */
const PAGE = 500;

interface PushOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  readonly claims: Claims;
  /** Makes one call and writes its outcome. */
  readonly delivery: Delivery;
  /** Most calls at once. */
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

  /** Listens to changes; makes no calls yet. */
  constructor(options: PushOptions) {
    this.#options = options;
    this.#permits = new PushPermits(options.maxInFlight);
    const { clock, logger } = options.parts;
    const onError = (error: unknown): void => {
      logger.error(
        "Cannot look for the tasks of push workers: the store failed",
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
    options.changes.onChange((change) => this.#onChange(change));
  }

  /** Starts with the tasks that are due. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /**
   * Takes no more tasks and waits for the calls under way; the tasks of calls
   * that have not ended after `graceMs` are released, without spending an
   * attempt.
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

  /** Calls under way. */
  get inFlight(): number {
    return this.#permits.inUse;
  }

  #onChange({ previous, next, placement }: TaskChange): void {
    if (next === undefined) return;
    if (previous?.status === "running" && next.status === "canceled") {
      this.#options.delivery.cancel(previous);
    }
    if (placement?.rank === undefined || this.#isStopped) return;
    const { tenantId, workerId } = next;
    if (this.#waiters.has(workerKey(next))) return;
    const worker = this.#options.parts.workers.get(tenantId, workerId);
    // Most tasks are of workers that come for them.
    if (!(worker instanceof Promise) && worker?.kind !== "push") return;
    this.#work.run(() => this.#serve(next, worker));
  }

  /** Starts to wait for a worker's tasks, if the service is to call it. */
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

  /** A permit was released: the workers that had to wait for one look again. */
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
  /** Makes the call of a task; settles when its outcome is written. */
  readonly deliver: (grant: Grant) => Promise<void>;
  /** Is called when permits were released. */
  readonly onRelease: () => void;
}

/** Waits for the tasks of one push worker, as many as there are permits for. */
class PushWaiter implements Waiter {
  /** The service makes the calls. */
  readonly isPush = true;
  /** The worker. */
  readonly worker: WorkerName;
  /** Calls under way. */
  inFlight = 0;
  /** Whether it has taken tasks since the last look. */
  wasUsed = true;
  readonly #options: PushWaiterOptions;
  #isClosed = false;

  constructor(options: PushWaiterOptions) {
    this.#options = options;
    this.worker = options.worker;
  }

  /** Most tasks that are wanted now. */
  max(): number {
    if (this.#isClosed) return 0;
    return this.#options.permits.free(this.worker.tenantId);
  }

  /** Takes permits for the calls to come. */
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

  /** Starts the calls that it holds permits for. */
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

  /** Takes no more tasks; those being claimed for it are released. */
  close(): void {
    this.#isClosed = true;
  }
}

/**
 * Permits for push calls, which bound the calls of all tenants together. While
 * there are enough, each tenant takes what it wants; when they become scarce, none
 * takes more than an equal share.
 */
export class PushPermits {
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  #all = 0;
  #isScarce = false;

  /** Permits for `max` calls at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Calls under way. */
  get inUse(): number {
    return this.#all;
  }

  /** How many more calls a tenant may begin. */
  free(tenantId: string): number {
    const mine = this.#taken.get(tenantId) ?? 0;
    const tenants = this.#taken.size + (mine === 0 ? 1 : 0);
    const share = Math.max(1, Math.floor(this.#max / tenants));
    const free = Math.max(0, Math.min(this.#max - this.#all, share - mine));
    if (free === 0) this.#isScarce = true;
    return free;
  }

  /** Whether a tenant found no permit free since the last call of this. */
  takeScarcity(): boolean {
    const wasScarce = this.#isScarce;
    this.#isScarce = false;
    return wasScarce;
  }

  /** So many calls of a tenant begin. */
  take(tenantId: string, calls: number): void {
    this.#all += calls;
    const taken = (this.#taken.get(tenantId) ?? 0) + calls;
    if (taken === 0) this.#taken.delete(tenantId);
    else this.#taken.set(tenantId, taken);
  }

  /** So many calls of a tenant have ended. */
  release(tenantId: string, calls: number): void {
    this.take(tenantId, -calls);
  }
}
