/**
 * Rules of task dependencies: whether a task may start, and when its
 * dependencies may be changed.
 *
 * @module
 */

import { type Fault, report } from "../../shared/schema/fault.ts";
import { isFinal, type Task, type TaskDefinition } from "./task.ts";

/** Whether the dependencies of a task let it start. */
export type DependencyVerdict =
  | { readonly kind: "ready" }
  | { readonly kind: "waits"; readonly for: readonly string[] }
  | {
    readonly kind: "failed";
    /** The id of the dependency. */
    readonly dependency: string;
    /** Whether it is gone, so that no other try of it can succeed. */
    readonly isRemoved: boolean;
  };

/** The current state of a dependency; undefined when that task was removed. */
export type DependencyState =
  | Pick<Task, "id" | "status"> & Partial<Pick<Task, "lastOutcome">>
  | undefined;

/**
 * Judges the dependencies of a task. The task may start when all of them have
 * succeeded, either for good or with repetitions to come. A dependency that was
 * canceled, expired or removed counts as failed, like one that failed. Whether
 * a failed dependency fails the task, lets it start once the others are
 * settled, or makes it wait for another try is the task's own rule. One that
 * was removed is never tried again, so it also fails a task that would wait.
 *
 * @param states in the order of `task.dependencies`
 */
export function judgeDependencies(
  task: Pick<Task, "dependencies" | "onDependencyFailure">,
  states: readonly DependencyState[],
): DependencyVerdict {
  const waitsFor: string[] = [];
  for (const [index, id] of task.dependencies.entries()) {
    const state = states[index];
    const isRemoved = state === undefined;
    switch (state?.status) {
      case "complete":
      case "done":
        break;
      case undefined:
      case "failed":
      case "canceled":
      case "expired":
        if (task.onDependencyFailure === "run") break;
        if (isRemoved || task.onDependencyFailure === "fail") {
          return { kind: "failed", dependency: id, isRemoved };
        }
        waitsFor.push(id);
        break;
      default:
        // A repeating task that has succeeded once has done its part.
        if (state?.lastOutcome !== "succeeded") waitsFor.push(id);
    }
  }
  return waitsFor.length === 0
    ? { kind: "ready" }
    : { kind: "waits", for: waitsFor };
}

/** Tells whether a task waits for its dependencies, paused or not. */
export function isBlocked(
  { status, pausedFrom }: Pick<Task, "status" | "pausedFrom">,
): boolean {
  return (status === "paused" ? pausedFrom : status) === "blocked";
}

/** A task that another one depends on, in its current state. */
export type ReferredTask = Pick<
  Task,
  "id" | "status" | "pausedFrom" | "lastOutcome" | "error"
>;

/**
 * Tells why a task cannot be given these dependencies; undefined when it can. A
 * task that no longer waits for dependencies may have started, so unsettled
 * ones could not hold it back.
 *
 * @param states the states of the new definition's dependencies, in their order
 */
export function dependencyRefusal(
  task: Task,
  definition: Pick<TaskDefinition, "dependencies" | "onDependencyFailure">,
  states: readonly DependencyState[],
): string | undefined {
  const { dependencies, status } = task;
  const isSame = definition.dependencies.length === dependencies.length &&
    definition.dependencies.every((id, index) => id === dependencies[index]);
  if (isSame || isBlocked(task) || isFinal(status)) return undefined;
  return judgeDependencies(definition, states).kind === "ready"
    ? undefined
    : `Cannot change dependencies: the task is "${status}" and does not wait ` +
      "for any; create it again with them";
}

/**
 * Reports dependencies that could make tasks wait for each other in a circle
 * forever: the task itself, and a task that was created after it and waits for
 * others, or would wait again if it were revived. An older task, or one that
 * waits for nothing, is safe whatever else changes at the same time, since a
 * task that waits for nothing never waits again.
 *
 * @param states the states of the dependencies that the task is to get
 */
export function reportCircles(
  task: Pick<Task, "id" | "dependencies">,
  states: readonly (ReferredTask | undefined)[],
  { at, faults }: { readonly at: string; readonly faults: Fault[] },
): void {
  for (const [index, state] of states.entries()) {
    if (state === undefined) continue;
    const { id } = state;
    const mayWait = isBlocked(state) || state.error?.dependency !== undefined;
    const mayClose = id > task.id && mayWait &&
      !task.dependencies.includes(id);
    if (id !== task.id && !mayClose) continue;
    report(faults, {
      pointer: `${at}/dependencies/${index}`,
      code: "circular",
      detail: id === task.id
        ? "Cannot depend on itself"
        : `Cannot depend on "${id}": it was made later and waits for other ` +
          "tasks, so they could wait for each other",
    });
  }
}
