/**
 * Surveys a tenant's tasks from what is counted as they change: the longest
 * queues, what is late, and what needs attention. It costs the same with any
 * number of tasks.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import { SILENT_AFTER_MS } from "../domain/explain.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { Task, TaskStatus } from "../domain/task.ts";
import {
  addLate,
  type LateCount,
  type LateTasks,
  type QueueCounts,
} from "../store/kept_counts.ts";
import type { TaskPage } from "../store/queries.ts";
import type { StatusCounts } from "../store/store.ts";
import type { Engine } from "./engine.ts";

/** A task that was to start so long ago is late. */
export const LATE_AFTER_MS = 60_000;
/** The most workers, and the most jobs, of a survey. */
export const MAX_QUEUES = 20;
/** The most failing schedules of a survey. */
export const MAX_FAILING = 20;
/** The most late tasks of a worker and a status that are counted. */
const MAX_LATE = 200;
/** Those that are read to know their jobs. */
const MAX_READ = 10;
/** The statuses that are counted by worker and job; `done` may be late. */
const COUNTED = ["waiting", "running", "retry", "failed", "done"] as const;
/** Those of which a queue is as long as they are many. */
const IN_QUEUE = ["waiting", "running", "retry", "failed"] as const;

/** Late tasks of a queue. */
export interface Lateness {
  /** How many were found. */
  readonly count: number;
  /** Whether that is all of them. */
  readonly isExact: boolean;
  /** The earliest date of them; undefined where there are none. */
  readonly sinceMs: number | undefined;
}

/** The tasks of a worker, or of one of its jobs. */
export interface QueueState extends QueueCounts {
  /** The worker; undefined when it was removed. */
  readonly worker: WorkerDefinition | undefined;
  /** Late tasks of it. */
  readonly late: Lateness;
}

/** A queue with late tasks of which no process asks for any. */
export interface UnaskedQueue extends QueueState {
  /**
   * When its worker last asked for such tasks; undefined when it has not since
   * the service was started.
   */
  readonly seenAtMs: number | undefined;
}

/** A survey of a tenant's tasks. */
export interface Survey {
  /** When it was made. */
  readonly atMs: number;
  /** How many tasks are in each status. */
  readonly counts: StatusCounts;
  /** Late tasks of all workers. */
  readonly late: Lateness;
  /** The workers with the most tasks, at most {@linkcode MAX_QUEUES}. */
  readonly workers: readonly QueueState[];
  /** The jobs with the most tasks, at most {@linkcode MAX_QUEUES}. */
  readonly jobs: readonly QueueState[];
  /** How many tasks wait for an approval. */
  readonly approvals: NonNullable<TaskPage["count"]>;
  /** Schedules whose last run has failed, the latest failure first. */
  readonly failing: readonly Task[];
  /** Pull workers that do not ask for tasks although some are late. */
  readonly silent: readonly UnaskedQueue[];
  /** Jobs of other pull workers of which no process asks for tasks. */
  readonly unasked: readonly UnaskedQueue[];
}

/** How old a survey may be that is shown again, in milliseconds. */
const FRESH_MS = 1_000;
/** The most tenants whose last surveys are kept. */
const MAX_TENANTS = 1_000;

/**
 * Surveys tenants, each at most once a second, however many look at their
 * overviews.
 */
export class Surveys {
  readonly #engine: SurveyedEngine;
  readonly #clock: Clock;
  readonly #last = new BoundedMap<
    string,
    { readonly atMs: number; readonly survey: Promise<Survey> }
  >({ maxEntries: MAX_TENANTS });

  /** Takes the engine, or what a survey needs of it. */
  constructor(engine: SurveyedEngine) {
    this.#engine = engine;
    this.#clock = steadyClock(engine.parts.clock);
  }

