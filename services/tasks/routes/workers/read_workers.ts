/**
 * Workers as the API shows them, and the routes that read them.
 *
 * @module
 */

import { formatDuration } from "../../domain/duration.ts";
import type {
  WorkerDefinition,
  WorkerJob,
  WorkerLimits,
} from "../../domain/records.ts";
import type { TaskStatus } from "../../domain/task.ts";
import { optionalTime, utcTime } from "../../domain/utc_time.ts";
import type { Engine } from "../../engine/engine.ts";
import type { WorkerLife } from "../../engine/workers.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type CallContext, tenantOf } from "../../http/call.ts";
import { etagOf } from "../../http/etag.ts";
import { filterTextOf } from "../../http/page.ts";
import type { AnyRoute } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { RecordResource } from "../record_resource.ts";
import { WORKER, type WORKER_FIELDS } from "./worker_fields.ts";

/** A worker that has not asked for tasks for this long is silent. */
const SILENT_AFTER_MS = 60_000;

/** What is known of a worker beside its definition. */
interface WorkerFacts {
  /** When it was seen; absent when it was not. */
  readonly life?: WorkerLife;
  /** Its tasks by status. */
  readonly counts: Readonly<Partial<Record<TaskStatus, number>>>;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** What a worker does, in a word. */
export type WorkerStatus = "idle" | "active" | "stale" | "paused";

/** A worker as the API shows it: every field but the secret that is shown once. */
export type WorkerView =
  & Readonly<Record<string, unknown>>
  & {
    readonly [
      Name in Exclude<keyof typeof WORKER_FIELDS, "retry" | "signing_secret">
    ]: unknown;
  }
  & { readonly retry?: unknown };

/**
 * Tells what a worker does. Asking for tasks is the sign of life that counts;
 * who is called has none of its own.
 */
export function workerStatus(
  worker: Pick<WorkerDefinition, "kind" | "isPaused">,
  { life, counts, nowMs }: WorkerFacts,
): WorkerStatus {
  const { waiting = 0, running = 0 } = counts;
  if (worker.isPaused) return "paused";
  if (running > 0) return "active";
  if (worker.kind === "push") return waiting > 0 ? "active" : "idle";
  if (life !== undefined && nowMs - life.lastSeenAtMs < SILENT_AFTER_MS) {
    return "active";
  }
  return life !== undefined || waiting > 0 ? "stale" : "idle";
}

/** Returns a worker as the API shows it. Its secrets have no place in it. */
export function viewWorker(
  worker: WorkerDefinition,
  facts: WorkerFacts,
): WorkerView {
  const { id, limits, jobs, retry } = worker;
  const { life, counts } = facts;
  const self = `/api/v1/workers/${id}`;
  return {
    id,
    name: worker.name,
    kind: worker.kind,
    url: worker.url ?? null,
    method: worker.method,
    headers: worker.headers,
    jobs: jobs === undefined ? null : viewJobs(jobs),
    concurrency: worker.concurrency,
    limits: limits === undefined ? null : viewLimits(limits),
    timeout: worker.timeoutMs,
    lease: exact(worker.leaseMs),
    ...(retry === undefined ? {} : { retry }),
    max_lost: worker.maxLost,
    paused: worker.isPaused,
    asymmetric: worker.asymmetric !== undefined,
    public_key: worker.asymmetric?.publicKey ?? null,
    paused_at: optionalTime(worker.pausedAtMs),
    paused_by: worker.pausedBy ?? null,
    status: workerStatus(worker, facts),
    last_seen_at: optionalTime(life?.lastSeenAtMs),
    instances: [...life?.instances ?? []].map(([name, atMs]) => ({
      name,
      last_seen_at: utcTime(atMs),
    })),
    counts: {
      waiting: counts.waiting ?? 0,
      running: counts.running ?? 0,
      retry: counts.retry ?? 0,
      failed: counts.failed ?? 0,
    },
    created_at: utcTime(worker.createdAtMs),
    updated_at: utcTime(worker.updatedAtMs),
    version: worker.version,
    links: {
      self,
      secrets: `${self}/secrets`,
      tasks: `/api/v1/tasks?worker=${id}`,
    },
  };
}

function viewJobs(
  jobs: Readonly<Record<string, WorkerJob>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(jobs).map(([name, { url, timeoutMs, retry }]) => [name, {
      ...(url === undefined ? {} : { url }),
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
      ...(retry === undefined ? {} : { retry }),
    }]),
  );
}

