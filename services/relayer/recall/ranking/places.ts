/**
 * Places are the numbers that memories have in an index of words. Lists keep
 * which places have a term, and how often; an order keeps when the memories
 * were written.
 *
 * @module
 */

/** The most places that lists tell apart. */
export const MAX_PLACES = 2 ** 24;
/** The most often that a list counts a term in one memory. */
export const MAX_COUNT = 255;

/** Stands for no place, as before the first one. */
export const NO_PLACE: -1 = -1;

/** What a term takes beside its postings. */
const TERM_BYTES = 250;

/**
 * The memories of one term, in the order of their places: four bytes each (24
 * bits of place, 8 of count), so with the room that lists grow into at most
 * eight.
 */
export interface PostingList {
  /** Of each memory its place times 256, plus how often it has the term. */
  items: Uint32Array;
  /** How many of the items count. */
  size: number;
}

/** All lists, by term. */
export class PostingLists {
  #lists = new Map<string, PostingList>();
  #itemBytes = 0;

  /** About how many bytes they take. */
  get bytes(): number {
    return this.#itemBytes + this.#lists.size * TERM_BYTES;
  }

  /** How many terms there are. */
  get size(): number {
    return this.#lists.size;
  }

  /** All terms that are or were there. */
  terms(): Iterable<string> {
    return this.#lists.keys();
  }

  /** The list of a term. */
  get(term: string): PostingList | undefined {
    return this.#lists.get(term);
  }

  /** Notes that the memory of a place, the greatest so far, has a term. */
  append(term: string, place: number, count: number): void {
    const item = place * 256 + Math.min(count, MAX_COUNT);
    const list = this.#lists.get(term);
    if (list === undefined) {
      this.#lists.set(term, { items: Uint32Array.of(item), size: 1 });
      this.#itemBytes += 4;
      return;
    }
    if (list.size === list.items.length) {
      const items = new Uint32Array(Math.max(1, 2 * list.size));
      items.set(list.items);
      this.#itemBytes += items.byteLength - list.items.byteLength;
      list.items = items;
    }
    list.items[list.size++] = item;
  }

  /** All terms with their lists. */
  entries(): Iterable<readonly [string, PostingList]> {
    return this.#lists;
  }

  /**
   * Takes over an array of items as the list of a term that has no list yet.
   */
  adopt(term: string, items: Uint32Array): void {
    this.#lists.set(term, { items, size: items.length });
    this.#itemBytes += items.byteLength;
  }

  /** Removes all lists. */
  clear(): void {
    this.#lists.clear();
    this.#itemBytes = 0;
  }

  /** Whether the memory of a place has a term. */
  has(term: string, place: number): boolean {
    const list = this.#lists.get(term);
    if (list === undefined) return false;
    let from = 0;
    let to = list.size;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((list.items[middle] ?? 0) >>> 8 < place) from = middle + 1;
      else to = middle;
    }
    return from < list.size && (list.items[from] ?? 0) >>> 8 === place;
  }

  /** Gives each place the number in `places`, and leaves out those with -1. */
  renumber(places: Int32Array): void {
    const lists = new Map<string, PostingList>();
    this.#itemBytes = 0;
    for (const [term, { items, size }] of this.#lists) {
      const kept = renumbered(items.subarray(0, size), places);
      if (kept.length === 0) continue;
      lists.set(term, { items: kept, size: kept.length });
      this.#itemBytes += kept.byteLength;
    }
    this.#lists = lists;
  }
}

function renumbered(items: Uint32Array, places: Int32Array): Uint32Array {
  const kept = new Uint32Array(items.length);
  let size = 0;
  for (const item of items) {
    const place = places[item >>> 8] ?? NO_PLACE;
    if (place !== NO_PLACE) kept[size++] = place * 256 + (item & MAX_COUNT);
  }
  // A memory that was added late may be early in the new order.
  return kept.slice(0, size).sort();
}

/** What places are ordered by. */
export interface PlaceKey {
  /** When the memory was written. */
  readonly timeMs: number;
  /** The memory's id, which orders memories of the same time. */
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

/**
 * Places in the order of their keys, which don't change while they are in it:
 * in blocks, so that one that comes late moves few others.
 */
export class PlaceOrder {
  readonly #getKey: (place: number) => PlaceKey;
  /** The blocks, in order; each has at least one place. */
  #blocks: number[][] = [];

  /** No places yet; `getKey` tells what one is ordered by. */
  constructor(getKey: (place: number) => PlaceKey) {
    this.#getKey = getKey;
  }

  /** All places in their order. */
  *places(): Generator<number> {
    for (const block of this.#blocks) yield* block;
  }

  /** Replaces all places with the given ones, which are in their order. */
  adopt(order: Int32Array): void {
    this.#blocks = [];
    for (let from = 0; from < order.length; from += MAX_BLOCK) {
      this.#blocks.push([...order.subarray(from, from + MAX_BLOCK)]);
    }
  }

  /** Adds a place, and returns those right before and after it. */
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

  /** Renumbers the places from 0 to `count` - 1, in their present order. */
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
    const key = this.#getKey(place);
    const isBefore = (other: number): boolean => {
      const { timeMs, id } = this.#getKey(other);
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

/**
 * The index of the first item that is not `isBefore`, in a list with those
 * first.
 */
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