  /**
   * A survey of a tenant that is at most a second old.
   *
   * @throws {Error} when the store fails
   */
  read(tenantId: string): Promise<Survey> {
    const atMs = this.#clock.nowMs();
    const last = this.#last.get(tenantId);
    if (last !== undefined && atMs - last.atMs < FRESH_MS) return last.survey;
    const survey = surveyTenant(this.#engine, tenantId);
    this.#last.set(tenantId, { atMs, survey });
    // A failure is not kept.
    survey.catch(() => this.#last.delete(tenantId));
    return survey;
  }
}

/** What a survey needs of the engine. */
type SurveyedEngine = Pick<Engine, "parts" | "liveness">;

async function surveyTenant(
  { parts, liveness }: SurveyedEngine,
  tenantId: string,
): Promise<Survey> {
  const nowMs = parts.clock.nowMs();
  const { store, workers } = parts;
  const of = { tenantId, statuses: COUNTED, limit: MAX_QUEUES };
  const [counts, byWorker, byJob, failing, approving] = await Promise.all([
    store.counts({ tenantId }),
    store.topCounts({ ...of, by: "worker" }),
    store.topCounts({ ...of, by: "job" }),
    store.failingTasks({ tenantId, limit: MAX_FAILING }),
    store.listTasks({
      ...{ tenantId, awaits: "approval", by: "date", sort: "date" } as const,
      ...{ order: "asc", limit: 1, count: true } as const,
    }),
  ]);
  const late = await store.lateTasks({
    ...{ tenantId, workerIds: pickLatest(byWorker) },
    ...{ limit: MAX_LATE, maxRead: MAX_READ },
    beforeMs: nowMs - LATE_AFTER_MS,
  });
  const lateBy = new Map(late.map((one) => [one.workerId, one]));
  const find = async (queues: readonly QueueCounts[]) =>
    await Promise.all(queues.map(async (queue): Promise<QueueState> => ({
      ...queue,
      worker: await workers.get(tenantId, queue.workerId),
      late: lateOf(lateBy.get(queue.workerId), queue.job),
    })));
  const states = await find(byWorker);
  const jobs = await find(byJob);
  const seen = (queue: QueueState): UnaskedQueue => {
    const life = liveness.of({ tenantId, workerId: queue.workerId });
    const seenAtMs = queue.job === undefined
      ? life?.lastSeenAtMs
      : life?.jobSeenAtMs(queue.job);
    return { ...queue, seenAtMs };
  };
  const isUnasked = ({ worker, late, seenAtMs }: UnaskedQueue): boolean =>
    worker?.kind === "pull" && !worker.isPaused && late.count > 0 &&
    nowMs - (seenAtMs ?? -Infinity) > SILENT_AFTER_MS;
  const silent = states.map(seen).filter(isUnasked);
  const isSilent = new Set(silent.map(({ workerId }) => workerId));
  return {
    atMs: nowMs,
    counts,
    late: {
      ...NOT_LATE,
      ...late.reduce(addLate, undefined as LateCount | undefined),
      isExact: byWorker.length < MAX_QUEUES &&
        late.every(({ isExact }) => isExact),
    },
    workers: longest(states),
    jobs: longest(jobs),
    approvals: approving.count ?? { value: 0, isExact: true },
    failing,
    silent: longest(silent),
    unasked: longest(
      jobs.filter(({ workerId }) => !isSilent.has(workerId)).map(seen)
        .filter(isUnasked),
    ),
  };
}

/** The workers whose late tasks are looked for: those with the most that may be. */
function pickLatest(queues: readonly QueueCounts[]): readonly string[] {
  const size = (
    { counts: { waiting = 0, retry = 0, done = 0 } }: QueueCounts,
  ) => waiting + retry + done;
  return queues.filter((queue) => size(queue) > 0)
    .toSorted((one, other) => size(other) - size(one))
    .slice(0, MAX_QUEUES).map(({ workerId }) => workerId);
}

const NOT_LATE: Lateness = { count: 0, isExact: true, sinceMs: undefined };

/** Late tasks of a worker, or of one of its jobs as far as they were read. */
function lateOf(
  late: LateTasks | undefined,
  job: string | undefined,
): Lateness {
  if (late === undefined || job === undefined) return late ?? NOT_LATE;
  const read = late.jobs.values().reduce((sum, { count }) => sum + count, 0);
  return {
    ...NOT_LATE,
    ...late.jobs.get(job),
    isExact: late.isExact && read === late.count,
  };
}

/** The longest queues, without those that are empty. */
function longest<Queue extends QueueState>(
  queues: readonly Queue[],
): readonly Queue[] {
  const size = ({ counts }: Queue): number =>
    IN_QUEUE.reduce(
      (sum, status: TaskStatus) => sum + (counts[status] ?? 0),
      0,
    );
  return queues.filter((queue) => size(queue) > 0 || queue.late.count > 0)
    .toSorted((one, other) =>
      size(other) - size(one) || other.late.count - one.late.count
    ).slice(0, MAX_QUEUES);
}
