/**
 * Whether a new task can be made as a client wants it.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import type { TaskDefinition } from "../../domain/task.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Fault, report } from "../../../shared/schema/fault.ts";
import { BLANK, defineTask } from "./define_task.ts";
import type { ReferredTask, Surroundings } from "./task_surroundings.ts";
import type { NewTaskInput } from "./task_schema.ts";

/** What is judged by. */
export interface JudgeOptions {
  /** What tasks refer to. */
  readonly surroundings: Surroundings;
  /** The time zone of the tenant. */
  readonly timezone: string;
  /** The task's data as JSON text; undefined when it has none. */
  readonly dataJson: string | undefined;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** What may be called. */
  readonly targets: ApiParts["targets"];
  /** The pointer of the task within the body. */
  readonly at: string;
  /** Where faults go. */
  readonly faults: Fault[];
}

/** A task that may be made. */
export interface JudgedTask {
  /** What the owner decides. */
  readonly definition: TaskDefinition;
  /** Its worker. */
  readonly worker: WorkerDefinition;
  /** Its date; absent for now. */
  readonly dateMs?: number;
  /** Whether it is made paused. */
  readonly isPaused: boolean;
  /** What becomes of it when a live task has its key. */
  readonly onConflict: NewTaskInput["on_conflict"];
  /** Its dependencies, in the order of the definition. */
  readonly states: readonly (ReferredTask | undefined)[];
  /** The pointer of the task within the body. */
  readonly at: string;
}

const NO_STATES: readonly ReferredTask[] = [];

/** Judges a task; undefined when there were faults. */
export function judgeNewTask(
  input: NewTaskInput,
  options: JudgeOptions,
): JudgedTask | undefined {
  const { surroundings, timezone, at, faults } = options;
  const before = faults.length;
  const worker = workerOf(input.worker, options);
  const states = statesOf(input.dependencies ?? [], options);
  if (worker === undefined) return undefined;
  const defined = defineTask(input, {
    ...options,
    base: timezone === BLANK.timezone ? BLANK : { ...BLANK, timezone },
    worker,
    limits: surroundings.limits,
  });
  if (input.on_conflict !== "return" && typeof input.key !== "string") {
    report(faults, {
      pointer: `${at}/on_conflict`,
      code: "needs_key",
      detail: "Cannot heed on_conflict: the task has no key",
    });
  }
  if (defined === undefined || faults.length > before) return undefined;
  return {
    ...defined,
    worker,
    isPaused: input.status === "paused",
    onConflict: input.on_conflict,
    states,
    at,
  };
}

/** The worker of that name or id; reports when there is none. */
export function workerOf(
  name: string,
  { surroundings, at, faults }: Pick<
    JudgeOptions,
    "surroundings" | "at" | "faults"
  >,
): WorkerDefinition | undefined {
  return surroundings.workers.get(name) ?? report(faults, {
    pointer: `${at}/worker`,
    code: "unknown_worker",
    detail: `Cannot use worker ${quote(name, { maxChars: 64 })}: there is ` +
      "none of that name",
  });
}

/** How the dependencies stand; reports those that are not there. */
export function statesOf(
  ids: readonly string[],
  { surroundings, at, faults }: Pick<
    JudgeOptions,
    "surroundings" | "at" | "faults"
  >,
): readonly (ReferredTask | undefined)[] {
  if (ids.length === 0) return NO_STATES;
  return ids.map((id, index) => {
    const state = surroundings.tasks.get(id);
    if (state === undefined) {
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
