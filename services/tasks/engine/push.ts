/**
 * Calls push workers.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import { waitAtMost } from "../../shared/settled.ts";
import { placementOf } from "../domain/placement.ts";
import type { Task } from "../domain/task.ts";
import type { TaskChanges } from "./changes.ts";
import type { Claims, WorkerName } from "./claims.ts";
import type { Delivery } from "./delivery.ts";
import type { EngineParts } from "./parts.ts";
import { PushDemand } from "./push_demand.ts";
import { PushSlots } from "./push_slots.ts";

/** How often the store is asked which push workers have tasks. */
const LOOK_AGAIN_MS = 5_000;
/** Workers of one look. */
const PAGE = 500;

/** Options of {@linkcode Push}. */
export interface PushOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Tells what has changed. */
  readonly changes: TaskChanges;
  /** Hands out tasks. */
  readonly claims: Claims;
  /** Makes one call and writes its outcome. */
  readonly delivery: Delivery;
  /** Most calls at once. */
  readonly maxInFlight: number;
}

/** Brings the tasks of push workers to them. */
export class Push {
  readonly #options: PushOptions;
  readonly #slots: PushSlots;
  readonly #demands = new Map<string, PushDemand>();
  readonly #running = new Set<Promise<void>>();
  readonly #periodic: Periodic;
  #isStopped = false;
  #after: WorkerName | undefined;

  /** Listens to what changes; calls nobody yet. */
  constructor(options: PushOptions) {
    this.#options = options;
    this.#slots = new PushSlots(options.maxInFlight);
    this.#periodic = new Periodic({
      clock: options.parts.clock,
      intervalMs: LOOK_AGAIN_MS,
      run: () => this.#look(),
      onError: (error) => this.#report(error),
    });
    options.changes.onChange((previous, next) => this.#heard(previous, next));
  }

  /** Begins with the tasks that are there. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /**
   * Takes no more tasks and waits for the calls under way; those that have not
   * ended after `graceMs` are given back, without an attempt being spent.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const looking = this.#periodic.stop();
    const { claims, delivery, parts } = this.#options;
    for (const demand of this.#demands.values()) {
      demand.close();
      claims.remove(demand.worker, demand);
    }
    await waitAtMost(this.#allEnded(), {
      clock: parts.clock,
      timeoutMs: graceMs,
    });
    delivery.stop();
    await this.#allEnded();
    await looking;
  }

  /** Calls under way. */
  get inFlight(): number {
    return this.#slots.taken;
  }

  #heard(previous: Task | undefined, next: Task | undefined): void {
    if (next === undefined) return;
    if (previous?.status === "running" && next.status === "canceled") {
      this.#options.delivery.cancel(previous);
    }
    if (placementOf(next).rank === undefined) return;
    if (this.#demands.has(nameOf(next))) return;
    this.#background(() => this.#serve(next));
  }

  /** Begins to want a worker's tasks, if the service is to call it. */
  async #serve(of: WorkerName): Promise<void> {
    const { parts, claims, delivery } = this.#options;
    const worker = await parts.workers.get(of.tenantId, of.workerId);
    const name = nameOf(of);
    if (worker?.kind !== "push" || this.#isStopped || this.#demands.has(name)) {
      return;
    }
    const demand = new PushDemand({
      worker: { tenantId: of.tenantId, workerId: of.workerId },
      slots: this.#slots,
      deliver: (grant) => {
        const running = delivery.deliver(grant);
        this.#running.add(running);
        return running.finally(() => this.#running.delete(running));
      },
      onRoom: () => this.#roomForAll(),
    });
    this.#demands.set(name, demand);
    claims.add(demand.worker, demand);
  }

  /** A slot has become free: those who went without look again. */
  #roomForAll(): void {
    if (this.#isStopped || !this.#slots.takeScarcity()) return;
    for (const { worker } of this.#demands.values()) {
      this.#options.claims.trigger(worker);
    }
  }

  async #look(): Promise<void> {
    const { parts, claims } = this.#options;
    for (const [name, demand] of this.#demands) {
      if (demand.inFlight === 0 && !demand.wasUsed) {
        claims.remove(demand.worker, demand);
        this.#demands.delete(name);
      }
      demand.wasUsed = false;
    }
    const found = await parts.store.workersWithDueTasks({
      limit: PAGE,
      ...(this.#after === undefined ? {} : { after: this.#after }),
    });
    this.#after = found.length < PAGE ? undefined : found.at(-1);
    for (const worker of found) {
      if (!this.#demands.has(nameOf(worker))) await this.#serve(worker);
    }
  }

  #background(work: () => Promise<void>): void {
    if (this.#isStopped) return;
    const running: Promise<void> = work()
      .catch((error: unknown) => this.#report(error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #report(error: unknown): void {
    this.#options.parts.logger.error(
      "Cannot look for the tasks of push workers: the store failed",
      { error: String(error) },
    );
  }

  async #allEnded(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}

function nameOf({ tenantId, workerId }: WorkerName): string {
  return `${tenantId}\n${workerId}`;
}
