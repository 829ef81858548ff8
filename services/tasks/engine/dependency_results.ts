/**
 * Reads what the dependencies of tasks have returned, for the workers that are
 * given the tasks.
 *
 * @module
 */

import type { Task, TaskStatus } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import type { EmbeddedJson } from "./stored_json.ts";

/** A dependency as a worker is shown it. */
export interface DependencyResult {
  /** Its id. */
  readonly id: string;
  /** Its status; `removed` when it is gone. */
  readonly status: TaskStatus | "removed";
  /** What its last success returned; null when it returned nothing. */
  readonly result: unknown;
  /** Whether the result is only the beginning of what it returned. */
  readonly result_truncated?: true;
  /**
   * Whether the result is left out, because those before it have taken all the
   * room; it can be read with the dependency itself.
   */
  readonly result_omitted?: true;
}

/** The most characters of results that a task is given. */
export const MAX_TASK_RESULT_CHARS = 262_144;

/** The most characters of results of all tasks that are given together. */
const MAX_ALL_RESULT_CHARS = 8 * 1_048_576;

/** How many dependencies are read at once; each may have much data. */
const PAGE = 50;

/** Options of {@linkcode dependencyResults}. */
interface ResultsOptions {
  /** The store to read from. */
  readonly store: Pick<Store, "tasks">;
  /** Embeds long results as the JSON text that is stored. */
  readonly embedded: Pick<EmbeddedJson, "place">;
  /** Whether results are shown; else they are null. */
  readonly payloads: boolean;
}

/** The fields of a dependency that are shown. */
type Known = Pick<Task, "status" | "resultJson" | "isResultTruncated">;

/**
 * The dependencies of each task that has some, in the order that the task names
 * them. For tasks without any nothing is read.
 *
 * @throws {Error} when the store fails
 */
export async function dependencyResults(
  tasks: readonly Task[],
  { store, embedded, payloads }: ResultsOptions,
): Promise<ReadonlyMap<Task, readonly DependencyResult[]>> {
  const results = new Map<Task, readonly DependencyResult[]>();
  const dependents = tasks.filter((task) => task.dependencies.length > 0);
  const [first] = dependents;
  if (first === undefined) return results;
  const known = await readKnown(store, first.tenantId, [
    ...new Set(dependents.flatMap((task) => task.dependencies)),
  ]);
  let leftOfAll = MAX_ALL_RESULT_CHARS;
  for (const task of dependents) {
    let left = Math.min(MAX_TASK_RESULT_CHARS, leftOfAll);
    const roomBefore = left;
    results.set(
      task,
      task.dependencies.map((id): DependencyResult => {
        const { status, resultJson, isResultTruncated } = known.get(id) ??
          { status: "removed" as const };
        if (resultJson === undefined || !payloads) {
          return { id, status, result: null };
        }
        if (resultJson.length > left) {
          return { id, status, result: null, result_omitted: true };
        }
        left -= resultJson.length;
        const result = embedded.place(resultJson);
        return isResultTruncated === true
          ? { id, status, result, result_truncated: true }
          : { id, status, result };
      }),
    );
    leftOfAll -= roomBefore - left;
  }
  return results;
}

/** Reads tasks page by page, and keeps of each what is shown. */
async function readKnown(
  store: Pick<Store, "tasks">,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  const known = new Map<string, Known>();
  for (let from = 0; from < ids.length; from += PAGE) {
    const page = await store.tasks(tenantId, ids.slice(from, from + PAGE));
    for (const task of page) {
      if (task === undefined) continue;
      const { id, status, resultJson, isResultTruncated } = task;
      known.set(id, { status, resultJson, isResultTruncated });
    }
  }
  return known;
}
