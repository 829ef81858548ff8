/**
 * Explains why a task does not run now. Quotas are no reason: they refuse new
 * tasks, and existing tasks go on.
 *
 * @module
 */

import { formatSpan } from "../../shared/duration.ts";
import type { RunningCounts, WorkerDefinition } from "./records.ts";
import type { DependencyState, DependencyVerdict } from "./dependency_rules.ts";
import { type ExcludedOccurrence, MAX_EXCLUDED_SHOWN } from "./preview.ts";
import { isFinal, type Task } from "./task.ts";
import { getOnTimeMs, isSpawning } from "./transitions/repetition.ts";
import { isAwaiting } from "./transitions/wait.ts";
import { type AwaitedThing, describeAwaited } from "./wait.ts";

/**
 * One reason why a task does not run, or the statement that there is no reason.
 */
export interface Hindrance {
  /** The reason as a code for programs. */
  readonly code:
    | "finished"
    | "running"
    | "paused"
    | "worker_missing"
    | "worker_paused"
    | "worker_silent"
    | "job_not_asked"
    | "awaits_event"
    | "awaits_approval"
    | "not_due"
    | "excluded"
    | "blocked"
    | "concurrency"
    | "group_concurrency"
    | "rate_limit"
    | "behind_others"
    | "next_in_line";
  /** The reason as a sentence for people. */
  readonly message: string;
  /** When the reason ends by itself, in milliseconds since the epoch. */
  readonly untilMs?: number | undefined;
}

/** The facts about a task's surroundings that decide whether it runs. */
export interface ExplainFacts {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The worker of the task; undefined when it was removed. */
  readonly worker: WorkerDefinition | undefined;
  /** When the worker last asked for tasks; absent when it has not. */
  readonly workerSeenAtMs?: number | undefined;
  /** When it last asked for tasks of the task's job; absent when it has not. */
  readonly jobSeenAtMs?: number | undefined;
  /** How many tasks of the worker are running. */
  readonly running: RunningCounts;
  /**
   * When the rate limit of the worker, or of the task's group, allows the next
   * start.
   */
  readonly nextStartMs?: number | undefined;
  /**
   * The times before the task's slot that its schedule leaves out, the first
   * ones if there are many.
   *
   * @default none
   */
  readonly excluded?: readonly ExcludedOccurrence[] | undefined;
  /** What the dependencies of the task mean for it. */
  readonly dependencies: DependencyVerdict;
  /** The states of its dependencies that are there. */
  readonly dependencyStates: readonly DependencyState[];
  /** The plan's limit on how many tasks of one worker run at once. */
  readonly planConcurrency?: number | undefined;
  /**
   * How many tasks of the worker come before this one. The count stops early
   * when there are many; `isExact` is then false.
   */
  readonly ahead?:
    | { readonly count: number; readonly isExact: boolean }
    | undefined;
}

/**
 * After this many milliseconds without asking for tasks, a worker counts as
 * silent.
 */
export const SILENT_AFTER_MS = 60_000;

/**
 * Lists the reasons why a task does not run now, the most important first;
 * never empty. If the task could start, the only entry is its place in line.
 */
export function explain(task: Task, facts: ExplainFacts): readonly Hindrance[] {
  const state = explainState(task, facts);
  if (state !== undefined) return [state];
  const hindrances = [...listHindrances(task, facts)];
  return hindrances.length > 0 ? hindrances : [explainLine(task, facts)];
}

function explainState(
  task: Task,
  facts: ExplainFacts,
): Hindrance | undefined {
  const { nowMs } = facts;
  const { status, attempt } = task;
  switch (status) {
    case "complete":
    case "failed":
    case "canceled":
    case "expired":
      return {
        code: "finished",
        message:
          `It is ${status}${describeCause(task)} and does nothing more; ` +
          `retry it to run it again${leftToRetry(task, nowMs)}`,
      };
    case "running": {
      const untilMs = attempt?.expiresAtMs;
      const forMs = nowMs - (task.startedAtMs ?? nowMs);
      return {
        code: "running",
        message: `It has been running for ${formatSpan(forMs)}`,
        untilMs,
      };
    }
    case "paused":
      return { code: "paused", message: "It is paused; resume it" };
    case "blocked":
      return { code: "blocked", message: waitingFor(task, facts) };
    default:
      return isAwaiting(task) ? explainWait(task.wait.for, task) : undefined;
  }
}

