/**
 * When the dependencies of a task may still be changed.
 *
 * @module
 */

import {
  type DependencyState,
  judgeDependencies,
} from "../../../domain/dependencies.ts";
import type { Task, TaskDefinition } from "../../../domain/task.ts";
import { isFinal } from "../../../domain/task_status.ts";

/** The dependencies that a task is to have. */
export interface NewDependencies {
  /** The definition from now on. */
  readonly definition: Pick<
    TaskDefinition,
    "dependencies" | "onDependencyFailure"
  >;
  /** How they stand, in their order. */
  readonly states: readonly DependencyState[];
}

/**
 * Why a task cannot be given these dependencies; undefined when it can. One that
 * waits for none any more is on its way, so new ones could not hold it back.
 */
export function dependencyRefusal(
  task: Task,
  { definition, states }: NewDependencies,
): string | undefined {
  const { dependencies, status, pausedFrom } = task;
  const isSame = definition.dependencies.length === dependencies.length &&
    definition.dependencies.every((id, index) => id === dependencies[index]);
  const isBlocked = status === "blocked" ||
    status === "paused" && pausedFrom === "blocked";
  if (isSame || isBlocked || isFinal(status)) return undefined;
  return judgeDependencies(definition, states).kind === "ready"
    ? undefined
    : `Cannot change dependencies: the task is "${status}" and does not wait ` +
      "for any; make it anew with them";
}
