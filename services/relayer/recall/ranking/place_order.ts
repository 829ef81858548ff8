/**
 * The order in which memories were written, while they come in any order: places in
 * blocks, so that one that comes late moves few others.
 *
 * @module
 */

/** What the order goes by. */
export interface PlaceKey {
  /** When it was written. */
  readonly timeMs: number;
  /** What those of one moment are ordered by. */
  readonly id: string;
}

/** The places right before and after one. */
interface PlaceNeighbours {
  /** Undefined when it is the first. */
  readonly before: number | undefined;
  /** Undefined when it is the last. */
  readonly after: number | undefined;
}

const MAX_BLOCK = 512;

/** Places in the order of their keys, which don't change while they are in it. */
export class PlaceOrder {
  readonly #keyOf: (place: number) => PlaceKey;
  /** None of them is empty. */
  #blocks: number[][] = [];

  /** No places yet; `keyOf` tells what one is ordered by. */
  constructor(keyOf: (place: number) => PlaceKey) {
    this.#keyOf = keyOf;
  }

  /** All places in their order. */
  *places(): Generator<number> {
    for (const block of this.#blocks) yield* block;
  }

  /** Takes places in their order, in place of those that are here. */
  adopt(order: Int32Array): void {
    this.#blocks = [];
    for (let from = 0; from < order.length; from += MAX_BLOCK) {
      this.#blocks.push([...order.subarray(from, from + MAX_BLOCK)]);
    }
  }

  /** Adds a place, and tells between which it is. */
  add(place: number): PlaceNeighbours {
    const { block, at, blockAt } = this.#find(place);
    const before = at > 0 ? block?.[at - 1] : this.#blocks[blockAt - 1]?.at(-1);
    const after = block?.[at] ?? this.#blocks[blockAt + 1]?.[0];
    if (block === undefined) this.#blocks.push([place]);
    else block.splice(at, 0, place);
    if (block !== undefined && block.length > MAX_BLOCK) {
      // The last block is mostly added to: what is before stays full.
      const isLast = blockAt === this.#blocks.length - 1;
      const cut = isLast ? MAX_BLOCK : MAX_BLOCK >> 1;
      this.#blocks.splice(blockAt + 1, 0, block.splice(cut));
    }
    return { before, after };
  }

  /** Removes a place that is in it. */
  remove(place: number): void {
    const { block, at, blockAt } = this.#find(place);
    if (block?.[at] !== place) return;
    block.splice(at, 1);
    if (block.length === 0) this.#blocks.splice(blockAt, 1);
  }

  /** From now on the places are 0 to `count` - 1, in the order there is. */
  renumber(count: number): void {
    this.#blocks = [];
    for (let from = 0; from < count; from += MAX_BLOCK) {
      const size = Math.min(MAX_BLOCK, count - from);
      this.#blocks.push(Array.from({ length: size }, (_, at) => from + at));
    }
  }

  /** Where a place is, or belongs. */
  #find(place: number): {
    readonly block: number[] | undefined;
    readonly blockAt: number;
    readonly at: number;
  } {
    const key = this.#keyOf(place);
    const isBefore = (other: number): boolean => {
      const { timeMs, id } = this.#keyOf(other);
      return timeMs < key.timeMs || (timeMs === key.timeMs && id < key.id);
    };
    // The first block whose last place is not before it; else the last block.
    const blockAt = Math.max(
      0,
      Math.min(
        this.#blocks.length - 1,
        firstWithout(this.#blocks, (block) => isBefore(block.at(-1) ?? place)),
      ),
    );
    const block = this.#blocks[blockAt];
    return { block, blockAt, at: firstWithout(block ?? [], isBefore) };
  }
}

/** The index of the first item that is not `isBefore`, in a list with those first. */
function firstWithout<Item>(
  items: readonly Item[],
  isBefore: (item: Item) => boolean,
): number {
  let from = 0;
  let to = items.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const item = items[middle];
    if (item !== undefined && isBefore(item)) from = middle + 1;
    else to = middle;
  }
  return from;
}
