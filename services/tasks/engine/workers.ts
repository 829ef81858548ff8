/**
 * Finds workers, both those of tenants and the service's own workers, which make
 * callbacks, tell webhooks and mirror users, and remembers when workers last asked for tasks.
 * Only that counts as a sign of life: a worker that runs but takes no tasks is
 * of no use.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { computeShift, type ShiftOptions } from "../domain/clock_step.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { WorkerName } from "../store/queries.ts";
import type { Notices } from "./notices.ts";
import type { RecordRepository } from "./record_repository.ts";

/**
 * The tasks of the service itself belong to a tenant that no request can name.
 */
const INTERNAL_PREFIX = "internal:";
/** The id of the worker that makes callbacks. */
export const CALLBACK_WORKER_ID = "wrk_callbacks";

/**
 * The id of the internal tenant that holds the service's own tasks for a
 * tenant.
 */
export function internalTenant(tenantId: string): string {
  return INTERNAL_PREFIX + tenantId;
}

/**
 * The tenant that an internal tenant belongs to; undefined for any other
 * tenant.
 */
export function tenantOfInternal(tenantId: string): string | undefined {
  return tenantId.startsWith(INTERNAL_PREFIX)
    ? tenantId.slice(INTERNAL_PREFIX.length)
    : undefined;
}

/** What the service's own workers have in common. */
const INTERNAL_WORKER = {
  version: 1,
  kind: "push",
  method: "POST",
  headers: {},
  timeoutMs: 30_000,
  leaseMs: 30_000,
  maxLost: 3,
  isPaused: false,
  signing: [],
  isInternal: true,
  createdAtMs: 0,
  updatedAtMs: 0,
} as const;

/** The worker that makes the callbacks of a tenant's tasks. */
export function callbackWorker(tenantId: string): WorkerDefinition {
  return {
    ...INTERNAL_WORKER,
    tenantId: internalTenant(tenantId),
    id: CALLBACK_WORKER_ID,
    name: "callbacks",
    concurrency: 50,
    retry: {
      interval: ["PT5S", "PT5M", "PT30M", "PT2H", "PT5H", "PT10H"],
      jitter: "equal",
    },
  };
}

/** Tells whether a task is a callback. */
export function isCallback({ workerId }: WorkerName): boolean {
  return workerId === CALLBACK_WORKER_ID;
}

/**
 * The worker that mirrors the users of all tenants. It belongs to none of them,
 * so its tasks outlive the erasure of a tenant. It never gives up.
 */
export const MIRROR_WORKER: WorkerDefinition = {
  ...INTERNAL_WORKER,
  tenantId: internalTenant("users"),
  id: "wrk_users",
  name: "users",
  concurrency: 20,
  // The group is the user, whose deliveries run one at a time.
  limits: { groupConcurrency: 1 },
  retry: { interval: "PT1M", backoff: "exponential", max_interval: "PT1H" },
  retain: { succeededMs: 0 },
};

/** The prefix of the ids of webhooks, which are those of their workers, too. */
export const WEBHOOK_PREFIX = "whk";
/** The prefix of the ids of alerts. */
export const ALERT_PREFIX = "alr";
const WEBHOOK_KEPT_MS = 7 * 86_400_000;

/** Tells whether tasks of a worker are deliveries of a webhook or an alert. */
export function isWebhookWorker(workerId: string): boolean {
  return workerId.startsWith(`${WEBHOOK_PREFIX}_`) ||
    workerId.startsWith(`${ALERT_PREFIX}_`);
}

/**
 * The worker that delivers events to a webhook, or the messages of an alert.
 * Each has its own, so that one that hangs holds up no other.
 */
export function webhookWorker(
  tenantId: string,
  id: string,
): WorkerDefinition {
  return {
    ...INTERNAL_WORKER,
    tenantId: internalTenant(tenantId),
    id,
    name: "webhooks",
    timeoutMs: 15_000,
    concurrency: 10,
    retry: {
      interval: [
        ...["PT5S", "PT5M", "PT30M", "PT2H", "PT5H", "PT10H"],
        ...["PT14H", "PT20H", "PT24H"],
      ],
      jitter: "equal",
    },
    retain: { succeededMs: WEBHOOK_KEPT_MS, failedMs: WEBHOOK_KEPT_MS },
  };
}

/** A key for maps of workers; no id holds a line feed. */
export function workerKey({ tenantId, workerId }: WorkerName): string {
  return `${tenantId}\n${workerId}`;
}

/** Finds workers by id or by name. */
export class Workers {
  readonly #repository: RecordRepository<WorkerDefinition>;

  /** Takes the repository of workers. */
  constructor(repository: RecordRepository<WorkerDefinition>) {
    this.#repository = repository;
  }

  /** The worker with an id; undefined when the tenant has no such worker. */
  get(
    tenantId: string,
    id: string,
  ): MaybePromise<WorkerDefinition | undefined> {
    const owner = tenantOfInternal(tenantId);
    if (owner !== undefined) {
      const own = tenantId === MIRROR_WORKER.tenantId
        ? MIRROR_WORKER
        : isWebhookWorker(id)
        ? webhookWorker(owner, id)
        : callbackWorker(owner);
      return id === own.id ? own : undefined;
    }
    return this.#repository.get(tenantId, id);
  }

