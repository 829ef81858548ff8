/**
 * Validates a task that a client wants to create: finds the workers and tasks
 * that it refers to, and reports faults.
 *
 * @module
 */

import { formatMs } from "../../../shared/duration.ts";
import type { Pacing } from "../../domain/key_policy.ts";
import { BLANK_DEFINITION } from "../../domain/task.ts";
import type { PlanLimits, WorkerDefinition } from "../../domain/records.ts";
import type { ReferredTask } from "../../domain/dependency_rules.ts";
import type { CreateRequest } from "../../engine/create_request.ts";
import type { Calendars } from "../../domain/schedule.ts";
import { type EngineParts, loadCalendars } from "../../engine/parts.ts";
import { taskNumber } from "../../store/task_id.ts";
import { quote } from "../../../shared/quote.ts";
import { type Fault, report } from "../../../shared/schema/fault.ts";
import {
  DATA_TOO_LARGE,
  type DefineOptions,
  defineTask,
} from "./define_task.ts";
import type { NewTaskInput } from "./task_schema.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";

/** The workers and tasks that requests refer to, as of one moment. */
export interface Prerequisites {
  /**
   * Workers by the text that named them; those that do not exist are missing.
   */
  readonly workers: ReadonlyMap<string, WorkerDefinition>;
  /** The states of tasks by id; those that do not exist are missing. */
  readonly tasks: ReadonlyMap<string, ReferredTask>;
  /**
   * The names of tasks that are created together.
   * @default {none}
   */
  readonly refs?: ReadonlySet<string> | undefined;
  /** Calendars by name; those that do not exist are missing. */
  readonly calendars: Calendars;
}

/** The workers and tasks to look up. */
interface References {
  /** Names or ids of workers. */
  readonly workers: ReadonlySet<string>;
  /** Ids of tasks. */
  readonly tasks: ReadonlySet<string>;
  /** Names of calendars. */
  readonly calendars: ReadonlySet<string>;
}

/** Most tasks that are read in one go; each may have much data. */
const PAGE = 100;

/** Looks up workers, tasks and calendars. */
export async function readPrerequisites(
  parts: Pick<EngineParts, "workers" | "store" | "repositories">,
  tenantId: string,
  references: References,
): Promise<Prerequisites> {
  const workers = new Map<string, WorkerDefinition>();
  for (const name of references.workers) {
    const finding = parts.workers.find(tenantId, name);
    const worker = finding instanceof Promise ? await finding : finding;
    if (worker !== undefined) workers.set(name, worker);
  }
  const tasks = new Map<string, ReferredTask>();
  const ids = [...references.tasks].filter((id) =>
    taskNumber(id) !== undefined
  );
  for (let from = 0; from < ids.length; from += PAGE) {
    const found = await parts.store.tasks(
      tenantId,
      ids.slice(from, from + PAGE),
    );
    for (const task of found) {
      if (task === undefined) continue;
      const { id, status, pausedFrom, lastOutcome, error } = task;
      tasks.set(id, { id, status, pausedFrom, lastOutcome, error });
    }
  }
  const calendars = await loadCalendars(
    parts.repositories.calendars,
    tenantId,
    [...references.calendars],
  );
  return { workers, tasks, calendars };
}

/** Options of {@linkcode validateTask}. */
interface ValidateOptions extends
  Omit<
    DefineOptions,
    "base" | "worker" | "calendars" | "task" | "isReopened"
  > {
  /** The workers and tasks that tasks refer to. */
  readonly prerequisites: Prerequisites;
}

/** The known prerequisites, and where faults are reported. */
type Lookup = Pick<ValidateOptions, "prerequisites" | "at" | "faults">;

const NO_STATES: readonly ReferredTask[] = [];

/** Validates a task; undefined when there were faults. */
export function validateTask(
  input: NewTaskInput,
  options: ValidateOptions,
): CreateRequest | undefined {
  const { timezone, at, faults } = options;
  const before = faults.length;
  const worker = findWorker(input.worker, options);
  const states = findStates(input.dependencies ?? [], options);
  if (worker === undefined) return undefined;
  const defined = defineTask(input, {
    ...options,
    base: { ...BLANK_DEFINITION, timezone },
    worker,
    calendars: options.prerequisites.calendars,
  });
  reportKeyFaults(input, options);
  if (defined === undefined || faults.length > before) return undefined;
  const { refs: names } = options.prerequisites;
  const { dependencies } = defined.definition;
  const refs = names === undefined
    ? undefined
    : dependencies.filter((id) => names.has(id));
  return {
    ...defined,
    ref: input.ref,
    refs: refs?.length ? new Set(refs) : undefined,
    worker,
    calendars: options.prerequisites.calendars,
    isPaused: input.status === "paused",
    onConflict: input.on_conflict,
    pacing: readPacing(input),
    states,
    at,
  };
}

