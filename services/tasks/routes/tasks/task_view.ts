/**
 * A task as the API shows it, the lookup of the task that a path names, and
 * answers that show one task.
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
import { EmbeddedJson } from "../../engine/stored_json.ts";
import { policyWithUnits } from "../../domain/retry_schema.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import { showAwaited } from "../../domain/wait_schema.ts";
import { calendarsOfRule, type EngineParts } from "../../engine/parts.ts";
import { taskNumber } from "../../store/task_id.ts";
import { type CallContext, getCaller, getTenant } from "../../http/call.ts";
import { answerOfChange, formatEtag } from "../../http/etag.ts";
import { type Answer, json, type JsonAnswer } from "../../http/answer.ts";
import { described, type Shape } from "../../../shared/schema/schema.ts";
import { text } from "../../../shared/schema/values.ts";
import { seesPayloads } from "../../access/caller.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { nextDates } from "../../domain/coming_run.ts";
import {
  type DialectWarning,
  dialectWarnings,
} from "../../domain/dialect_warning.ts";
import type { Calendars } from "../../domain/schedule.ts";

/** Options of {@linkcode viewTask}. */
interface TaskViewOptions {
  /** The name of the task's worker; its id when the worker was removed. */
  readonly workerName: string;
  /** Whether data and results are shown. */
  readonly payloads: boolean;
  /**
   * Embeds long data and results as the JSON text that is stored, without
   * parsing.
   * @default data and results are parsed
   */
  readonly embedded?: EmbeddedJson | undefined;
  /**
   * The task's data, where it is parsed already.
   * @default the stored text is parsed, or embedded
   */
  readonly data?: unknown;
  /**
   * The tasks that a retry of this one has revived.
   * @default they are not shown
   */
  readonly revivedDependents?: object | undefined;
  /**
   * The next dates of a task that repeats, in milliseconds since the epoch.
   * @default they are not shown
   */
  readonly nextMs?: readonly number[] | undefined;
  /**
   * What to look at in its schedule.
   * @default it is not shown
   */
  readonly warnings?: readonly DialectWarning[] | undefined;
}

/**
 * A task as the API shows it: times in RFC 3339, durations in ISO 8601 or
 * milliseconds.
 */
export type TaskView = Readonly<Record<string, unknown>>;

/**
 * Returns a task as the API shows it. Members that every task has are set in
 * one object literal and the others added after it: objects of one shape,
 * without undefined members, are written as JSON in a third of the time.
 */
export function viewTask(task: Task, options: TaskViewOptions): TaskView {
  const { payloads, workerName, nextMs, warnings, data, embedded } = options;
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
      ? showValue(task.dataJson, embedded)
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
      : showValue(resultJson, embedded),
    error: error === undefined ? null : viewError(error),
    attempt: attempt === undefined ? null : viewAttempt(attempt, payloads),
    created_by: task.createdBy,
    created_at: createdAt,
    updated_at: updatedAtMs === createdAtMs ? createdAt : utcTime(updatedAtMs),
    started_at: optionalTime(task.startedAtMs),
    finished_at: optionalTime(task.finishedAtMs),
    version: task.version,
    // `join` makes a flat string, "+" a tree of pieces. A single such tree
    // makes JSON.stringify() take twice as long for the whole value.
    links: {
      self: ["/api/v1/tasks/", task.id].join(""),
      history: ["/api/v1/tasks/", task.id, "/history"].join(""),
      worker: ["/api/v1/workers/", task.workerId].join(""),
    },
  };
  if (!payloads) delete view.data;
  if (task.retry !== undefined) view.retry = policyWithUnits(task.retry);
  if (task.retain !== undefined) view.retain = TASK_FIELDS.retain.show(task);
  if (task.purgeAtMs !== undefined) view.kept_until = utcTime(task.purgeAtMs);
  if (nextMs !== undefined) view.next = nextMs.map(utcTime);
  if (warnings !== undefined && warnings.length > 0) view.warnings = warnings;
  if (task.parentId !== undefined) view.parent = task.parentId;
  if (task.isResultTruncated === true) view.result_truncated = true;
  if (task.again !== undefined) view.again = utcTime(task.again.dateMs);
  if (task.wait?.for !== undefined) view.waiting_for = showAwaited(task);
  const { revivedDependents: revived } = options;
  if (revived !== undefined) view.revived_dependents = revived;
  return view;
}

function showValue(json: string, embedded: EmbeddedJson | undefined): unknown {
  return embedded === undefined ? JSON.parse(json) : embedded.place(json);
}

