/**
 * Which memory took the place of which. A blob tells whose place its memory took,
 * and nothing of what came after it: that is known to the catalogue, to the row
 * of the earlier one where it is left, and to the later ones.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { MemoryRow, NewMemory } from "../store/memory_row.ts";
import type { Change, RelayerStore } from "../store/store.ts";

const PAGE = 500;

/** Who replaced whom, of one owner. */
export class Replacements {
  /** What is known of earlier ones. */
  readonly #noted = new Map<string, string>();
  /** What later ones tell. */
  readonly #told = new Map<string, string>();

  /**
   * Reads what the rows of an owner say.
   *
   * @throws the signal's reason when it ends early
   */
  static async read(
    owner: string,
    options: {
      readonly store: Pick<RelayerStore, "scanMemories">;
      readonly signal: AbortSignal;
      readonly pausing: Pausing;
    },
  ): Promise<Replacements> {
    const { store, signal, pausing } = options;
    const replacements = new Replacements();
    let afterId: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      const rows = await store.scanMemories({
        owner,
        limit: PAGE,
        ...(afterId === undefined ? {} : { afterId }),
      });
      for (const row of rows) {
        replacements.add(row);
        replacements.note(row);
      }
      afterId = rows.at(-1)?.id;
      if (rows.length < PAGE || afterId === undefined) return replacements;
      await pausing.pause();
    }
  }

  /** Notes whose place a memory took. */
  add({ id, supersedes }: Pick<NewMemory, "id" | "supersedes">): void {
    if (supersedes !== undefined) this.#told.set(supersedes, id);
  }

  /** Notes what took a memory's place, though that may be gone by now. */
  note({ id, supersededBy }: Pick<MemoryRow, "id" | "supersededBy">): void {
    if (supersededBy !== undefined) this.#noted.set(id, supersededBy);
  }

  /** What has to be said to the store once the memory is there. */
  changesFor(memory: NewMemory): readonly Change[] {
    const { owner, id, supersedes } = memory;
    const changes: Change[] = [];
    for (const earlier of supersedes === undefined ? [id] : [supersedes, id]) {
      const supersededBy = this.#noted.get(earlier) ?? this.#told.get(earlier);
      if (supersededBy === undefined) continue;
      changes.push({ kind: "supersede", owner, id: earlier, supersededBy });
    }
    return changes;
  }
}
