/**
 * When workers last asked for tasks. Asking is what counts: a worker that is
 * alive and takes nothing is no help.
 *
 * @module
 */

import { shiftOf, type ShiftOptions } from "../domain/clock_step.ts";
import type { WorkerName } from "./claims.ts";

/** Most instances of a worker that are remembered. */
const MAX_INSTANCES = 100;
/** Most workers that are remembered. */
const MAX_WORKERS = 10_000;

/** What is known of a worker's life. */
export interface WorkerLife {
  /** When it last asked for tasks, in milliseconds since the epoch. */
  readonly lastSeenAtMs: number;
  /** Its processes by name, with when each last asked. */
  readonly instances: ReadonlyMap<string, number>;
}

/** How a worker was seen. */
export interface Sighting {
  /** Its name for its process. */
  readonly instance?: string;
  /** When. */
  readonly nowMs: number;
}

/** Remembers when workers were seen, since the start of this process. */
export class Liveness {
  readonly #workers = new Map<
    string,
    { lastSeenAtMs: number; readonly instances: Map<string, number> }
  >();

  /** A worker was seen. */
  seen(worker: WorkerName, { instance, nowMs }: Sighting): void {
    const name = `${worker.tenantId}\n${worker.workerId}`;
    let life = this.#workers.get(name);
    if (life === undefined) {
      life = { lastSeenAtMs: nowMs, instances: new Map() };
      makeRoom(this.#workers, MAX_WORKERS);
    }
    life.lastSeenAtMs = nowMs;
    // At the end: who was seen longest ago makes room first.
    this.#workers.delete(name);
    this.#workers.set(name, life);
    if (instance === undefined) return;
    life.instances.delete(instance);
    makeRoom(life.instances, MAX_INSTANCES);
    life.instances.set(instance, nowMs);
  }

  /** Sets its times as the time of day was set. */
  followClock(since: ShiftOptions): void {
    for (const life of this.#workers.values()) {
      life.lastSeenAtMs += shiftOf(life.lastSeenAtMs, since);
      for (const [instance, seenAtMs] of life.instances) {
        life.instances.set(instance, seenAtMs + shiftOf(seenAtMs, since));
      }
    }
  }

  /** What is known of a worker; undefined when it was not seen. */
  of(worker: WorkerName): WorkerLife | undefined {
    return this.#workers.get(`${worker.tenantId}\n${worker.workerId}`);
  }
}

function makeRoom(map: Map<string, unknown>, max: number): void {
  if (map.size < max) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
