/**
 * Types and helpers that the conformance tests of stores share.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type { Task } from "../../../domain/task.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../../queries.ts";
import type { Store, TransactionResult, Write } from "../../store.ts";
import { change, changed, creation, toTransactions } from "../sample_tasks.ts";

/** A store under test. */
export interface ConformanceSubject {
  /** The store, started and empty. */
  readonly store: Store;
  /** Stops the store and opens what it left; absent when it leaves nothing. */
  reopen?(): Promise<Store>;
  /** Stops the store and removes everything that was created for it. */
  close(): Promise<void>;
}

/** A single conformance test. */
export interface StoreCase {
  /** The title of the test. */
  readonly title: string;
  /** Checks the store. */
  run(subject: ConformanceSubject): Promise<void>;
}

/** Collects the tests of one area. */
export function collectCases(
  register: (
    check: (
      title: string,
      run: (store: Store, subject: ConformanceSubject) => Promise<void>,
    ) => void,
  ) => void,
): readonly StoreCase[] {
  const cases: StoreCase[] = [];
  register((title, run) =>
    cases.push({ title, run: (subject) => run(subject.store, subject) })
  );
  return cases;
}

/**
 * Commits writes, each in a transaction of its own; all of them must succeed.
 */
export async function commitEach(
  store: Store,
  ...writes: readonly Write[]
): Promise<void> {
  const results = await store.commit(toTransactions(...writes));
  assertEquals(results, writes.map(() => ({ kind: "ok" })));
}

/** Commits writes as one transaction and returns its result. */
export async function commitTransaction(
  store: Store,
  ...writes: readonly Write[]
): Promise<TransactionResult | undefined> {
  const results = await store.commit([{ writes }]);
  assertEquals(results.length, 1);
  return results[0];
}

/** Adds new tasks to the store. */
export async function create(
  store: Store,
  ...tasks: readonly Task[]
): Promise<void> {
  await commitEach(store, ...tasks.map(creation));
}

/** Changes a task in the store and returns its new state. */
export async function update(
  store: Store,
  task: Task,
  patch: Partial<Task>,
): Promise<Task> {
  const next = changed(task, patch);
  await commitEach(store, change(next));
  return next;
}

/** The ids of tasks. */
export function listIds(
  tasks: readonly (Task | undefined)[],
): readonly (string | undefined)[] {
  return tasks.map((task) => task?.id);
}

/** The result of {@linkcode readList}. */
export interface WholeList {
  /** The tasks of all pages. */
  readonly tasks: readonly Task[];
  /** The count that the first page returned. */
  readonly count: TaskPage["count"];
}

/** Reads all pages of a list, and calls `between` after each. */
export async function readList(
  store: Store,
  query: TaskQuery,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<WholeList> {
  const tasks: Task[] = [];
  let count: TaskPage["count"];
  let after: TaskPosition | undefined;
  for (let pages = 0;; pages++) {
    assert(pages < 1_000, "The list has no end");
    const page = await store.listTasks(
      after === undefined ? query : { ...query, after },
    );
    assert(page.tasks.length <= query.limit, "A page is too long");
    tasks.push(...page.tasks);
    count ??= page.count;
    after = page.next;
    if (after === undefined) return { tasks, count };
    await between();
  }
}
