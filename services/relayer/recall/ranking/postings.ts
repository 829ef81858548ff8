/**
 * The words of one namespace's memories, and how well each memory fits the words
 * of a question: BM25 whose counts take in those of the memories said right before
 * and after, since an answer in a conversation seldom repeats the question's words.
 *
 * What is removed is skipped until a quarter is; then everything is numbered again
 * without it.
 *
 * @module
 */

import { type PlaceKey, PlaceOrder } from "./place_order.ts";
import {
  MAX_COUNT,
  MAX_PLACES,
  type PostingList,
  PostingLists,
} from "./posting_lists.ts";
import {
  type Turn,
  type TurnParts,
  TurnTable,
  type TurnWeights,
} from "./turn_table.ts";

/** Of BM25: how soon further mentions of a word stop to count. */
const K1 = 0.9;
/** Of BM25: how much a long memory's words count less. */
const B = 0.4;
/** What the counts of the first, second and third neighbour are worth. */
const SHARES = [0.3, 0.2, 0.1] as const;
const NONE = -1;
/** What a term is worth that is only close to the word. */
const NEAR_SHARE = 0.6;
const MIN_REMOVED = 64;
const MIN_PLACES = 16;
/** What a memory takes beside its terms. */
const PLACE_BYTES = 140;

/** A memory as an index of words takes it. */
export interface PostedMemory {
  /** When it was written; those of one moment are in the order of their ids. */
  readonly createdAtMs: number;
  /** How often it has each term. */
  readonly terms: ReadonlyMap<string, number>;
  /**
   * What is known of something said: what is said before and after it are its
   * neighbours. Undefined where nothing is said.
   */
  readonly turn?: Turn | undefined;
}

/** A memory that has a word of the question, or a neighbour which has one. */
export interface WordHit {
  /** As given to {@linkcode Postings.put}. */
  readonly id: string;
  /** What its words score: 0 or more; comparable within one answer only. */
  readonly words: number;
  /** What comes of its turn. */
  readonly turn: TurnParts | undefined;
  /** When it was written. */
  readonly createdAtMs: number;
}

/** What a search found. */
export interface WordHits {
  /** The memories that fit best, the best first; then those asked for besides. */
  readonly hits: readonly WordHit[];
  /** What a memory of usual length would score that has each word once. */
  readonly ideal: number;
}

/** How {@linkcode Postings.search} searches. */
export interface WordSearch {
  /** Most memories. */
  readonly limit: number;
  /**
   * What turns get; with it the counts of neighbours join as well.
   *
   * @default plain BM25
   */
  readonly turns?: TurnWeights | undefined;
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

/** A word that is looked for. */
export interface SearchedWord {
  /** Memories that have the word have one of these terms. */
  readonly terms: readonly string[];
  /**
   * Memories that have one of these may have it.
   *
   * @default none
   */
  readonly near?: readonly string[] | undefined;
}

/** A list, and what its counts are worth. */
interface SharedList extends PostingList {
  readonly share: number;
}

/** The sums of one search, by place. */
interface Scores {
  /** Of words, with what neighbours have. */
  readonly words: Float64Array;
  /** Of the own words of questions. */
  readonly asked: Float32Array;
  /** How often a place has the word that is being looked at. */
  readonly counts: Float32Array;
  /** Places that have that word. */
  readonly touched: Int32Array;
  /** Places that have a score, the first `foundCount`. */
  readonly found: Int32Array;
  foundCount: number;
  readonly joinsNeighbours: boolean;
}

/** An inverted index in memory; it is changed and asked without waiting. */
export class Postings {
  readonly #lists = new PostingLists();
  readonly #turns = new TurnTable(MIN_PLACES);
  readonly #places = new Map<string, number>();
  #ids: (string | undefined)[] = [];
  #times = new Float64Array(MIN_PLACES);
  #lengths = new Float32Array(MIN_PLACES);
  #windows = new Float32Array(MIN_PLACES);
  #before = new Int32Array(MIN_PLACES);
  #after = new Int32Array(MIN_PLACES);
  readonly #order = new PlaceOrder((place) => this.#keyOf(place));
  #windowSum = 0;
  #lengthSum = 0;

