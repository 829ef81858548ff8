/**
 * Which memory took the place of which. A blob tells whose place its memory took,
 * and nothing of what came after it: that is known of the later ones only.
 *
 * @module
 */

import type { NewMemory } from "../store/memory_row.ts";
import type { Change, RelayerStore } from "../store/store.ts";

const PAGE = 500;

/** Who replaced whom, of one owner. */
export class Replacements {
  readonly #replacedBy = new Map<string, string>();

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
    },
  ): Promise<Replacements> {
    const { store, signal } = options;
    const replacements = new Replacements();
    let afterId: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      const rows = await store.scanMemories({
        owner,
        limit: PAGE,
        ...(afterId === undefined ? {} : { afterId }),
      });
      for (const row of rows) replacements.add(row);
      afterId = rows.at(-1)?.id;
      if (rows.length < PAGE || afterId === undefined) return replacements;
    }
  }

  /** Notes whose place a memory took. */
  add({ id, supersedes }: Pick<NewMemory, "id" | "supersedes">): void {
    if (supersedes !== undefined) this.#replacedBy.set(supersedes, id);
  }

  /** What has to be said to the store once the memory is there. */
  changesFor(memory: NewMemory): readonly Change[] {
    const { owner, id, supersedes } = memory;
    const changes: Change[] = [];
    if (supersedes !== undefined) {
      changes.push({
        kind: "supersede",
        owner,
        id: supersedes,
        supersededBy: id,
      });
    }
    const supersededBy = this.#replacedBy.get(id);
    if (supersededBy !== undefined) {
      changes.push({ kind: "supersede", owner, id, supersededBy });
    }
    return changes;
  }
}
