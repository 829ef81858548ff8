/**
 * A task as the API shows it.
 *
 * @module
 */

import type { ShownTask } from "../../domain/task_definition.ts";
import { TASK_FIELDS } from "../../domain/task_fields.ts";
import {
  type Attempt,
  isFinal,
  type Task,
  type TaskError,
} from "../../domain/task.ts";
import type { EmbeddedJson } from "../../engine/stored_json.ts";
import { optionalTime, utcTime } from "../../domain/utc_time.ts";

/** What a view shows beside the task itself. */
interface TaskViewOptions {
  /** The name of the task's worker; its id when that was removed. */
  readonly workerName: string;
  /** Whether data and results are shown. */
  readonly payloads: boolean;
  /**
   * Takes long data and results as they are kept, without reading them.
   * @default they are read
   */
  readonly embedded?: EmbeddedJson | undefined;
  /**
   * The task's data where it is at hand already, which saves reading its text.
   * @default it is read, or embedded
   */
  readonly data?: unknown;
  /**
   * The next dates of a task that repeats, in milliseconds since the epoch.
   * @default they are not told
   */
  readonly nextMs?: readonly number[] | undefined;
}

/** A task as the API shows it: times in RFC 3339, durations in ISO 8601 or milliseconds. */
export type TaskView = Readonly<Record<string, unknown>>;

/**
 * Returns a task as the API shows it. Members that every task has are written
 * down in one place and others are added behind them: objects of one shape, none
 * of whose members is undefined, become JSON in a third of the time.
 */
export function viewTask(task: Task, options: TaskViewOptions): TaskView {
  const { payloads, workerName, nextMs, data, embedded } = options;
  const { dateMs, firstDateMs, createdAtMs, updatedAtMs } = task;
  const { resultJson, error, attempt } = task;
  const createdAt = utcTime(createdAtMs);
  const date = dateMs === createdAtMs ? createdAt : utcTime(dateMs);
  const view: { -readonly [Name in keyof ShownTask]: ShownTask[Name] } = {
    id: task.id,
    status: task.status,
    worker: workerName,
    worker_id: task.workerId,
    job: task.job,
    data: data === undefined && payloads
      ? valueOf(task.dataJson, embedded)
      : data,
    date,
    first_date: firstDateMs === dateMs ? date : utcTime(firstDateMs),
    timezone: task.timezone,
    repeat: TASK_FIELDS.repeat.show(task),
    timeout: task.timeoutMs ?? null,
    expires: TASK_FIELDS.expires.show(task),
    dependencies: task.dependencies,
    on_dependency_failure: task.onDependencyFailure,
    priority: task.priority,
    group: TASK_FIELDS.group.show(task),
    key: task.key ?? null,
    callback: task.callback ?? null,
    tags: task.tags,
    metadata: task.metadata,
    due: task.isDue && !isFinal(task.status) && task.status !== "running",
    run: task.run,
    executions: task.executions,
    retries: task.retries,
    repetitions: task.repetitions,
    last_outcome: task.lastOutcome ?? null,
    lost: task.lost,
    missed: task.missed,
    lag: task.lagMs ?? null,
    duration: task.durationMs ?? null,
    result: !payloads || resultJson === undefined
      ? null
      : valueOf(resultJson, embedded),
    error: error === undefined ? null : viewError(error),
    attempt: attempt === undefined ? null : viewAttempt(attempt, payloads),
    created_by: task.createdBy,
    created_at: createdAt,
    updated_at: updatedAtMs === createdAtMs ? createdAt : utcTime(updatedAtMs),
    started_at: optionalTime(task.startedAtMs),
    finished_at: optionalTime(task.finishedAtMs),
    version: task.version,
    // Joined text is one piece, what "+" makes is a tree of pieces: a single one
    // of these makes JSON.stringify() take twice as long for all of its value.
    links: {
      self: ["/api/v1/tasks/", task.id].join(""),
      history: ["/api/v1/tasks/", task.id, "/history"].join(""),
      worker: ["/api/v1/workers/", task.workerId].join(""),
    },
  };
  if (!payloads) delete view.data;
  if (task.retry !== undefined) view.retry = task.retry;
  if (nextMs !== undefined) view.next = nextMs.map(utcTime);
  if (task.parentId !== undefined) view.parent = task.parentId;
  if (task.isResultTruncated === true) view.result_truncated = true;
  return view;
}

function valueOf(json: string, embedded: EmbeddedJson | undefined): unknown {
  return embedded === undefined ? JSON.parse(json) : embedded.place(json);
}

/** Why an attempt failed, as the API shows it. */
export function viewError(error: TaskError): Readonly<Record<string, unknown>> {
  return {
    code: error.code,
    message: error.message,
    ...(error.detailJson === undefined
      ? {}
      : { detail: JSON.parse(error.detailJson) }),
    http_status: error.httpStatus,
    at: utcTime(error.atMs),
  };
}

function viewAttempt(
  attempt: Attempt,
  payloads: boolean,
): Readonly<Record<string, unknown>> {
  return {
    id: attempt.id,
    started_at: utcTime(attempt.startedAtMs),
    expires_at: utcTime(attempt.expiresAtMs),
    instance: attempt.instance ?? null,
    progress: !payloads || attempt.progressJson === undefined
      ? null
      : JSON.parse(attempt.progressJson),
  };
}
