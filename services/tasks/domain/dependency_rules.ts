/**
 * When the dependencies of a task may still be changed, and to which ones.
 *
 * @module
 */

import { type Fault, report } from "../../shared/schema/fault.ts";
import { isFinal, type Task, type TaskDefinition } from "./task.ts";
import {
  type DependencyState,
  isBlocked,
  judgeDependencies,
} from "./transitions/service_events.ts";

/** A task that another one depends on, as it stands. */
export type ReferredTask = Pick<
  Task,
  "id" | "status" | "pausedFrom" | "lastOutcome"
>;

/**
 * Why a task cannot be given these dependencies; undefined when it can. One that
 * no longer waits for any is on its way, so new ones could not hold it back.
 *
 * @param states how the dependencies of the new definition stand, in their order
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
 * Reports dependencies that could let tasks wait for each other in a circle for
 * ever: the task itself, and one that was created after it and waits for others.
 * An older task, or one that waits for nothing, is safe whatever else changes at
 * the same time, since a task that waits for nothing never waits again.
 *
 * @param states the dependencies it is to have
 */
export function reportCircles(
  task: Pick<Task, "id" | "dependencies">,
  states: readonly (ReferredTask | undefined)[],
  { at, faults }: { readonly at: string; readonly faults: Fault[] },
): void {
  for (const [index, state] of states.entries()) {
    if (state === undefined) continue;
    const { id } = state;
    const mayClose = id > task.id && isBlocked(state) &&
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