/** Why an attempt failed, as the API shows it. */
export function viewError(error: TaskError): Readonly<Record<string, unknown>> {
  return {
    code: error.code,
    message: error.message,
    detail: error.detailJson === undefined
      ? undefined
      : JSON.parse(error.detailJson),
    http_status: error.httpStatus,
    dependency: error.dependency,
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

/** The parameters of paths below `/v1/tasks/:id`. */
export const TASK_PARAMS: Readonly<Record<string, Shape>> = {
  id: described(text({ maxLength: 30 }), "The id of the task"),
};

/**
 * The task that the path names; undefined when the tenant has no task with that
 * id.
 */
export async function findTask(
  call: Pick<CallContext, "tenant" | "params">,
  { store }: { readonly store: Pick<EngineParts["store"], "task"> },
): Promise<Task | undefined> {
  const { id = "" } = call.params;
  if (taskNumber(id) === undefined) return undefined;
  return await store.task(getTenant(call).id, id);
}

/**
 * The answer to a change whose preconditions do not hold; undefined when it may
 * go on.
 */
export function changeCondition(
  call: CallContext,
  task: Pick<Task, "version">,
): Answer | undefined {
  return answerOfChange(call, formatEtag(task.version));
}

/** Options of {@linkcode taskAnswer}. */
export interface TaskAnswerOptions
  extends Pick<TaskViewOptions, "revivedDependents"> {
  /** The name of the task's worker. */
  readonly workerName: string;
  /** The calendars that the task names. */
  readonly calendars: Calendars;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /**
   * The status of the answer.
   * @default {200}
   */
  readonly status?: number | undefined;
  /**
   * Whether the answer has a Location header with the task's URL.
   * @default {false}
   */
  readonly hasLocation?: boolean | undefined;
}

/** The answer that shows a task, with its version as entity tag. */
export function taskAnswer(
  call: CallContext,
  task: Task,
  options: TaskAnswerOptions,
): JsonAnswer {
  const { status = 200, hasLocation = false } = options;
  const embedded = new EmbeddedJson();
  const etag = formatEtag(task.version);
  return json(singleView(call, task, { ...options, embedded }), {
    status,
    embedded,
    headers: hasLocation
      ? { etag, location: `${call.baseUrl}/v1/tasks/${task.id}` }
      : { etag },
  });
}

/**
 * A task as it is shown by itself: with its next dates as of the time of the
 * request, so that a kept answer equals the one that was given.
 */
function singleView(
  call: CallContext,
  task: Task,
  { workerName, calendars, parts, embedded, revivedDependents }:
    & TaskAnswerOptions
    & { readonly embedded: EmbeddedJson },
): TaskView {
  return viewTask(task, {
    workerName,
    revivedDependents,
    payloads: seesPayloads(getCaller(call)),
    embedded,
    nextMs: nextDates(task, {
      nowMs: call.nowMs,
      cache: parts.ruleCache,
      calendars,
    }),
    warnings: task.repeat && dialectWarnings(task.repeat),
  });
}

/** The name of a task's worker; the worker's id when it was removed. */
export async function findWorkerName(
  task: Task,
  parts: Pick<EngineParts, "workers">,
): Promise<string> {
  const worker = await parts.workers.get(task.tenantId, task.workerId);
  return worker?.name ?? task.workerId;
}

/** What the answer about a task depends on, besides the task. */
export async function loadSurroundings(
  task: Task,
  parts: EngineParts,
): Promise<Pick<TaskAnswerOptions, "workerName" | "calendars" | "parts">> {
  const workerName = await findWorkerName(task, parts);
  const { calendars } = parts.repositories;
  return {
    workerName,
    parts,
    calendars: await calendarsOfRule(calendars, task),
  };
}

/** The problem of a task that does not exist, or belongs to another tenant. */
export function noTask(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find task: no task has this id",
  });
}

/** The problem of a task whose status does not allow the action. */
export function wrongState(
  reason: string,
  task: Pick<Task, "status">,
): ProblemAnswer {
  return problem("wrong_state", {
    detail: reason,
    extensions: { state: task.status },
  });
}

/** The problem of one field of a request. */
export function faultProblem(
  code: "unknown_worker" | "read_only",
  { field, detail }: { readonly field: string; readonly detail: string },
): ProblemAnswer {
  const errors = [{ pointer: `/${field}`, code, detail }];
  return problem(code, { detail, errors });
}

/** How often a change is tried again when its task changes meanwhile. */
export const MAX_CHANGE_TRIES = 20;

/** The problem of a task that changed during every try. */
export function changesTooFast(verb: "change" | "remove"): ProblemAnswer {
  return problem("overloaded", {
    detail: `Cannot ${verb} task: it changes too fast`,
    retryAfterMs: 1_000,
  });
}

/** The answer when the plan has no room for one more live task. */
export function noRoom(
  call: CallContext,
  { reason, limit, used }: {
    /** Why, for people. */
    readonly reason: string;
    /** How many live tasks the plan allows. */
    readonly limit: number;
    /** How many live tasks the tenant has. */
    readonly used: number;
  },
): ProblemAnswer {
  const { plan } = getTenant(call);
  const extensions = { limit, used, plan };
  return problem("quota_exceeded", { detail: reason, extensions });
}