/** How the runs of a key are spaced, if the request says it. */
function readPacing({ debounce, throttle }: NewTaskInput): Pacing | undefined {
  if (debounce !== undefined) {
    const { window: windowMs, max_wait: maxWaitMs } = debounce;
    return { kind: "debounce", windowMs, maxWaitMs };
  }
  return throttle && { kind: "throttle", windowMs: throttle.window };
}

/** Reports what a request asks for about its key and cannot have. */
function reportKeyFaults(
  input: NewTaskInput,
  { at, faults, limits: { maxDelayMs } }: ValidateOptions,
): void {
  const refuse = (field: string, code: string, detail: string) =>
    report(faults, { pointer: `${at}/${field}`, code, detail });
  const { on_conflict, debounce } = input;
  const pacing = readPacing(input);
  const field = pacing?.kind ?? "on_conflict";
  const isPlain = pacing === undefined && on_conflict === "return";
  if (!isPlain && typeof input.key !== "string") {
    refuse(field, "needs_key", `Cannot use ${field}: the task has no key`);
  }
  const isOnce = pacing !== undefined || on_conflict === "run_after";
  if (isOnce && (input.repeat ?? undefined) !== undefined) {
    const detail = `Cannot use ${field}: the task repeats, so its schedule ` +
      "says when it runs";
    refuse(field, "exclusive", detail);
  }
  if (pacing === undefined) return;
  const others = [
    ...on_conflict === "return" ? [] : ["on_conflict"],
    ...debounce !== undefined && input.throttle !== undefined
      ? ["throttle"]
      : [],
    ...(["date", "delay"] as const).filter((name) =>
      (input[name] ?? undefined) !== undefined
    ),
  ];
  for (const other of others) {
    const detail = `Cannot take ${other} beside ${field}: give one of them`;
    refuse(other, "exclusive", detail);
  }
  const longestMs = debounce?.max_wait ?? pacing.windowMs;
  if (longestMs < pacing.windowMs) {
    const detail = "Cannot use a max_wait shorter than the window";
    refuse(`${field}/max_wait`, "too_small", detail);
  }
  if (pacing.windowMs > (maxDelayMs ?? Infinity)) {
    const detail = "Cannot wait for so long: the plan allows " +
      `${formatMs(maxDelayMs ?? 0)} from now`;
    refuse(`${field}/window`, "too_late", detail);
  }
}

/** Finds the worker of that name or id; reports one that is not found. */
export function findWorker(
  name: string,
  { prerequisites, at, faults }: Lookup,
): WorkerDefinition | undefined {
  return prerequisites.workers.get(name) ?? report(faults, {
    pointer: `${at}/worker`,
    code: "unknown_worker",
    detail: `Cannot use worker ${quote(name, { maxChars: 64 })}: there is ` +
      "none of that name",
  });
}

/**
 * The states of the dependencies; reports those that do not exist. Tasks that
 * are created together have no state yet.
 */
export function findStates(
  ids: readonly string[],
  { prerequisites, at, faults }: Lookup,
): readonly (ReferredTask | undefined)[] {
  if (ids.length === 0) return NO_STATES;
  return ids.map((id, index) => {
    const state = prerequisites.tasks.get(id);
    if (state === undefined && !prerequisites.refs?.has(id)) {
      report(faults, {
        pointer: `${at}/dependencies/${index}`,
        code: "unknown_task",
        detail:
          `Cannot depend on ${quote(id, { maxChars: 64 })}: there is no ` +
          "such task",
      });
    }
    return state;
  });
}

/**
 * The problem of a task with faults. When the only fault is too much data, it
 * is answered as 413.
 */
export function problemOfFaults(
  faults: readonly Fault[],
  { payloadBytes }: Pick<PlanLimits, "payloadBytes">,
): ProblemAnswer {
  const [first] = faults;
  if (first?.code === DATA_TOO_LARGE && faults.length === 1) {
    return problem("too_large", {
      detail: first.detail,
      errors: faults,
      extensions: { limit: payloadBytes },
    });
  }
  return invalidRequest(faults);
}
