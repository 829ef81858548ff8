/**
 * Writes the index of tags: a row for each tag of each task, with the times
 * that order lists.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { RowInserter } from "./row_inserter.ts";
import type { OperationValue } from "./thread_messages.ts";

/** A task with what its rows of the index follow from. */
export interface TaggedTask {
  /** The number of the tenant. */
  readonly tenant: OperationValue;
  /** The number of the task. */
  readonly n: OperationValue;
  /** When the task was created. */
  readonly createdMs: OperationValue;
  /** Its tags as the JSON text of a list; null when it has none. */
  readonly tags: OperationValue;
  /** Its date. */
  readonly dateMs: OperationValue;
}

/** What the rows of a task in the index are. */
type StoredTags = Pick<TaggedTask, "tags" | "dateMs">;

/** Writes the table `task_tags`. Tasks without tags cost no statement. */
export class TagWriter {
  readonly #insert: RowInserter;
  readonly #remove: StatementSync;
  /** Rows that wait, so that several are inserted at once. */
  #waiting: OperationValue[] = [];

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#insert = new RowInserter(db, {
      insert: "INSERT OR IGNORE INTO task_tags VALUES",
      width: 5,
    });
    this.#remove = db.prepare(
      "DELETE FROM task_tags " +
        "WHERE tenant = ? AND tag = ? AND date_ms = ? AND n = ?",
    );
  }

  /** Forgets the rows that wait, after what they belong to was undone. */
  forget(): void {
    this.#waiting = [];
  }

  /** Adds the rows of a new task; they wait for others, or {@linkcode flush}. */
  add(task: TaggedTask): void {
    if (task.tags !== null) this.#waiting.push(...toRows(task));
  }

  /** Inserts the rows that wait. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const rows = this.#waiting;
    this.#waiting = [];
    this.#insert.run(rows);
  }

  /**
   * Follows a task that was changed from `before`. Rows stay as they are while
   * tags and date do.
   */
  change(task: TaggedTask, before: StoredTags): void {
    if (before.tags === null && task.tags === null) return;
    if (before.tags === task.tags && before.dateMs === task.dateMs) return;
    this.remove(task, before);
    this.add(task);
  }

  /** Removes the rows of a task, as it was before. */
  remove(
    { tenant, n }: Pick<TaggedTask, "tenant" | "n">,
    { tags, dateMs }: StoredTags,
  ): void {
    if (tags === null) return;
    this.flush();
    for (const tag of tagsOf(tags)) this.#remove.run(tenant, tag, dateMs, n);
  }
}

/** The rows of a task, whose values follow each other. */
function toRows(
  { tenant, n, createdMs, tags, dateMs }: TaggedTask,
): OperationValue[] {
  return tagsOf(tags).flatMap((tag) => [tenant, tag, dateMs, n, createdMs]);
}

/** The tags in the text that only this program writes. */
function tagsOf(text: OperationValue): readonly string[] {
  return typeof text === "string" ? JSON.parse(text) : [];
}
