/**
 * The words of one namespace's memories, and how well each memory fits the words
 * of a question: BM25 whose counts take in those of the memories said right before
 * and after, since an answer in a conversation seldom repeats the question's words.
 *
 * A posting has four bytes (24 bits of place, 8 of count), so with the room that
 * lists grow into it has at most eight. What is removed is skipped until a
 * quarter is; then the lists are written again without it.
 *
 * @module
 */

/** Of BM25: how soon further mentions of a word stop to count. */
const K1 = 0.9;
/** Of BM25: how much a long memory's words count less. */
const B = 0.4;
/** What the counts of the first, second and third neighbour are worth. */
const SHARES = [0.3, 0.2, 0.1] as const;
const MAX_COUNT = 255;
const NONE = -1;
const MIN_REMOVED = 64;
const MIN_PLACES = 16;

/** The most memories that one index takes, removed ones included. */
export const MAX_PLACES = 2 ** 24;

/** A memory that has a word of the question, or a neighbour which has one. */
export interface WordHit {
  /** As given to {@linkcode Postings.put}. */
  readonly id: string;
  /** More than 0; comparable within one answer only. */
  readonly score: number;
}

/** How {@linkcode Postings.search} searches. */
export interface WordSearch {
  /** Most memories. */
  readonly limit: number;
  /**
   * Whether the counts of neighbours join; else it is plain BM25.
   *
   * @default {true}
   */
  readonly joinsNeighbours?: boolean | undefined;
  /**
   * How far beneath the last of them others may be that are given as well, for who
   * adds something to the scores.
   *
   * @default {0}
   */
  readonly slack?: number | undefined;
}

interface List {
  items: Uint32Array;
  size: number;
}

/** An inverted index in memory; it is changed and asked without waiting. */
export class Postings {
  #lists = new Map<string, List>();
  readonly #places = new Map<string, number>();
  #ids: (string | undefined)[] = [];
  #lengths = new Float32Array(MIN_PLACES);
  #windows = new Float32Array(MIN_PLACES);
  #before = new Int32Array(MIN_PLACES);
  #after = new Int32Array(MIN_PLACES);
  #isSpeech = new Uint8Array(MIN_PLACES);
  #last = NONE;
  #windowSum = 0;
  #lengthSum = 0;

  /** How many memories it has. */
  get size(): number {
    return this.#places.size;
  }

