/**
 * Which memories have a term, and how often: four bytes each (24 bits of place, 8 of
 * count), so with the room that lists grow into at most eight.
 *
 * @module
 */

/** The most places that lists tell apart. */
export const MAX_PLACES = 2 ** 24;
/** The most often that a list counts a term in one memory. */
export const MAX_COUNT = 255;

/** What a term takes beside its postings. */
const TERM_BYTES = 250;
const NONE = -1;

/** The memories of one term, in the order of their places. */
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

  /** Takes the list of a term that has none, and the numbers with it. */
  adopt(term: string, items: Uint32Array): void {
    this.#lists.set(term, { items, size: items.length });
    this.#itemBytes += items.byteLength;
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
    const place = places[item >>> 8] ?? NONE;
    if (place !== NONE) kept[size++] = place * 256 + (item & MAX_COUNT);
  }
  // What was put late may be early in the order.
  return kept.slice(0, size).sort();
}
