/**
 * When workers last asked for tasks. Asking is what counts: a worker that is
 * alive and takes nothing is no help.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { shiftOf, type ShiftOptions } from "../domain/clock_step.ts";
import { workerKey, type WorkerName } from "./waiter.ts";

/** Most instances of a worker that are remembered. */
const MAX_INSTANCES = 100;
/** Most workers that are remembered. */
const MAX_WORKERS = 10_000;

/** When a worker was seen. */
export interface WorkerLife {
  /** When it last asked for tasks, in milliseconds since the epoch. */
  readonly lastSeenAtMs: number;
  /** Its processes by name, with when each last asked; the latest come last. */
  readonly instances: Iterable<readonly [name: string, atMs: number]>;
}

interface KeptLife extends WorkerLife {
  lastSeenAtMs: number;
  readonly instances: BoundedMap<string, number>;
}

/** How a worker was seen. */
export interface Sighting {
  /** Its name for its process. */
  readonly instance?: string | undefined;
  /** When. */
  readonly nowMs: number;
}

/** Remembers when workers were seen, since the start of this process. */
export class Liveness {
  readonly #workers = new BoundedMap<string, KeptLife>({
    maxEntries: MAX_WORKERS,
  });

  /** A worker was seen. */
  seen(worker: WorkerName, { instance, nowMs }: Sighting): void {
    const key = workerKey(worker);
    let life = this.#workers.get(key);
    if (life === undefined) {
      const instances = new BoundedMap<string, number>({
        maxEntries: MAX_INSTANCES,
      });
      life = { lastSeenAtMs: nowMs, instances };
      this.#workers.set(key, life);
    }
    life.lastSeenAtMs = nowMs;
    if (instance !== undefined) life.instances.set(instance, nowMs);
  }

  /** Sets its times as the time of day was set. */
  followClock(since: ShiftOptions): void {
    for (const [, life] of this.#workers) {
      life.lastSeenAtMs += shiftOf(life.lastSeenAtMs, since);
      // Each is set in turn, so they keep their order.
      for (const [instance, seenAtMs] of [...life.instances]) {
        life.instances.set(instance, seenAtMs + shiftOf(seenAtMs, since));
      }
    }
  }

  /** When a worker was seen; undefined when it was not. */
  of(worker: WorkerName): WorkerLife | undefined {
    return this.#workers.peek(workerKey(worker));
  }
}
