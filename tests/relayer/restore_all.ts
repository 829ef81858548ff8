/**
 * Restores a namespace until nothing of it is missing.
 *
 * @module
 */

import type { Mem } from "../../mod.ts";

/** What came of it. */
export interface RestoredAll {
  /** The memories that are back. */
  readonly ids: readonly string[];
  /** How many could not be opened. */
  readonly failed: number;
  /** How many requests it took. */
  readonly rounds: number;
}

const MAX_ROUNDS = 1_000;

/**
 * Asks for `limit` memories at a time.
 *
 * @throws {Error} When a memory is restored twice, or there is no end.
 */
export async function restoreAll(
  mem: Mem,
  namespace: string,
  limit: number,
): Promise<RestoredAll> {
  const ids = new Set<string>();
  for (let rounds = 1; rounds <= MAX_ROUNDS; rounds++) {
    const result = await mem.restore(namespace, limit);
    for (const id of result.restored_ids ?? []) {
      if (ids.has(id)) throw new Error(`Cannot go on: "${id}" came twice`);
      ids.add(id);
    }
    if (!result.truncated) {
      return { ids: [...ids], failed: result.failed, rounds };
    }
  }
  throw new Error(`Cannot restore: not all is back after ${MAX_ROUNDS} rounds`);
}