function explainWait(
  awaited: AwaitedThing,
  { dateMs: untilMs }: Task,
): Hindrance {
  const { kind, message, onTimeout } = awaited;
  const then = onTimeout === "fail" ? "; then it fails" : "";
  const words = message === undefined ? "" : ` ("${message}")`;
  return {
    code: kind === "event" ? "awaits_event" : "awaits_approval",
    message: `It waits for ${describeAwaited(awaited)}${words}${then}`,
    untilMs,
  };
}

/** Why a task has ended, when nothing that ran says it. */
function describeCause({ status, error, startWithinMs }: Task): string {
  if (status === "failed" && error?.code.startsWith("dependency_")) {
    return `, since ${error.message},`;
  }
  return status === "expired" && startWithinMs !== undefined
    ? `, since it was not begun within ${
      formatSpan(startWithinMs)
    } of its slot,`
    : "";
}

/** Tells which dependencies hold a task back, and in which state they are. */
function waitingFor(
  { onDependencyFailure }: Task,
  { dependencies: verdict, dependencyStates }: ExplainFacts,
): string {
  if (verdict.kind === "ready") return "Nothing: it goes on in a moment";
  if (verdict.kind === "failed") {
    const what = verdict.isRemoved ? "was removed" : "did not succeed";
    return `It fails in a moment, since "${verdict.dependency}" ${what}`;
  }
  const statusById = new Map(
    dependencyStates.map((state) => [state?.id, state?.status]),
  );
  const ended = verdict.for.filter((id) => {
    const status = statusById.get(id);
    return status !== undefined && isFinal(status);
  });
  const all = verdict.for.map((id) => `${id} (${statusById.get(id)})`);
  const advice = ended.length === 0
    ? ""
    : `; on_dependency_failure is "${onDependencyFailure}", so retry ` +
      ended.join(", ");
  return `It waits for ${all.join(", ")}${advice}`;
}

function leftToRetry({ purgeAtMs }: Task, nowMs: number): string {
  return purgeAtMs === undefined
    ? ""
    : `, within ${formatSpan(purgeAtMs - nowMs)}: then it is removed`;
}

function* listHindrances(
  task: Task,
  facts: ExplainFacts,
): Generator<Hindrance> {
  const { nowMs, worker } = facts;
  if (task.dateMs > nowMs) {
    yield {
      code: "not_due",
      message: `It is not due for ${formatSpan(task.dateMs - nowMs)}` +
        describeMissed(task),
      untilMs: task.dateMs,
    };
  }
  yield* exclusions(task, facts);
  if (worker === undefined) {
    yield { code: "worker_missing", message: "Its worker was removed" };
  } else if (!isSchedule(task)) {
    // A schedule creates its tasks even when its worker is held back.
    yield* workerHindrances(worker, facts);
    yield* jobHindrances(task, worker, facts);
    yield* limitHindrances(task, worker, facts);
  }
}

/** Tells of slots that the task's rule for late runs has missed. */
function describeMissed({ missed, repeat }: Task): string {
  if (missed === 0 || repeat === undefined || repeat.catchUp === "one") {
    return "";
  }
  const slots = missed === 1 ? "1 slot was" : `${missed} slots were`;
  const rule = repeat.catchUp === "none"
    ? `no run began within ${formatSpan(getOnTimeMs(repeat))} of them`
    : `no run began within ${formatSpan(repeat.catchUpWindowMs)} of them`;
  return `; ${slots} missed, since catch_up is "${repeat.catchUp}" and ${rule}`;
}

