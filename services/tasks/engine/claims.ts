/**
 * The claims of all workers.
 *
 * @module
 */

import { repeatEvery } from "../../shared/repeat.ts";
import type { Timer } from "../../shared/clock.ts";
import { placementOf } from "../domain/placement.ts";
import type { Task } from "../domain/task.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { TaskChanges } from "./changes.ts";
import type { Demand } from "./claim_demand.ts";
import type { RoundFailure } from "./claim_sight.ts";
import type { EngineParts } from "./parts.ts";
import { WorkerClaims } from "./worker_claims.ts";

/** How often demands that wait look again, whatever they have been told. */
const LOOK_AGAIN_MS = 1_000;

/** Options of {@linkcode Claims}. */
export interface ClaimsOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Starts the tasks, and tells what has changed. */
  readonly changes: TaskChanges;
  /** Counts the attempts that were started. */
  readonly count: (tenantId: string, executions: number) => void;
}

/** Which worker is meant; a task names its own. */
export interface WorkerName {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id. */
  readonly workerId: string;
}

/** Hands out tasks to whoever wants them. */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #workers = new Map<string, WorkerClaims>();
  #timer: Timer | undefined;
  #isClosed = false;

  /** Claims without demands. */
  constructor(options: ClaimsOptions) {
    this.#options = options;
    options.changes.onChange((previous, next) => this.#heard(previous, next));
  }

  /** Begins to look again and again for what nobody told of. */
  start(): void {
    this.#timer = repeatEvery(this.#options.parts.clock, {
      intervalMs: LOOK_AGAIN_MS,
      run: () => this.#lookAgain(),
    });
  }

  /** Takes no more demands, and waits until no round runs. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.close();
    await Promise.all(workers.map((worker) => worker.settled()));
  }

  /** Adds a demand for tasks of a worker; false when no more are taken. */
  add(of: WorkerName, demand: Demand): boolean {
    if (this.#isClosed) return false;
    const name = nameOf(of);
    let worker = this.#workers.get(name);
    if (worker === undefined) {
      const { tenantId, workerId } = of;
      worker = new WorkerClaims({ ...this.#options, tenantId, workerId });
      this.#workers.set(name, worker);
    }
    worker.add(demand);
    return true;
  }

  /** Withdraws a demand. */
  remove(of: WorkerName, demand: Demand): void {
    this.#workers.get(nameOf(of))?.remove(demand);
  }

  /**
   * Waits until a demand has been looked at once, and until the round that may
   * be claiming for it has ended. Answers with why the last round failed, if it
   * did.
   */
  async lastLook(
    of: WorkerName,
    demand: Demand,
  ): Promise<RoundFailure | undefined> {
    return await this.#workers.get(nameOf(of))?.lastLook(demand);
  }

  /** Looks for a worker's tasks, as its definition has changed. */
  trigger(of: WorkerName): void {
    this.#workers.get(nameOf(of))?.trigger();
  }

  /**
   * When the worker's rate limit lets the next task of a group start; undefined
   * when it does now.
   */
  nextSlotMs(worker: WorkerDefinition, group: string): number | undefined {
    const { tenantId, id: workerId } = worker;
    return this.#workers.get(nameOf({ tenantId, workerId }))
      ?.nextSlotMs(worker, group);
  }

  #heard(previous: Task | undefined, next: Task | undefined): void {
    const task = next ?? previous;
    if (task === undefined || this.#workers.size === 0) return;
    const isTakeable = next !== undefined &&
      placementOf(next).rank !== undefined;
    const hasRoom = previous?.status === "running" &&
      next?.status !== "running";
    if (isTakeable || hasRoom) this.trigger(task);
  }

  #lookAgain(): void {
    for (const [name, worker] of this.#workers) {
      if (worker.isIdle) this.#workers.delete(name);
      else worker.trigger();
    }
  }
}

function nameOf({ tenantId, workerId }: WorkerName): string {
  return `${tenantId}\n${workerId}`;
}
