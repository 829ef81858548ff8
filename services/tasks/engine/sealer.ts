/**
 * The write that puts a changed task and its history in one.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import {
  bindingOf,
  chain,
  type Digest,
  type FoldDraft,
  type HistoryDraft,
  SALT_CHARS,
} from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import type { Write } from "../store/store.ts";
import { rememberingLong, sha256 } from "../store/digest.ts";

/** A write and the task as it will be after it. */
interface SealedWrite {
  /** The task with the end of its history. */
  readonly task: Task;
  /** The write for the store. */
  readonly write: Write;
}

/** Options of {@linkcode Sealer.seal}. */
interface SealOptions {
  /** The records to add. */
  readonly drafts: readonly HistoryDraft[];
  /** The version that must be there; 0 for a new task. */
  readonly expectedVersion: number;
  /**
   * The record that makes room in a long history; it comes before the others.
   * @default nothing is dropped
   */
  readonly fold?: FoldDraft | undefined;
}

/** Salts that are made at once: random bytes come cheaper together. */
const SALTS = 256;

/** Makes writes of changed tasks. */
export class Sealer {
  /** Data is the same from change to change, and may be long. */
  readonly #digest: Digest = rememberingLong(sha256);
  #salts = "";

  /** Binds a task to its history, chains the new records and makes the write. */
  seal(
    next: Task,
    { drafts, expectedVersion, fold }: SealOptions,
  ): SealedWrite {
    const all = fold === undefined ? drafts : [fold, ...drafts];
    const history = chain(
      all.length === 0 ? all : this.#bound(all, next),
      { count: next.historyCount, hash: next.historyHash },
      this.#digest,
    );
    const last = history.at(-1);
    const task = last === undefined ? next : {
      ...next,
      historyCount: last.seq,
      historyHash: last.hash,
      historyFolded: fold?.folded ?? next.historyFolded,
    };
    const { tenantId, id } = task;
    return {
      task,
      write: {
        kind: "task",
        tenantId,
        id,
        expectedVersion,
        next: task,
        history,
        foldThrough: fold?.folded.count,
      },
    };
  }

  /** Binds the last record to the task as it is after all of them. */
  #bound(drafts: readonly HistoryDraft[], task: Task): readonly HistoryDraft[] {
    const binding = bindingOf(task, {
      salt: this.#salt(),
      digest: this.#digest,
    });
    const last = drafts.length - 1;
    return drafts.map((draft, index) =>
      index === last ? { ...draft, task: binding } : draft
    );
  }

  #salt(): string {
    if (this.#salts === "") {
      this.#salts = randomBytes(SALTS * SALT_CHARS * 3 / 4)
        .toString("base64url");
    }
    const salt = this.#salts.slice(0, SALT_CHARS);
    this.#salts = this.#salts.slice(SALT_CHARS);
    return salt;
  }
}

/** The write that removes a task with its history. */
export function removalOf(task: Task): Write {
  const { tenantId, id, version } = task;
  return {
    kind: "task",
    tenantId,
    id,
    expectedVersion: version,
    next: undefined,
    history: [],
  };
}