  /** Bytes of its lists and arrays, without identifiers and the words themselves. */
  get bytes(): number {
    let bytes = this.#lengths.length * (4 * 4 + 1);
    for (const { items } of this.#lists.values()) bytes += items.byteLength;
    return bytes;
  }

  /**
   * Adds a memory behind the others, or replaces the one of that identifier where
   * it stands. Memories are to be given in the order they were written. Only
   * memories that are speech have neighbours, and no others between them.
   *
   * @throws {RangeError} when it would be more than {@linkcode MAX_PLACES}
   */
  put(
    id: string,
    { terms, isSpeech }: {
      readonly terms: readonly string[];
      readonly isSpeech: boolean;
    },
  ): void {
    if (this.#ids.length >= MAX_PLACES) this.#rewrite();
    if (this.#ids.length >= MAX_PLACES) {
      throw new RangeError(`Cannot index: there are ${MAX_PLACES} memories`);
    }
    const old = this.#places.get(id);
    const before = old === undefined ? this.#last : this.#before[old] ?? NONE;
    const after = old === undefined ? NONE : this.#after[old] ?? NONE;
    if (old !== undefined) this.#unlink(old);
    const place = this.#ids.push(id) - 1;
    this.#places.set(id, place);
    if (place >= this.#lengths.length) this.#grow();
    this.#lengths[place] = terms.length;
    this.#lengthSum += terms.length;
    this.#isSpeech[place] = isSpeech ? 1 : 0;
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, count] of counts) {
      this.#append(term, place * 256 + Math.min(count, MAX_COUNT));
    }
    this.#link(place, { before, after });
    this.#rewriteIfDue();
  }

  /** Removes a memory; false when there is none of that identifier. */
  remove(id: string): boolean {
    const place = this.#places.get(id);
    if (place === undefined) return false;
    this.#unlink(place);
    this.#places.delete(id);
    this.#rewriteIfDue();
    return true;
  }

  /**
   * The memories that fit best, the best first; of equal ones the one
   * put last. A term that is given twice counts once.
   */
  search(
    terms: readonly string[],
    { limit, joinsNeighbours = true, slack = 0 }: WordSearch,
  ): readonly WordHit[] {
    const scores = new Float64Array(this.#ids.length);
    const counts = new Float64Array(this.#ids.length);
    const found: number[] = [];
    for (const term of new Set(terms)) {
      const list = this.#lists.get(term);
      if (list === undefined) continue;
      this.#score(list, { scores, counts, found, joinsNeighbours });
    }
    return bestOf({ found, scores, limit, slack }).flatMap((place) => {
      const id = this.#ids[place];
      return id === undefined ? [] : [{ id, score: scores[place] ?? 0 }];
    });
  }

  #score(
    { items, size }: List,
    { scores, counts, found, joinsNeighbours }: {
      readonly scores: Float64Array;
      readonly counts: Float64Array;
      readonly found: number[];
      readonly joinsNeighbours: boolean;
    },
  ): void {
    // Every step here is taken once a posting, so what it needs is at hand.
    const ids = this.#ids;
    const isSpeech = this.#isSpeech;
    const before = this.#before;
    const after = this.#after;
    const touched: number[] = [];
    let memories = 0;
    for (let at = 0; at < size; at++) {
      const item = items[at] ?? 0;
      const place = item >>> 8;
      if (ids[place] === undefined) continue;
      memories += 1;
      const count = item & MAX_COUNT;
      if (counts[place] === 0) touched.push(place);
      counts[place] = (counts[place] ?? 0) + count;
      if (!joinsNeighbours || isSpeech[place] !== 1) continue;
      for (let side = 0; side < 2; side++) {
        const links = side === 0 ? before : after;
        let near = place;
        for (let hop = 0; hop < SHARES.length; hop++) {
          near = links[near] ?? NONE;
          if (near === NONE || isSpeech[near] !== 1) break;
          if (counts[near] === 0) touched.push(near);
          counts[near] = (counts[near] ?? 0) + count * (SHARES[hop] ?? 0);
        }
      }
    }
    const rarity = Math.log(
      1 + (this.size - memories + 0.5) / (memories + 0.5),
    );
    const sum = joinsNeighbours ? this.#windowSum : this.#lengthSum;
    const mean = Math.max(1, sum / Math.max(1, this.size));
    const windows = joinsNeighbours ? this.#windows : this.#lengths;
    for (const place of touched) {
      const count = counts[place] ?? 0;
      const relative = (windows[place] ?? 0) / mean;
      if (scores[place] === 0) found.push(place);
      scores[place] = (scores[place] ?? 0) +
        rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * relative));
      counts[place] = 0;
    }
  }

  /** The memory said right before one, where both are speech. */
  saidBefore(id: string): string | undefined {
    const place = this.#places.get(id) ?? NONE;
    const before = this.#before[place] ?? NONE;
    return this.#isSpeech[place] === 1 && this.#isSpeech[before] === 1
      ? this.#ids[before]
      : undefined;
  }

