/**
 * The largest of many numbers.
 *
 * @module
 */

/** Options of {@linkcode smallestOfLargest}. */
export interface SmallestOfLargestOptions {
  /** How many of the largest, at least 1. */
  readonly limit: number;
  /** What a score stands for; asked for the largest ones only. */
  readonly exact: (index: number) => number;
}

/**
 * Picks the `limit` largest of `scores`, and of what they stand for the smallest.
 * `-Infinity` when there are fewer scores than that.
 */
export function smallestOfLargest(
  scores: Float64Array,
  options: SmallestOfLargestOptions,
): number {
  const { limit, exact } = options;
  if (scores.length < limit) return -Infinity;
  const heap = new Uint32Array(limit);
  for (let index = 0; index < limit; index++) heap[index] = index;
  for (let at = limit >> 1; at-- > 0;) sink(heap, { at, scores });
  for (let index = limit; index < scores.length; index++) {
    if (!((scores[index] ?? 0) > (scores[heap[0] ?? 0] ?? 0))) continue;
    heap[0] = index;
    sink(heap, { at: 0, scores });
  }
  return Math.min(...Array.from(heap, exact));
}

/** Restores the order of a heap whose smallest score stands first. */
function sink(
  heap: Uint32Array,
  options: { readonly at: number; readonly scores: Float64Array },
): void {
  const { scores } = options;
  let { at } = options;
  const moved = heap[at] ?? 0;
  const score = scores[moved] ?? 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    const right = child + 1;
    if (
      right < heap.length &&
      (scores[heap[right] ?? 0] ?? 0) < (scores[heap[child] ?? 0] ?? 0)
    ) child = right;
    const smaller = scores[heap[child] ?? 0] ?? 0;
    if (smaller >= score) break;
    heap[at] = heap[child] ?? 0;
    at = child;
  }
  heap[at] = moved;
}
