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

import { type PlaceKey, PlaceOrder } from "./place_order.ts";

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
/** What a term takes beside its postings, and a memory beside its terms. */
const TERM_BYTES = 250;
const PLACE_BYTES = 130;
const SPEECH = 1;
const QUESTION = 2;

/** The most memories that one index takes, removed ones included. */
export const MAX_PLACES = 2 ** 24;

/** A memory as an index of words takes it. */
export interface PostedMemory {
  /** When it was written; those of one moment are in the order of their ids. */
  readonly createdAtMs: number;
  /** How often it has each term. */
  readonly terms: ReadonlyMap<string, number>;
  /** Whether someone says it: then those said before and after it are neighbours. */
  readonly isSpeech: boolean;
  /** Whether what is said asks something. */
  readonly isQuestion: boolean;
}

/** A memory that has a word of the question, or a neighbour which has one. */
export interface WordHit {
  /** As given to {@linkcode Postings.put}. */
  readonly id: string;
  /** 0 or more; comparable within one answer only. */
  readonly score: number;
  /** What the question said right before it scores by its own words; else 0. */
  readonly askedBefore: number;
}

/** What a search found. */
export interface WordHits {
  /** The memories that fit best, the best first. */
  readonly hits: readonly WordHit[];
  /** What a memory of usual length would score that has each word once. */
  readonly ideal: number;
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
  /**
   * The share of {@linkcode WordHit.askedBefore} that the caller adds: it may lift
   * others as well.
   *
   * @default {0}
   */
  readonly askedShare?: number | undefined;
  /**
   * Which memories count.
   *
   * @default all
   */
  readonly accepts?: ((id: string) => boolean) | undefined;
  /**
   * Memories whose hits are given whatever they score.
   *
   * @default none
   */
  readonly also?: readonly string[] | undefined;
}

interface List {
  items: Uint32Array;
  size: number;
}

/** The sums of one search, by place. */
interface Scores {
  /** With what neighbours have. */
  readonly whole: Float64Array;
  /** Of the own words of questions. */
  readonly asked: Float64Array;
  readonly counts: Float64Array;
  /** Places that have a score. */
  readonly found: number[];
  readonly joinsNeighbours: boolean;
}

/** An inverted index in memory; it is changed and asked without waiting. */
export class Postings {
  #lists = new Map<string, List>();
  readonly #places = new Map<string, number>();
  #ids: (string | undefined)[] = [];
  #times = new Float64Array(MIN_PLACES);
  #lengths = new Float32Array(MIN_PLACES);
  #windows = new Float32Array(MIN_PLACES);
  #before = new Int32Array(MIN_PLACES);
  #after = new Int32Array(MIN_PLACES);
  #flags = new Uint8Array(MIN_PLACES);
  #order = new PlaceOrder((place) => this.#keyOf(place));
  #windowSum = 0;
  #lengthSum = 0;
  #listBytes = 0;

  /** How many memories it has. */
  get size(): number {
    return this.#places.size;
  }

  /** About how many bytes it takes. */
  get bytes(): number {
    return this.#listBytes + this.#lists.size * TERM_BYTES +
      this.#lengths.length * PLACE_BYTES;
  }

  /** The terms there are, those of removed memories for a while among them. */
  terms(): Iterable<string> {
    return this.#lists.keys();
  }

