/**
 * Cuts tasks with long histories into pieces of which each fits into one write,
 * and finds the write that brings a store from what it has to a piece.
 *
 * @module
 */

import type { HistoryRecord } from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import type { HistoryRow } from "../store/rows.ts";
import type { Write } from "../store/store.ts";

/** A task with some of the records of its history. */
export interface TaskPiece {
  /** The kind, among other rows. */
  readonly kind: "piece";
  /** The tenant. */
  readonly tenantId: string;
  /** The task, as if its history ended with the piece. */
  readonly task: Task;
  /** The records. */
  readonly history: readonly HistoryRecord[];
  /** Whether no piece of the task was before it. */
  readonly isFirst: boolean;
  /** Whether the task is whole with it. */
  readonly isLast: boolean;
}

/** The most records in a piece. */
const MAX_RECORDS = 1_000;
/** The most characters of their texts. */
const MAX_CHARS = 4_000_000;

/** Collects the history of one task. */
export class TaskPieces {
  readonly #task: Task;
  #history: HistoryRecord[] = [];
  #chars = 0;
  #last: { readonly count: number; readonly hash: string };
  #isFirst = true;

  /** Begins with a task. */
  constructor(task: Task) {
    this.#task = task;
    this.#last = task.historyFolded ?? { count: 0, hash: "" };
  }

  /** The task's id. */
  get id(): string {
    return this.#task.id;
  }

  /** Adds records; returns the pieces that are full before the last of them. */
  *add(records: readonly HistoryRow[]): Generator<TaskPiece> {
    for (const { seq, text, hash } of records) {
      if (this.#history.length >= MAX_RECORDS || this.#chars >= MAX_CHARS) {
        const { count: historyCount, hash: historyHash } = this.#last;
        yield this.#cut({ ...this.#task, historyCount, historyHash }, false);
      }
      this.#history.push({ seq, text, prev: this.#last.hash, hash });
      this.#chars += text.length;
      this.#last = { count: seq, hash };
    }
  }

  /** The last piece. */
  end(): TaskPiece {
    return this.#cut(this.#task, true);
  }

  #cut(task: Task, isLast: boolean): TaskPiece {
    const { tenantId } = task;
    const [history, isFirst] = [this.#history, this.#isFirst];
    this.#history = [];
    this.#chars = 0;
    this.#isFirst = false;
    return { kind: "piece", tenantId, task, history, isFirst, isLast };
  }
}

/** How many characters a piece takes in memory, approximately. */
export function charsOfPiece({ task, history }: TaskPiece): number {
  let chars = 1_000 + task.dataJson.length + (task.resultJson?.length ?? 0);
  for (const { text } of history) chars += text.length + 150;
  return chars;
}

/** The write of a piece to a store that has the pieces before it. */
export function newPiece(piece: TaskPiece): Write {
  const { tenantId, task, history, isFirst } = piece;
  return {
    kind: "task",
    tenantId,
    id: task.id,
    expectedVersion: isFirst ? 0 : task.version,
    next: task,
    history,
  };
}

/**
 * The write of a piece to a store that has the task in some version; undefined
 * when the store has the piece already.
 */
export function nextPiece(piece: TaskPiece, there: Task): Write | undefined {
  const { tenantId, task, isLast } = piece;
  // A piece in the middle must not take a history back that is longer there.
  const isBehind = task.historyCount <= there.historyCount;
  const hasVersion = task.version === there.version;
  if (isBehind && (hasVersion || !isLast)) return undefined;
  const folded = task.historyFolded?.count ?? 0;
  return {
    kind: "task",
    tenantId,
    id: task.id,
    expectedVersion: there.version,
    // The maker never changes; by it stores know what they have.
    next: { ...task, createdBy: there.createdBy },
    history: piece.history.filter(({ seq }) => seq > there.historyCount),
    ...(folded > (there.historyFolded?.count ?? 0)
      ? { foldThrough: folded }
      : {}),
  };
}