function viewLimits(
  { rate, groupConcurrency }: WorkerLimits,
): Readonly<Record<string, unknown>> {
  return {
    ...(rate === undefined ? {} : {
      rate: rate.count,
      period: exact(rate.periodMs),
      per: rate.per,
    }),
    ...(groupConcurrency === undefined
      ? {}
      : { group_concurrency: groupConcurrency }),
  };
}

function exact(ms: number): string {
  return formatDuration({ months: 0, days: 0, ms });
}

/** The worker of that id or, whatever the case, that name; of this tenant alone. */
export async function findWorker(
  { parts }: Pick<Engine, "parts">,
  tenantId: string,
  idOrName: string,
): Promise<WorkerDefinition | undefined> {
  const { workers } = parts.repositories;
  // No name is like an id, so each is looked for in one place only.
  return idOrName.startsWith("wrk_")
    ? await workers.get(tenantId, idOrName)
    : await workers.byAlias(tenantId, idOrName.toLowerCase());
}

/** The problem of a worker that is not there. */
export function noSuchWorker(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find worker: there is none with this id or name",
  });
}

/** What is known of a worker now. */
export async function factsOf(
  engine: Pick<Engine, "parts" | "liveness">,
  { tenantId, id: workerId }: Pick<WorkerDefinition, "tenantId" | "id">,
): Promise<WorkerFacts> {
  const { store, clock } = engine.parts;
  const life = engine.liveness.of({ tenantId, workerId });
  return {
    ...(life === undefined ? {} : { life }),
    counts: await store.counts({ tenantId, workerId }),
    nowMs: clock.nowMs(),
  };
}

/** The worker of a call's path, or the problem that there is none. */
export async function workerOf(
  call: Pick<CallContext, "tenant" | "params">,
  engine: Pick<Engine, "parts">,
): Promise<WorkerDefinition | ProblemAnswer> {
  return await findWorker(engine, tenantOf(call).id, call.params.id ?? "") ??
    noSuchWorker();
}

/** Workers as a resource of the API. */
export function workerResource(
  { engine }: ApiParts,
): RecordResource<WorkerDefinition> {
  const { store, repositories } = engine.parts;
  return new RecordResource<WorkerDefinition>({
    noun: "worker",
    name: "Worker",
    path: "/v1/workers/:id",
    tags: ["workers"],
    access: {
      read: { kind: "member", role: "viewer", scope: "workers:read" },
      write: { kind: "member", role: "admin", scope: "workers:write" },
    },
    shape: WORKER,
    store,
    repository: repositories.workers,
    find: (call) => workerOf(call, engine),
    view: async (worker) => viewWorker(worker, await factsOf(engine, worker)),
    tag: ({ version }) => etagOf(version),
  });
}

/** The routes that list workers, the oldest first, and read one. */
export function readWorkerRoutes(parts: ApiParts): readonly AnyRoute[] {
  const resource = workerResource(parts);
  return [
    resource.listRoute({
      summary: "List workers, the oldest first",
      answer: "A page of workers",
      pageName: "WorkerPage",
      cursors: parts.cursors,
      filter: filterTextOf({ list: "workers" }),
    }),
    resource.readRoute({
      summary: "Read a worker",
      description: "`:id` is its id or its name. The entity tag is that of " +
        "its definition: `status`, `last_seen_at`, `instances` and `counts` " +
        "change without it.",
      answer: "The worker",
    }),
  ];
}
