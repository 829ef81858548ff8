/**
 * Memories that this instance has written lately to a store that it shares.
 * They come back by the feed, which alone gives all changes in their order, and
 * need not be opened then. Where the vault keeps no words, theirs are only here.
 *
 * @module
 */

import type { MemoryRow } from "../store/rows.ts";
import type { IndexedMemory } from "./memory_index.ts";

/** Most memories, of all owners: some kilobytes each. */
const MAX_MEMORIES = 1_024;

/** Keeps what was written until the feed has it. */
export class WrittenLately {
  /** By owner and id; those that were written first are first. */
  readonly #memories = new Map<string, IndexedMemory>();

  /** Keeps a memory in place of the owner's one of that id. */
  note(memory: IndexedMemory): void {
    // Without the entry there is nothing to tell whether a row is this one.
    if (memory.sealedIndex === undefined) return;
    const key = toKey(memory);
    this.#memories.delete(key);
    this.#memories.set(key, memory);
    if (this.#memories.size <= MAX_MEMORIES) return;
    for (const first of this.#memories.keys()) {
      this.#memories.delete(first);
      return;
    }
  }

  /**
   * Takes what a row was written from; undefined where another instance wrote
   * it, or this one too long ago.
   */
  take(row: MemoryRow): IndexedMemory | undefined {
    const key = toKey(row);
    const written = this.#memories.get(key);
    if (written?.sealedIndex === undefined) return undefined;
    if (!isSame(written.sealedIndex, row.sealedIndex)) return undefined;
    this.#memories.delete(key);
    return written;
  }
}

function toKey({ owner, id }: Pick<MemoryRow, "owner" | "id">): string {
  return `${owner}/${id}`;
}

/** Whether bytes are the same. Each seal begins with bytes of its own. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length &&
    one.every((byte, at) => byte === other[at]);
}
