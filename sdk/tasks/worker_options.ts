/**
 * The options of a worker, and their checks.
 *
 * @module
 */

import type {
  AnyJobs,
  JobData,
  JobName,
  JobResult,
  JobState,
  JobTypes,
} from "./job_types.ts";
import type { TasksConnection } from "./service_calls.ts";
import type {
  LeasedTask,
  TaskAttemptContext,
  TaskHandler,
} from "./task_handler.ts";

/** A task of one of these jobs, as its handler gets it. */
export type LeasedTaskOf<Jobs> = {
  readonly [Job in JobName<Jobs>]: LeasedTask<JobData<Jobs, Job>, Job>;
}[JobName<Jobs>];

/** A function for each job, by name. */
export type JobHandlers<Jobs> = {
  readonly [Job in JobName<Jobs>]: TaskHandler<
    JobData<Jobs, Job>,
    JobResult<Jobs, Job>,
    JobState<Jobs, Job>
  >;
};

/** Options of {@linkcode Worker}. */
export interface WorkerOptions<Jobs extends JobTypes<Jobs> = AnyJobs>
  extends TasksConnection {
  /** The worker's name or id. */
  readonly worker: string;
  /**
   * The functions that execute tasks: one for each job by name, or one for all
   * jobs.
   */
  readonly handlers:
    | JobHandlers<Jobs>
    | ((task: LeasedTaskOf<Jobs>, context: TaskAttemptContext) => unknown);
  /**
   * The jobs whose tasks the worker takes. Tasks of other jobs wait for a
   * process that takes them.
   *
   * @default those that have a handler; all when one function handles them
   */
  readonly jobs?: readonly JobName<Jobs>[] | undefined;
  /**
   * The most tasks that are executed at the same time.
   *
   * @default {10}
   */
  readonly concurrency?: number | undefined;
  /**
   * The most requests for tasks that are open at the same time, and likewise
   * the most requests with reports. One is enough for some thousand tasks a
   * second.
   *
   * @default {1}
   */
  readonly connections?: number | undefined;
  /**
   * Milliseconds until a lease ends, from 5,000 to 3,600,000. The worker
   * extends its leases three times in this period; when it does not, the service
   * gives the task to another worker. Work that blocks the event loop needs a
   * lease that is longer than the block.
   *
   * @default {30000}
   */
  readonly leaseMs?: number | undefined;
  /**
   * The most milliseconds that a request for tasks waits for the first task, up
   * to 30,000.
   *
   * @default {20000}
   */
  readonly waitMs?: number | undefined;
  /**
   * Milliseconds for which the service may refuse the credential, the worker or
   * the tenant before the worker ends. A key may be replaced, or a backup be
   * restored, in the meantime.
   *
   * @default {60000}
   */
  readonly refusedForMs?: number | undefined;
  /**
   * The name of this process in the history of tasks.
   *
   * @default no name
   */
  readonly instance?: string | undefined;
  /**
   * Whether the worker's secrets are sent with its tasks.
   *
   * @default {false}
   */
  readonly withSecrets?: boolean | undefined;
  /**
   * Called with errors outside of handlers, such as that the service could not
   * be reached, that a lease was lost before its result was reported, or that a
   * handler blocked the event loop. Log them: the worker goes on by itself,
   * unless `ended` rejects.
   */
  readonly onError: (error: Error) => void;
}

/** Options that were checked, with their defaults. */
export interface WorkerSettings {
  /** The worker's name or id. */
  readonly worker: string;
  /** The jobs to ask for; undefined for all. */
  readonly jobs: readonly string[] | undefined;
  /** The most tasks that are executed at the same time. */
  readonly concurrency: number;
  /** The most requests of a kind that are open at the same time. */
  readonly connections: number;
  /** Milliseconds until a lease ends. */
  readonly leaseMs: number;
  /** The most milliseconds that a request for tasks waits. */
  readonly waitMs: number;
  /** Milliseconds for which refusals of the service are tried again. */
  readonly refusedForMs: number;
}

const MAX_CONCURRENCY = 1_000;
/** Most jobs of a request for tasks; the service has the same limit. */
const MAX_JOBS = 100;
/** Names of jobs as the service takes them: one line, not too long. */
const JOB_NAME = /^\P{Cc}{1,128}$/u;

/**
 * Checks the options of a worker.
 *
 * @throws {TypeError} When one of them is not valid.
 */
export function workerSettings(
  options: Omit<WorkerOptions, "handlers"> & {
    readonly handlers: unknown;
  },
): WorkerSettings {
  const { worker, concurrency: most = 10, connections = 1 } = options;
  const { leaseMs = 30_000, waitMs = 20_000, refusedForMs = 60_000 } = options;
  const concurrency = wholeNumber("concurrency", most, {
    max: MAX_CONCURRENCY,
  });
  if (typeof worker !== "string" || worker === "") {
    throw fault("worker is empty");
  }
  return {
    worker,
    jobs: pickJobs(options),
    concurrency,
    connections: wholeNumber("connections", connections, { max: concurrency }),
    leaseMs: wholeNumber("leaseMs", leaseMs, { min: 5_000, max: 3_600_000 }),
    waitMs: wholeNumber("waitMs", waitMs, { min: 0, max: 30_000 }),
    refusedForMs: wholeNumber("refusedForMs", refusedForMs, {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
  };
}

/**
 * Returns the jobs to ask for. More jobs than a request may name are not named:
 * tasks of other jobs are then given back when they come.
 */
function pickJobs(
  { handlers, jobs }: {
    readonly handlers: unknown;
    readonly jobs?: readonly string[] | undefined;
  },
): readonly string[] | undefined {
  const handled = typeof handlers === "object" && handlers !== null
    ? Object.keys(handlers)
    : undefined;
  if (handled === undefined && typeof handlers !== "function") {
    throw fault("handlers is neither a function nor an object of functions");
  }
  if (handled?.length === 0) throw fault("handlers is empty");
  for (const job of jobs ?? handled ?? []) {
    if (!JOB_NAME.test(job)) {
      throw fault(`${JSON.stringify(job)} is not a name of a job`);
    }
    if (handled?.includes(job) === false) {
      throw fault(`jobs has "${job}", of which there is no handler`);
    }
  }
  if (jobs !== undefined) {
    if (jobs.length > 0 && jobs.length <= MAX_JOBS) return [...new Set(jobs)];
    throw fault(`jobs has ${jobs.length} names, not 1 to ${MAX_JOBS}`);
  }
  return handled !== undefined && handled.length <= MAX_JOBS
    ? handled
    : undefined;
}

function wholeNumber(
  name: string,
  value: number,
  { min = 1, max }: { readonly min?: number; readonly max: number },
): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw fault(`${name} is ${value}, not a whole number from ${min} to ${max}`);
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot start a worker: ${state}`);
}
