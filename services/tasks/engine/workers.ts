/**
 * Finds workers, those of tenants and the service's own that makes the calls at the
 * end of tasks; and remembers when workers last asked for tasks. Asking is what
 * counts: a worker that is alive and takes nothing is no help.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { shiftOf, type ShiftOptions } from "../domain/clock_step.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { WorkerName } from "../store/queries.ts";
import type { RecordRepository } from "./record_repository.ts";

/** The tasks of the service itself belong to a tenant that no request can name. */
const INTERNAL_PREFIX = "internal:";
const CALLBACK_WORKER_ID = "wrk_callbacks";

/** The tenant under which the service keeps its own tasks for a tenant. */
export function internalTenant(tenantId: string): string {
  return INTERNAL_PREFIX + tenantId;
}

/** The tenant that an internal one belongs to; undefined for any other. */
export function tenantOfInternal(tenantId: string): string | undefined {
  return tenantId.startsWith(INTERNAL_PREFIX)
    ? tenantId.slice(INTERNAL_PREFIX.length)
    : undefined;
}

/** The worker that makes the calls at the end of a tenant's tasks. */
export function callbackWorker(tenantId: string): WorkerDefinition {
  return {
    tenantId: internalTenant(tenantId),
    id: CALLBACK_WORKER_ID,
    version: 1,
    name: "callbacks",
    kind: "push",
    method: "POST",
    headers: {},
    concurrency: 50,
    timeoutMs: 30_000,
    leaseMs: 30_000,
    retry: {
      interval: ["PT5S", "PT5M", "PT30M", "PT2H", "PT5H", "PT10H"],
      jitter: "equal",
    },
    maxLost: 3,
    isPaused: false,
    signing: [],
    isInternal: true,
    createdAtMs: 0,
    updatedAtMs: 0,
  };
}

/** A key for maps of workers; no id holds a line feed. */
export function workerKey({ tenantId, workerId }: WorkerName): string {
  return `${tenantId}\n${workerId}`;
}

/** Workers by id or by name. */
export class Workers {
  readonly #repository: RecordRepository<WorkerDefinition>;

  /** Looks in the repository of workers. */
  constructor(repository: RecordRepository<WorkerDefinition>) {
    this.#repository = repository;
  }

  /** The worker of that id, if the tenant has it. */
  get(
    tenantId: string,
    id: string,
  ): MaybePromise<WorkerDefinition | undefined> {
    const owner = tenantOfInternal(tenantId);
    if (owner !== undefined) {
      return id === CALLBACK_WORKER_ID ? callbackWorker(owner) : undefined;
    }
    return this.#repository.get(tenantId, id);
  }

  /** The worker of that id or, whatever the case, that name. */
  find(
    tenantId: string,
    idOrName: string,
  ): MaybePromise<WorkerDefinition | undefined> {
    const byName = (): MaybePromise<WorkerDefinition | undefined> =>
      this.#repository.byAlias(tenantId, idOrName.toLowerCase());
    const byId = (): MaybePromise<WorkerDefinition | undefined> =>
      this.get(tenantId, idOrName);
    // What is there is remembered, what is not is looked for in the store: so
    // the likelier one comes first.
    const [first, second] = idOrName.startsWith("wrk_")
      ? [byId, byName]
      : [byName, byId];
    return andThen(first(), (found) => found ?? second());
  }
}

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
interface Sighting {
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