  /** The worker with an id or, in any case, a name. */
  find(
    tenantId: string,
    idOrName: string,
  ): MaybePromise<WorkerDefinition | undefined> {
    const byName = (): MaybePromise<WorkerDefinition | undefined> =>
      this.#repository.byAlias(tenantId, idOrName.toLowerCase());
    const byId = (): MaybePromise<WorkerDefinition | undefined> =>
      this.get(tenantId, idOrName);
    // A worker that exists is cached, but a search in vain asks the store, so
    // the likelier search comes first.
    const [first, second] = idOrName.startsWith("wrk_")
      ? [byId, byName]
      : [byName, byId];
    return andThen(first(), (found) => found ?? second());
  }
}

/** The most processes of a worker that are remembered. */
const MAX_INSTANCES = 100;
/** The most jobs of a worker that are remembered. */
const MAX_JOBS = 100;
/** The most workers that are remembered. */
const MAX_WORKERS = 10_000;

/** When a worker last asked for tasks. */
export interface WorkerLife {
  /** When it last asked for tasks, in milliseconds since the epoch. */
  readonly lastSeenAtMs: number;
  /**
   * The worker's processes by name, with the time when each last asked; the
   * latest come last.
   */
  readonly instances: Iterable<readonly [name: string, atMs: number]>;
  /**
   * When it last asked for tasks of a job, in milliseconds since the epoch;
   * undefined when it asked for those of other jobs alone.
   */
  jobSeenAtMs(job: string): number | undefined;
}

class KeptLife implements WorkerLife {
  lastSeenAtMs = -Infinity;
  /** When it last asked for tasks of any job. */
  anyJobAtMs: number | undefined;
  readonly instances = new BoundedMap<string, number>({
    maxEntries: MAX_INSTANCES,
  });
  readonly jobs = new BoundedMap<string, number>({ maxEntries: MAX_JOBS });

  jobSeenAtMs(job: string): number | undefined {
    const atMs = this.jobs.peek(job);
    return atMs === undefined
      ? this.anyJobAtMs
      : Math.max(atMs, this.anyJobAtMs ?? atMs);
  }
}

/** A request of a worker for tasks. */
interface Sighting {
  /** The name that the worker gave its process. */
  readonly instance?: string | undefined;
  /** The jobs whose tasks it asks for; all when absent. */
  readonly jobs?: readonly string[] | undefined;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Sets when a name was seen, unless it was seen later. */
function setLatest(
  seen: BoundedMap<string, number>,
  name: string,
  atMs: number,
): void {
  if ((seen.peek(name) ?? -Infinity) <= atMs) seen.set(name, atMs);
}

/** How often other instances are told of a worker's process that asks. */
const TELL_EVERY_MS = 5_000;
/** The most jobs that others are told of; more count as all. */
const MAX_TOLD_JOBS = 20;

/**
 * Remembers in memory when workers last asked for tasks, at this instance or,
 * some seconds late, at another one.
 */
export class Liveness {
  readonly #notices: Notices | undefined;
  readonly #workers = new BoundedMap<string, KeptLife>({
    maxEntries: MAX_WORKERS,
  });
  /** When others were told last, by worker, process and jobs. */
  readonly #told = new BoundedMap<string, number>({ maxEntries: MAX_WORKERS });

  /**
   * Remembers nothing yet.
   *
   * @param notices lets other instances know; without it there are none
   */
  constructor(notices?: Notices) {
    this.#notices = notices;
    notices?.on("asked", ({ atMs, ...asked }) => {
      this.#note(asked, { ...asked, nowMs: atMs });
    });
  }

  /** Notes that a worker asks for tasks now. */
  seen(worker: WorkerName, sighting: Sighting): void {
    this.#note(worker, sighting);
    if (this.#notices?.areNeeded === true) this.#tell(worker, sighting);
  }

  #note(worker: WorkerName, { instance, jobs, nowMs }: Sighting): void {
    const key = workerKey(worker);
    const life = this.#workers.get(key) ?? new KeptLife();
    this.#workers.set(key, life);
    // A notice of another instance may be older.
    life.lastSeenAtMs = Math.max(life.lastSeenAtMs, nowMs);
    if (instance !== undefined) setLatest(life.instances, instance, nowMs);
    if (jobs === undefined) {
      life.anyJobAtMs = Math.max(life.anyJobAtMs ?? nowMs, nowMs);
    }
    for (const job of jobs ?? []) setLatest(life.jobs, job, nowMs);
  }

  #tell(
    { tenantId, workerId }: WorkerName,
    { instance, jobs, nowMs }: Sighting,
  ): void {
    const asked = {
      tenantId,
      workerId,
      instance,
      jobs: jobs !== undefined && jobs.length > MAX_TOLD_JOBS
        ? undefined
        : jobs,
    };
    const key = JSON.stringify(asked);
    const ageMs = nowMs - (this.#told.peek(key) ?? -Infinity);
    if (ageMs >= 0 && ageMs < TELL_EVERY_MS) return;
    this.#told.set(key, nowMs);
    this.#notices?.tell({ kind: "asked", ...asked, atMs: nowMs });
  }

  /** Shifts all times after the machine's clock was set. */
  followClock(since: ShiftOptions): void {
    for (const [, life] of this.#workers) {
      life.lastSeenAtMs += computeShift(life.lastSeenAtMs, since);
      if (life.anyJobAtMs !== undefined) {
        life.anyJobAtMs += computeShift(life.anyJobAtMs, since);
      }
      // The times are replaced in order, so the order stays.
      for (const seen of [life.instances, life.jobs]) {
        for (const [name, seenAtMs] of [...seen]) {
          seen.set(name, seenAtMs + computeShift(seenAtMs, since));
        }
      }
    }
  }

  /** When a worker last asked for tasks; undefined when it has not asked. */
  of(worker: WorkerName): WorkerLife | undefined {
    return this.#workers.peek(workerKey(worker));
  }
}
