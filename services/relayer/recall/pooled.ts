/**
 * Work on many items, some at a time.
 *
 * @module
 */

/** Options of {@linkcode pooled}. */
export interface PooledOptions<Item, Result> {
  /** Most items that are worked on at the same time. */
  readonly parallel: number;
  /** Nothing is begun any more after this. */
  readonly signal: AbortSignal;
  /** Works on one. */
  readonly work: (item: Item) => Promise<Result>;
}

/**
 * Works on all items; the results stand in the order of the items.
 *
 * @throws what `work` throws first, and the signal's reason when it ends early
 */
export async function pooled<Item, Result>(
  items: readonly Item[],
  options: PooledOptions<Item, Result>,
): Promise<readonly Result[]> {
  const { parallel, signal, work } = options;
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  async function worker(): Promise<void> {
    while (next < items.length && !hasFailed) {
      signal.throwIfAborted();
      const at = next++;
      const [item] = items.slice(at, at + 1);
      if (item === undefined) continue;
      try {
        results[at] = await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  }
  const workers = Math.min(parallel, items.length);
  await Promise.all(Array.from({ length: workers }, worker));
  signal.throwIfAborted();
  return results;
}
