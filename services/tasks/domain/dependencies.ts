/**
 * What the dependencies of a task mean for it.
 *
 * @module
 */

import type { Task } from "./task.ts";

/** What follows from the state of all dependencies. */
export type DependencyVerdict =
  | { readonly kind: "ready" }
  | { readonly kind: "waits"; readonly for: readonly string[] }
  | { readonly kind: "failed"; readonly dependency: string };

/** A dependency as it is now; a task that was removed is missing. */
export type DependencyState =
  | Pick<Task, "id" | "status" | "lastOutcome">
  | undefined;

/**
 * Judges the dependencies of a task: it may start when all have succeeded, be
 * it for good or with repetitions to come. One that was canceled, failed,
 * expired or removed has failed; whether that fails the task, lets it start once
 * the others are settled, or makes it wait for another try is the task's own
 * rule.
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
    switch (state?.status) {
      case "complete":
      case "done":
        break;
      case undefined:
      case "failed":
      case "canceled":
      case "expired":
        if (task.onDependencyFailure === "fail") {
          return { kind: "failed", dependency: id };
        }
        if (task.onDependencyFailure === "wait") waitsFor.push(id);
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