  /**
   * Adds a memory, or puts it in the place of the one of that id. Only memories that
   * are speech have neighbours, and no others between them.
   *
   * @throws {RangeError} when it would be more than {@linkcode MAX_PLACES}
   */
  put(id: string, memory: PostedMemory): void {
    this.remove(id);
    if (this.#ids.length >= MAX_PLACES) this.#rewrite();
    if (this.#ids.length >= MAX_PLACES) {
      throw new RangeError(`Cannot index: there are ${MAX_PLACES} memories`);
    }
    const { createdAtMs, terms, isSpeech, isQuestion } = memory;
    const place = this.#ids.push(id) - 1;
    this.#places.set(id, place);
    if (place >= this.#lengths.length) this.#grow();
    this.#times[place] = createdAtMs;
    this.#flags[place] = isSpeech ? SPEECH | (isQuestion ? QUESTION : 0) : 0;
    let length = 0;
    for (const [term, count] of terms) {
      length += count;
      this.#append(term, place * 256 + Math.min(count, MAX_COUNT));
    }
    this.#lengths[place] = length;
    this.#lengthSum += length;
    this.#link(place);
  }

  /** Removes a memory; false when there is none of that id. */
  remove(id: string): boolean {
    const place = this.#places.get(id);
    if (place === undefined) return false;
    this.#unlink(place);
    this.#places.delete(id);
    const removed = this.#ids.length - this.size;
    if (removed >= Math.max(MIN_REMOVED, this.#ids.length / 4)) this.#rewrite();
    return true;
  }

  /** Removes all memories. */
  clear(): void {
    this.#places.clear();
    this.#order.renumber(0);
    this.#rewrite();
  }

  /**
   * The memories that fit best; of equal ones the one put last comes first.
   *
   * @param words The terms of each word: a memory has the word that has one of them.
   */
  search(
    words: readonly (readonly string[])[],
    options: WordSearch,
  ): WordHits {
    const { limit, joinsNeighbours = true, accepts, askedShare = 0 } = options;
    const scores: Scores = {
      whole: new Float64Array(this.#ids.length),
      asked: new Float64Array(this.#ids.length),
      counts: new Float64Array(this.#ids.length),
      found: [],
      joinsNeighbours,
    };
    let ideal = 0;
    for (const terms of words) {
      const lists = terms.flatMap((term) => this.#lists.get(term) ?? []);
      ideal += this.#score(lists, scores);
    }
    const found = accepts === undefined
      ? scores.found
      : scores.found.filter((place) => accepts(this.#ids[place] ?? ""));
    const { whole, asked } = scores;
    const most = askedShare === 0
      ? 0
      : found.reduce((most, place) => Math.max(most, asked[place] ?? 0), 0);
    const slack = (options.slack ?? 0) + askedShare * most;
    const best = bestOf({ found, scores: whole, limit, slack });
    const more = this.#placesOf(options.also ?? [], best);
    const hits = [...best, ...more].flatMap((place) => {
      const id = this.#ids[place];
      const score = whole[place] ?? 0;
      const askedBefore = asked[this.#saidBefore(place)] ?? 0;
      return id === undefined ? [] : [{ id, score, askedBefore }];
    });
    return { hits, ideal };
  }

  /** Whether a memory has one of the terms. */
  has(id: string, terms: readonly string[]): boolean {
    const place = this.#places.get(id);
    return place !== undefined && terms.some((term) => {
      const list = this.#lists.get(term);
      return list !== undefined && hasPlace(list, place);
    });
  }

  #placesOf(
    ids: readonly string[],
    known: readonly number[],
  ): readonly number[] {
    if (ids.length === 0) return [];
    const taken = new Set(known);
    return ids.flatMap((id) => {
      const place = this.#places.get(id);
      return place === undefined || taken.has(place) ? [] : [place];
    });
  }

  /** Adds what a word gives to the scores, and tells what it gives at the usual. */
  #score(lists: readonly List[], scores: Scores): number {
    // Every step here is taken once a posting, so what it needs is at hand.
    const { counts, found, whole, asked, joinsNeighbours } = scores;
    const ids = this.#ids;
    const flags = this.#flags;
    const before = this.#before;
    const after = this.#after;
    const touched: number[] = [];
    const questions: number[] = [];
    let memories = 0;
    for (const { items, size } of lists) {
      for (let at = 0; at < size; at++) {
        const item = items[at] ?? 0;
        const place = item >>> 8;
        if (ids[place] === undefined) continue;
        memories += 1;
        const count = item & MAX_COUNT;
        if (counts[place] === 0) touched.push(place);
        counts[place] = (counts[place] ?? 0) + count;
        if (!joinsNeighbours || flags[place] === 0) continue;
        if (flags[place] === (SPEECH | QUESTION)) questions.push(item);
        for (let side = 0; side < 2; side++) {
          const links = side === 0 ? before : after;
          let near = place;
          for (let hop = 0; hop < SHARES.length; hop++) {
            near = links[near] ?? NONE;
            if (near === NONE || flags[near] === 0) break;
            if (counts[near] === 0) touched.push(near);
            counts[near] = (counts[near] ?? 0) + count * (SHARES[hop] ?? 0);
          }
        }
      }
    }
    const rarity = this.#rarityOf(Math.min(memories, this.size));
    const sum = joinsNeighbours ? this.#windowSum : this.#lengthSum;
    const mean = Math.max(1, sum / Math.max(1, this.size));
    const windows = joinsNeighbours ? this.#windows : this.#lengths;
    for (const place of touched) {
      const count = counts[place] ?? 0;
      const relative = (windows[place] ?? 0) / mean;
      if (whole[place] === 0) found.push(place);
      whole[place] = (whole[place] ?? 0) +
        rarity * saturated(count, relative);
      counts[place] = 0;
    }
    const ownMean = Math.max(1, this.#lengthSum / Math.max(1, this.size));
    for (const item of questions) {
      const place = item >>> 8;
      const relative = (this.#lengths[place] ?? 0) / ownMean;
      asked[place] = (asked[place] ?? 0) +
        rarity * saturated(item & MAX_COUNT, relative);
    }
    return rarity;
  }

  #rarityOf(memories: number): number {
    return Math.log(1 + (this.size - memories + 0.5) / (memories + 0.5));
  }

  /** The place of what was said right before, where both are speech. */
  #saidBefore(place: number): number {
    if (this.#flags[place] === 0) return NONE;
    const before = this.#before[place] ?? NONE;
    return before === NONE || this.#flags[before] === 0 ? NONE : before;
  }

  #keyOf(place: number): PlaceKey {
    return { timeMs: this.#times[place] ?? 0, id: this.#ids[place] ?? "" };
  }

  #eachNeighbour(
    place: number,
    visit: (near: number, share: number) => void,
  ): void {
    if (this.#flags[place] === 0) return;
    for (const links of [this.#before, this.#after]) {
      let near = place;
      for (const share of SHARES) {
        near = links[near] ?? NONE;
        if (near === NONE || this.#flags[near] === 0) break;
        visit(near, share);
      }
    }
  }

  #append(term: string, item: number): void {
    const list = this.#lists.get(term);
    if (list === undefined) {
      this.#lists.set(term, { items: Uint32Array.of(item), size: 1 });
      this.#listBytes += 4;
      return;
    }
    if (list.size === list.items.length) {
      const items = new Uint32Array(2 * list.size);
      items.set(list.items);
      this.#listBytes += items.byteLength - list.items.byteLength;
      list.items = items;
    }
    list.items[list.size++] = item;
  }

  #link(place: number): void {
    const { before = NONE, after = NONE } = this.#order.add(place);
    this.#before[place] = before;
    this.#after[place] = after;
    if (before !== NONE) this.#after[before] = place;
    if (after !== NONE) this.#before[after] = place;
    // One that is no speech parts those which were neighbours until now.
    for (const near of [before, place, after]) {
      if (near !== NONE) this.#measureAround(near);
    }
  }

  #unlink(place: number): void {
    const before = this.#before[place] ?? NONE;
    const after = this.#after[place] ?? NONE;
    this.#order.remove(place);
    if (before !== NONE) this.#after[before] = after;
    if (after !== NONE) this.#before[after] = before;
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
    this.#times = copied(new Float64Array(size), this.#times);
    this.#lengths = copied(new Float32Array(size), this.#lengths);
    this.#windows = copied(new Float32Array(size), this.#windows);
    this.#before = copied(new Int32Array(size), this.#before);
    this.#after = copied(new Int32Array(size), this.#after);
    this.#flags = copied(new Uint8Array(size), this.#flags);
  }

  /** Numbers the memories again in their order, and leaves out what is removed. */
  #rewrite(): void {
    const order = [...this.#order.places()];
    const places = new Int32Array(this.#ids.length).fill(NONE);
    order.forEach((old, place) => places[old] = place);
    const room = Math.max(MIN_PLACES, 2 ** Math.ceil(Math.log2(order.length)));
    const moved = <T extends Numbers>(to: T, from: T): T => {
      order.forEach((old, place) => to[place] = from[old] ?? 0);
      return to;
    };
    this.#times = moved(new Float64Array(room), this.#times);
    this.#lengths = moved(new Float32Array(room), this.#lengths);
    this.#windows = moved(new Float32Array(room), this.#windows);
    this.#flags = moved(new Uint8Array(room), this.#flags);
    this.#before = new Int32Array(room);
    this.#after = new Int32Array(room);
    order.forEach((_, place) => {
      this.#before[place] = place - 1;
      this.#after[place] = place + 1 < order.length ? place + 1 : NONE;
    });
    this.#ids = order.map((old) => this.#ids[old]);
    this.#ids.forEach((id, place) => {
      if (id !== undefined) this.#places.set(id, place);
    });
    this.#order.renumber(order.length);
    // The sums are taken again, so that rounding does not grow with the changes.
    this.#lengthSum = this.#lengths.reduce((sum, length) => sum + length, 0);
    this.#windowSum = this.#windows.reduce((sum, length) => sum + length, 0);
    const lists = new Map<string, List>();
    this.#listBytes = 0;
    for (const [term, { items, size }] of this.#lists) {
      const kept = renumbered(items.subarray(0, size), places);
      if (kept.length === 0) continue;
      lists.set(term, { items: kept, size: kept.length });
      this.#listBytes += kept.byteLength;
    }
    this.#lists = lists;
  }
}

type Numbers = Float64Array | Float32Array | Int32Array | Uint8Array;

function copied<T extends Numbers>(to: T, from: T): T {
  to.set(from);
  return to;
}

/** BM25's part that is about how often a memory has a word. */
function saturated(count: number, relativeLength: number): number {
  return count * (K1 + 1) / (count + K1 * (1 - B + B * relativeLength));
}

/** Lists are in the order of places. */
function hasPlace({ items, size }: List, place: number): boolean {
  let from = 0;
  let to = size;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((items[middle] ?? 0) >>> 8 < place) from = middle + 1;
    else to = middle;
  }
  return from < size && (items[from] ?? 0) >>> 8 === place;
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