  /** How many memories it has. */
  get size(): number {
    return this.#places.size;
  }

  /** About how many bytes it takes. */
  get bytes(): number {
    return this.#lists.bytes + this.#lengths.length * PLACE_BYTES;
  }

  /** The terms there are, those of removed memories for a while among them. */
  terms(): Iterable<string> {
    return this.#lists.terms();
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
    const { createdAtMs, terms, turn } = memory;
    const place = this.#ids.push(id) - 1;
    this.#places.set(id, place);
    if (place >= this.#lengths.length) this.#grow();
    this.#times[place] = createdAtMs;
    this.#turns.put(place, turn);
    let length = 0;
    for (const [term, count] of terms) {
      length += count;
      this.#lists.append(term, place, count);
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
   * @param words What memories have that have each word.
   */
  search(
    words: readonly SearchedWord[],
    { limit, turns, accepts, also = [] }: WordSearch,
  ): WordHits {
    const count = this.#ids.length;
    const scores: Scores = {
      words: new Float64Array(count),
      asked: new Float32Array(turns === undefined ? 0 : count),
      counts: new Float32Array(count),
      touched: new Int32Array(count),
      found: new Int32Array(count),
      foundCount: 0,
      joinsNeighbours: turns !== undefined,
    };
    let ideal = 0;
    for (const { terms, near = [] } of words) {
      const lists = [
        ...this.#listsOf(terms, 1),
        ...this.#listsOf(near, NEAR_SHARE),
      ];
      ideal += this.#score(lists, scores);
    }
    const best = this.#best(scores, { limit, turns, accepts });
    const places = [...best, ...this.#placesOf(also, best)];
    const hits = places.map((place): WordHit => ({
      id: this.#ids[place] ?? "",
      words: scores.words[place] ?? 0,
      createdAtMs: this.#times[place] ?? 0,
      turn: turns &&
        this.#partsOf(place, { asked: scores.asked, weights: turns }),
    }));
    return { hits, ideal };
  }

  /** The places of the best scores in their order, without sorting all of them. */
  #best(
    scores: Scores,
    { limit, turns, accepts }: Omit<WordSearch, "also">,
  ): readonly number[] {
    const { words, found, foundCount } = scores;
    const whole = turns === undefined
      ? words
      : this.#wholeScores(scores, turns);
    const compare = (left: number, right: number): number =>
      (whole[right] ?? 0) - (whole[left] ?? 0) || right - left;
    const room = Math.max(0, limit);
    let best: number[] = [];
    let least = -Infinity;
    for (let at = 0; at < foundCount; at++) {
      const place = found[at] ?? 0;
      if ((whole[place] ?? 0) < least) continue;
      if (accepts?.(this.#ids[place] ?? "") === false) continue;
      best.push(place);
      // Cut at twice the size, so that each cut pays for as many comparisons.
      if (best.length < 2 * room + MIN_PLACES) continue;
      best = best.sort(compare).slice(0, room);
      least = whole[best.at(-1) ?? -1] ?? least;
    }
    return best.sort(compare).slice(0, room);
  }

  /** The scores of words and turns. */
  #wholeScores(
    { words, asked, found, foundCount }: Scores,
    weights: TurnWeights,
  ): Float64Array {
    const whole = new Float64Array(words.length);
    for (let at = 0; at < foundCount; at++) {
      const place = found[at]!;
      const before = asked[this.#before[place]!] ?? 0;
      whole[place] = words[place]! + this.#turns.sumOf(place, weights, before);
    }
    return whole;
  }

  #partsOf(
    place: number,
    { asked, weights }: {
      readonly asked: Float32Array;
      readonly weights: TurnWeights;
    },
  ): TurnParts | undefined {
    const before = asked[this.#before[place] ?? NONE] ?? 0;
    return this.#turns.partsOf(place, weights, before);
  }

  #listsOf(terms: readonly string[], share: number): readonly SharedList[] {
    return terms.flatMap((term) => {
      const list = this.#lists.get(term);
      return list === undefined ? [] : [{ ...list, share }];
    });
  }

  /** Whether memories have a term, or had it lately. */
  hasTerm(term: string): boolean {
    return this.#lists.get(term) !== undefined;
  }

  /** How many terms there are. */
  get termCount(): number {
    return this.#lists.size;
  }

  /** Whether a memory has one of the terms. */
  has(id: string, terms: readonly string[]): boolean {
    const place = this.#places.get(id);
    return place !== undefined &&
      terms.some((term) => this.#lists.has(term, place));
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
  #score(lists: readonly SharedList[], scores: Scores): number {
    // Every step here is taken once a posting, so what it needs is at hand.
    const { counts, touched, found, words, joinsNeighbours } = scores;
    const ids = this.#ids;
    const turns = this.#turns;
    const before = this.#before;
    const after = this.#after;
    let touchedCount = 0;
    let memories = 0;
    for (const { items, size, share } of lists) {
      for (let at = 0; at < size; at++) {
        const item = items[at]!;
        const place = item >>> 8;
        if (ids[place] === undefined) continue;
        memories += 1;
        const count = share * (item & MAX_COUNT);
        if (counts[place] === 0) touched[touchedCount++] = place;
        counts[place]! += count;
        if (!joinsNeighbours || !turns.isSpeech(place)) continue;
        for (let side = 0; side < 2; side++) {
          const links = side === 0 ? before : after;
          let near = place;
          for (let hop = 0; hop < SHARES.length; hop++) {
            near = links[near]!;
            if (near === NONE || !turns.isSpeech(near)) break;
            if (counts[near] === 0) touched[touchedCount++] = near;
            counts[near]! += count * SHARES[hop]!;
          }
        }
      }
    }
    const rarity = this.#rarityOf(Math.min(memories, this.size));
    const sum = joinsNeighbours ? this.#windowSum : this.#lengthSum;
    const mean = Math.max(1, sum / Math.max(1, this.size));
    const windows = joinsNeighbours ? this.#windows : this.#lengths;
    let { foundCount } = scores;
    for (let at = 0; at < touchedCount; at++) {
      const place = touched[at]!;
      if (words[place] === 0) found[foundCount++] = place;
      words[place]! += rarity *
        saturated(counts[place]!, windows[place]! / mean);
      counts[place] = 0;
    }
    scores.foundCount = foundCount;
    if (joinsNeighbours) this.#scoreQuestions(lists, { scores, rarity });
    return rarity;
  }

  /** What questions score by their own words alone. */
  #scoreQuestions(
    lists: readonly PostingList[],
    { scores: { asked }, rarity }: {
      readonly scores: Scores;
      readonly rarity: number;
    },
  ): void {
    const mean = Math.max(1, this.#lengthSum / Math.max(1, this.size));
    for (const { items, size } of lists) {
      for (let at = 0; at < size; at++) {
        const item = items[at]!;
        const place = item >>> 8;
        if (!this.#turns.asks(place)) continue;
        const relative = this.#lengths[place]! / mean;
        asked[place]! += rarity * saturated(item & MAX_COUNT, relative);
      }
    }
  }

  #rarityOf(memories: number): number {
    return Math.log(1 + (this.size - memories + 0.5) / (memories + 0.5));
  }

  #keyOf(place: number): PlaceKey {
    return { timeMs: this.#times[place] ?? 0, id: this.#ids[place] ?? "" };
  }

  #eachNeighbour(
    place: number,
    visit: (near: number, share: number) => void,
  ): void {
    if (!this.#turns.isSpeech(place)) return;
    for (const links of [this.#before, this.#after]) {
      let near = place;
      for (const share of SHARES) {
        near = links[near] ?? NONE;
        if (near === NONE || !this.#turns.isSpeech(near)) break;
        visit(near, share);
      }
    }
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
    this.#turns.remove(place);
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
    this.#turns.grow(size);
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
    this.#turns.renumber(order, room);
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
    this.#lists.renumber(places);
  }
}

type Numbers = Float64Array | Float32Array | Int32Array;

function copied<T extends Numbers>(to: T, from: T): T {
  to.set(from);
  return to;
}

/** BM25's part that is about how often a memory has a word. */
function saturated(count: number, relativeLength: number): number {
  return count * (K1 + 1) / (count + K1 * (1 - B + B * relativeLength));
}
