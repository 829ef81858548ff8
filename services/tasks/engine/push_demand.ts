/**
 * The lasting wish of the service for the tasks of one push worker.
 *
 * @module
 */

import type { Demand, Grant } from "./claim_demand.ts";
import type { WorkerName } from "./claims.ts";
import type { PushSlots } from "./push_slots.ts";

/** Options of {@linkcode PushDemand}. */
export interface PushDemandOptions {
  /** The worker. */
  readonly worker: WorkerName;
  /** The room of all calls. */
  readonly slots: PushSlots;
  /** Makes the call of a task; settles when its outcome is written. */
  readonly deliver: (grant: Grant) => Promise<void>;
  /** Hears that a call has ended. */
  readonly onRoom: (demand: PushDemand) => void;
}

/** Wants as many tasks as there is room for. */
export class PushDemand implements Demand {
  /** The service makes the calls. */
  readonly isPush = true;
  /** There is always room for more. */
  readonly isLasting = true;
  /** Whose history it shows in. */
  readonly actorId = "system";
  /** The worker. */
  readonly worker: WorkerName;
  /** Calls under way. */
  inFlight = 0;
  /** Whether it has taken tasks since somebody last looked. */
  wasUsed = true;
  readonly #options: PushDemandOptions;
  #isClosed = false;

  /** A wish for a worker's tasks. */
  constructor(options: PushDemandOptions) {
    this.#options = options;
    this.worker = options.worker;
  }

  /** Most tasks that are wanted now. */
  max(): number {
    if (this.#isClosed) return 0;
    return this.#options.slots.free(this.worker.tenantId);
  }

  /** Takes slots for calls to come, so that nobody else counts on them. */
  hold(tasks: number): void {
    this.inFlight += tasks;
    for (let count = 0; count < tasks; count++) {
      this.#options.slots.take(this.worker.tenantId);
    }
  }

  /** Gives slots back. */
  letGo(tasks: number): void {
    const { slots, onRoom } = this.#options;
    this.inFlight -= tasks;
    for (let count = 0; count < tasks; count++) {
      slots.giveBack(this.worker.tenantId);
    }
    onRoom(this);
  }

  /** Begins the calls in the slots that it holds. */
  take(grants: readonly Grant[]): boolean {
    if (this.#isClosed) {
      this.letGo(grants.length);
      return false;
    }
    this.wasUsed = true;
    for (const grant of grants) {
      // `deliver` tells of its faults itself and never rejects.
      void this.#options.deliver(grant).finally(() => this.letGo(1));
    }
    return true;
  }

  /** Takes nothing more; what is being claimed for it is given back. */
  close(): void {
    this.#isClosed = true;
  }
}