function* exclusions(
  { dateMs }: Task,
  { excluded: [first, ...others] = [] }: ExplainFacts,
): Generator<Hindrance> {
  if (first === undefined) return;
  const { local, offset, calendar } = first;
  const by = calendar === undefined ? "by its date" : `by "${calendar}"`;
  const more = others.length === 0
    ? ""
    : others.length + 1 < MAX_EXCLUDED_SHOWN
    ? ` and ${others.length} more`
    : " and many more";
  yield {
    code: "excluded",
    message: `Its schedule leaves out ${local}${offset} ${by}${more}`,
    untilMs: dateMs,
  };
}

function isSchedule(task: Task): boolean {
  return isSpawning(task) && task.firstTriedAtMs === undefined;
}

function* workerHindrances(
  { name, kind, isPaused, pausedBy }: WorkerDefinition,
  { nowMs, workerSeenAtMs }: ExplainFacts,
): Generator<Hindrance> {
  if (isPaused) {
    const by = pausedBy === undefined ? "" : ` by ${pausedBy}`;
    const message = `Its worker "${name}" was paused${by}; resume it`;
    yield { code: "worker_paused", message };
  }
  if (kind !== "pull") return;
  const silentMs = nowMs - (workerSeenAtMs ?? -Infinity);
  if (silentMs > SILENT_AFTER_MS) {
    const since = workerSeenAtMs === undefined
      ? "has not asked for tasks since the service started"
      : `last asked for tasks ${formatSpan(silentMs)} ago`;
    const message = `Its worker "${name}" ${since}; start one`;
    yield { code: "worker_silent", message };
  }
}

/** Processes of a worker may ask for tasks of some jobs alone. */
function* jobHindrances(
  { job }: Task,
  { name, kind }: WorkerDefinition,
  { nowMs, workerSeenAtMs = -Infinity, jobSeenAtMs = -Infinity }: ExplainFacts,
): Generator<Hindrance> {
  const isSilent = nowMs - workerSeenAtMs > SILENT_AFTER_MS;
  if (kind !== "pull" || isSilent) return;
  if (nowMs - jobSeenAtMs <= SILENT_AFTER_MS) return;
  const message = `No process of its worker "${name}" asks for tasks of job ` +
    `"${job}"; start one with a handler of it`;
  yield { code: "job_not_asked", message };
}

function* limitHindrances(
  { group }: Task,
  { concurrency, limits }: WorkerDefinition,
  { running, nextStartMs = 0, nowMs, planConcurrency = 0 }: ExplainFacts,
): Generator<Hindrance> {
  // In both settings, 0 means no limit.
  const bound = Math.min(concurrency || Infinity, planConcurrency || Infinity);
  if (running.all >= bound) {
    const message = `Its worker has ${running.all} of ${bound} tasks running`;
    yield { code: "concurrency", message };
  }
  const { groupConcurrency = Infinity, rate, groupScope } = limits ?? {};
  const inGroup = running.groups.get(group) ?? 0;
  if (group !== "" && inGroup >= groupConcurrency) {
    yield {
      code: "group_concurrency",
      message: `Its group "${group}" has ${inGroup} of ${groupConcurrency} ` +
        `tasks running${groupScope === "tenant" ? " at all workers" : ""}`,
    };
  }
  if (nextStartMs > nowMs) {
    const whose = rate?.per === "group"
      ? `The rate limit of its group "${group}"`
      : "Its worker's rate limit";
    yield {
      code: "rate_limit",
      message: `${whose} is reached for ${formatSpan(nextStartMs - nowMs)}`,
      untilMs: nextStartMs,
    };
  }
}

function explainLine(task: Task, { ahead }: ExplainFacts): Hindrance {
  if (isSchedule(task)) {
    const message = "Nothing: it makes its next task in a moment";
    return { code: "next_in_line", message };
  }
  if (ahead === undefined || ahead.count === 0) {
    return { code: "next_in_line", message: "Nothing: it is next in line" };
  }
  const more = ahead.isExact ? "" : " or more";
  return {
    code: "behind_others",
    message: `${ahead.count}${more} tasks of its worker come before it`,
  };
}
