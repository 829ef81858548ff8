/**
 * Restores a namespace completely, with as many requests as that takes.
 *
 * @module
 */

import type { Mem } from "../../mod.ts";

/** The result of a complete restore. */
export interface RestoredAll {
  /** The ids of the restored memories. */
  readonly ids: readonly string[];
  /** Number of memories that could not be decrypted. */
  readonly failed: number;
  /** Number of requests that were made. */
  readonly rounds: number;
}

const MAX_ROUNDS = 1_000;

/**
 * Restores `limit` memories at a time until none is left.
 *
 * @throws {Error} When a memory is restored twice, or restoring does not come
 * to an end.
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
