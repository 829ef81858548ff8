/**
 * Rows and tombstones of an owner in the order of their changes.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { FeedPosition, MemoryPage } from "../store.ts";
import type { ChangeCounter } from "./change_counter.ts";
import {
  memoryOf,
  type MemoryRecord,
  tombstoneOf,
  type TombstoneRecord,
} from "./memory_record.ts";

/** Reads pages of changes. */
export class MemoryFeed {
  readonly #counter: ChangeCounter;
  readonly #memories: StatementSync;
  readonly #tombstones: StatementSync;
  readonly #swept: StatementSync;

  /** The feed of an open database. */
  constructor(db: DatabaseSync, counter: ChangeCounter) {
    this.#counter = counter;
    this.#memories = db.prepare(
      "SELECT * FROM memories WHERE owner = ? AND change > ? " +
        "ORDER BY change LIMIT ?",
    );
    this.#tombstones = db.prepare(
      "SELECT id, namespace, deleted_ms, change FROM tombstones " +
        "WHERE owner = ? AND change > ? ORDER BY change LIMIT ?",
    );
    this.#swept = db.prepare(
      "SELECT swept_change FROM owners WHERE owner = ?",
    );
  }

  /**
   * What changed after a position: at most `limit` rows and as many tombstones,
   * cut at the same change so that the next page misses neither.
   */
  page(
    owner: string,
    options: { readonly limit: number; readonly after?: FeedPosition },
  ): MemoryPage {
    const { limit, after } = options;
    const afterChange = after?.change ?? 0;
    const rows = this.#memories.all(
      owner,
      afterChange,
      limit + 1,
    ) as unknown as MemoryRecord[];
    const removed = this.#tombstones.all(
      owner,
      afterChange,
      limit + 1,
    ) as unknown as TombstoneRecord[];
    const end = Math.min(endOf(rows, limit), endOf(removed, limit));
    const memories = rows.filter(({ change }) => change <= end);
    const deleted = removed.filter(({ change }) => change <= end);
    const last = Math.max(
      memories.at(-1)?.change ?? 0,
      deleted.at(-1)?.change ?? 0,
    );
    return {
      memories: memories.map(memoryOf),
      deleted: deleted.map(tombstoneOf),
      hasMore: memories.length < rows.length || deleted.length < removed.length,
      next: last === 0 ? after : { change: last },
      mustResync: after !== undefined && this.#isBehind(owner, after.change),
    };
  }

  /** Whether removals after a change are forgotten, or of another database. */
  #isBehind(owner: string, change: number): boolean {
    if (change < this.#counter.first || change > this.#counter.last) {
      return true;
    }
    return change < Number(this.#swept.get(owner)?.["swept_change"] ?? 0);
  }
}

/** The last change that a page of so many may have. */
function endOf(
  changes: readonly { readonly change: number }[],
  limit: number,
): number {
  return changes.length > limit ? changes[limit - 1]?.change ?? 0 : Infinity;
}