  #eachNeighbour(
    place: number,
    visit: (near: number, share: number) => void,
  ): void {
    if (this.#isSpeech[place] !== 1) return;
    for (const links of [this.#before, this.#after]) {
      let near = place;
      for (const share of SHARES) {
        near = links[near] ?? NONE;
        if (near === NONE || this.#isSpeech[near] !== 1) break;
        visit(near, share);
      }
    }
  }

  #append(term: string, item: number): void {
    const list = this.#lists.get(term);
    if (list === undefined) {
      this.#lists.set(term, { items: Uint32Array.of(item), size: 1 });
      return;
    }
    if (list.size === list.items.length) {
      const items = new Uint32Array(2 * list.size);
      items.set(list.items);
      list.items = items;
    }
    list.items[list.size++] = item;
  }

  #link(
    place: number,
    { before, after }: { readonly before: number; readonly after: number },
  ): void {
    this.#before[place] = before;
    this.#after[place] = after;
    if (before !== NONE) this.#after[before] = place;
    if (after === NONE) this.#last = place;
    else this.#before[after] = place;
    // One that is no speech parts those which were neighbours until now.
    for (const near of [before, place, after]) {
      if (near !== NONE) this.#measureAround(near);
    }
  }

  #unlink(place: number): void {
    const before = this.#before[place] ?? NONE;
    const after = this.#after[place] ?? NONE;
    if (before !== NONE) this.#after[before] = after;
    if (after === NONE) this.#last = before;
    else this.#before[after] = before;
    this.#windowSum -= this.#windows[place] ?? 0;
    this.#lengthSum -= this.#lengths[place] ?? 0;
    this.#ids[place] = undefined;
    if (before !== NONE) this.#measureAround(before);
    if (after !== NONE) this.#measureAround(after);
  }

  /** A memory's length takes in its neighbours' by the shares their counts have. */
  #measureAround(place: number): void {
    this.#measure(place);
    this.#eachNeighbour(place, (near) => this.#measure(near));
  }

  #measure(place: number): void {
    let length = this.#lengths[place] ?? 0;
    this.#eachNeighbour(place, (near, share) => {
      length += share * (this.#lengths[near] ?? 0);
    });
    const old = this.#windows[place] ?? 0;
    this.#windows[place] = length;
    this.#windowSum += (this.#windows[place] ?? 0) - old;
  }

  #grow(): void {
    const size = 2 * this.#lengths.length;
    const larger = <T extends Float32Array | Int32Array | Uint8Array>(
      to: T,
      from: T,
    ): T => {
      to.set(from);
      return to;
    };
    this.#lengths = larger(new Float32Array(size), this.#lengths);
    this.#windows = larger(new Float32Array(size), this.#windows);
    this.#before = larger(new Int32Array(size), this.#before);
    this.#after = larger(new Int32Array(size), this.#after);
    this.#isSpeech = larger(new Uint8Array(size), this.#isSpeech);
  }

  #rewriteIfDue(): void {
    const removed = this.#ids.length - this.size;
    if (removed >= Math.max(MIN_REMOVED, this.#ids.length / 4)) this.#rewrite();
  }

  /** Numbers the memories again in their order, and leaves out what is removed. */
  #rewrite(): void {
    const order: number[] = [];
    for (let at = this.#last; at !== NONE; at = this.#before[at] ?? NONE) {
      order.push(at);
    }
    order.reverse();
    const places = new Int32Array(this.#ids.length).fill(NONE);
    order.forEach((old, place) => places[old] = place);
    const room = Math.max(MIN_PLACES, 2 ** Math.ceil(Math.log2(order.length)));
    const lengths = new Float32Array(room);
    const windows = new Float32Array(room);
    const isSpeech = new Uint8Array(room);
    const before = new Int32Array(room);
    const after = new Int32Array(room);
    order.forEach((old, place) => {
      lengths[place] = this.#lengths[old] ?? 0;
      windows[place] = this.#windows[old] ?? 0;
      isSpeech[place] = this.#isSpeech[old] ?? 0;
      before[place] = place - 1;
      after[place] = place + 1 < order.length ? place + 1 : NONE;
    });
    this.#ids = order.map((old) => this.#ids[old]);
    this.#ids.forEach((id, place) => {
      if (id !== undefined) this.#places.set(id, place);
    });
    this.#lengths = lengths;
    this.#windows = windows;
    this.#isSpeech = isSpeech;
    this.#before = before;
    this.#after = after;
    this.#last = order.length - 1;
    // The sums are taken again, so that rounding does not grow with the changes.
    this.#lengthSum = lengths.reduce((sum, length) => sum + length, 0);
    this.#windowSum = windows.reduce((sum, length) => sum + length, 0);
    const lists = new Map<string, List>();
    for (const [term, { items, size }] of this.#lists) {
      const kept = renumbered(items.subarray(0, size), places);
      if (kept.length > 0) lists.set(term, { items: kept, size: kept.length });
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
  return kept.slice(0, size);
}

/** The places of the best scores in their order, without sorting all of them. */
function bestOf({ found, scores, limit, slack }: {
  readonly found: readonly number[];
  readonly scores: Float64Array;
  readonly limit: number;
  readonly slack: number;
}): readonly number[] {
  const compare = (left: number, right: number): number =>
    (scores[right] ?? 0) - (scores[left] ?? 0) || right - left;
  const room = Math.max(0, limit);
  let best: number[] = [];
  let least = 0;
  for (const place of found) {
    if ((scores[place] ?? 0) < least) continue;
    best.push(place);
    // Cut at twice the size, so that each cut pays for as many comparisons.
    if (best.length < 2 * room + MIN_PLACES) continue;
    best = best.sort(compare).slice(0, room);
    least = scores[best.at(-1) ?? 0] ?? 0;
  }
  best = best.sort(compare).slice(0, room);
  const last = best.at(-1);
  if (slack === 0 || best.length < room || last === undefined) return best;
  const bound = (scores[last] ?? 0) - slack;
  return found.filter((place) => (scores[place] ?? 0) >= bound).sort(compare);
}
