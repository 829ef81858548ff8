/**
 * The words of one namespace's memories, and how well each memory fits the
 * words of a question: BM25 whose counts take in those of the memories said
 * right before and after, since an answer in a conversation seldom repeats the
 * question's words.
 *
 * Removed memories are skipped until they are a quarter of all; then the others
 * are numbered again without them.
 *
 * @module
 */

import type { Steps } from "../../concurrency/bounded_work.ts";
import {
  MAX_PLACES,
  NO_PLACE,
  type PlaceKey,
  PlaceOrder,
  PostingLists,
} from "./places.ts";
import type { Signs } from "./turn_signs.ts";
import {
  type Turn,
  type TurnColumns,
  type TurnParts,
  TurnTable,
  type TurnWeights,
} from "./turn_table.ts";
import {
  type IndexedPlaces,
  MAX_STEPS,
  MAX_SWITCHES,
  NEIGHBOUR_SHARES,
  rarest,
  type SharedList,
  WordScores,
} from "./word_scores.ts";

/** The share that a term counts which is only close to the word. */
const NEAR_SHARE = 0.6;
const MIN_REMOVED = 64;
const MIN_PLACES = 16;
/** Places and terms that are written down, or taken from another, in a step. */
const COLUMNS_PER_STEP = 4_096;
/** Bytes that a memory takes beside its terms. */
const PLACE_BYTES = 140;

/** A memory as an index of words takes it. */
interface PostedMemory {
  /**
   * When it was written; memories of the same time are in the order of their
   * ids.
   */
  readonly createdAtMs: number;
  /** How often it has each term. */
  readonly terms: ReadonlyMap<string, number>;
  /**
   * What is known of something said: the turns right before and after it are
   * its neighbours. Undefined where nothing is said.
   */
  readonly turn?: Turn | undefined;
  /**
   * The signs of its text.
   *
   * @default none
   */
  readonly signs?: Signs | undefined;
}

/** A memory that has a word of the question, or a neighbour which has one. */
export interface WordHit {
  /** As given to {@linkcode Postings.put}. */
  readonly id: string;
  /** What its words score: 0 or more; comparable within one answer only. */
  readonly words: number;
  /** What its turn scores; undefined where no turns count. */
  readonly turn: TurnParts | undefined;
  /** When it was written. */
  readonly createdAtMs: number;
  /** The signs of its text. */
  readonly signs: Signs;
}

/** What a search found. */
interface WordHits {
  /**
   * The memories that fit best, the best first; then those that were asked for
   * by `also`.
   */
  readonly hits: readonly WordHit[];
  /** What a memory of usual length would score that has each word once. */
  readonly ideal: number;
}

/** {@linkcode Postings} in columns: arrays by place, and the lists of terms. */
export interface PostingColumns {
  /** The id of the memory at each place; empty where a memory was removed. */
  readonly ids: readonly string[];
  /** When each memory was written. */
  readonly times: Float64Array;
  /** How many terms each memory has. */
  readonly lengths: Float32Array;
  /** How many terms each memory has, with the shares of its neighbours. */
  readonly windows: Float32Array;
  /** The place of the memory before each. */
  readonly before: Int32Array;
  /** The place of the memory after each. */
  readonly after: Int32Array;
  /** All places in the order of writing. */
  readonly order: Int32Array;
  /** The turns at places. */
  readonly turns: TurnColumns;
  /** How many terms there are. */
  readonly termCount: number;
  /** Terms with their lists, as {@linkcode PostingLists} has them. */
  readonly lists: Iterable<readonly [string, Uint32Array]>;
}

/** How {@linkcode Postings.search} searches. */
interface WordSearch {
  /** Most memories. */
  readonly limit: number;
  /**
   * What turns score; where it is given, the words of neighbours count as well.
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
  /**
   * Most places that are looked at, over all words: the words that most
   * memories have are left out beyond it. One word is always searched.
   *
   * @default {1000000}
   */
  readonly maxPostings?: number | undefined;
}

/** A word that is looked for. */
export interface SearchedWord {
  /** Memories that have the word have one of these terms. */
  readonly terms: readonly string[];
  /**
   * Terms close to the word: memories that have one of them may have the word.
   *
   * @default none
   */
  readonly near?: readonly string[] | undefined;
}

/**
 * Places that a search looks at, at most: a tenth of a second. A search cannot
 * give way to others, and a question may have a thousand words that each memory
 * has.
 */
const MAX_POSTINGS = 1_000_000;

/** An inverted index in memory; it is changed and asked without waiting. */
export class Postings {
  readonly #lists = new PostingLists();
  readonly #turns = new TurnTable(MIN_PLACES);
  readonly #places = new Map<string, number>();
  #ids: (string | undefined)[] = [];
  #times: Float64Array = new Float64Array(MIN_PLACES);
  #lengths: Float32Array = new Float32Array(MIN_PLACES);
  #windows: Float32Array = new Float32Array(MIN_PLACES);
  #before: Int32Array = new Int32Array(MIN_PLACES);
  #after: Int32Array = new Int32Array(MIN_PLACES);
  readonly #order = new PlaceOrder((place) => this.#getKey(place));
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
   * Adds a memory, or puts it in the place of the one of that id. Only memories
   * that are speech have neighbours, and no others between them.
   *
   * @throws {RangeError} when it would be more than {@linkcode MAX_PLACES}
   */
  put(id: string, memory: PostedMemory): void {
    this.remove(id);
    if (this.#ids.length >= MAX_PLACES) this.#rewrite();
    if (this.#ids.length >= MAX_PLACES) {
      throw new RangeError(`Cannot index: there are ${MAX_PLACES} memories`);
    }
    const { createdAtMs, terms, turn, signs } = memory;
    const place = this.#ids.push(id) - 1;
    this.#places.set(id, place);
    if (place >= this.#lengths.length) this.#grow();
    this.#times[place] = createdAtMs;
    this.#turns.put(place, turn, signs);
    let length = 0;
    for (const [term, count] of terms) {
      length += count;
      this.#lists.append(term, place, count);
    }
    this.#lengths[place] = length;
    this.#lengthSum += length;
    this.#link(place);
  }

  /** The steps that give the index in columns, as views of its memory. */
  *columnSteps(): Steps<PostingColumns> {
    const count = this.#ids.length;
    const order = new Int32Array(this.#places.size);
    let at = 0;
    for (const place of this.#order.places()) {
      order[at++] = place;
      if (at % COLUMNS_PER_STEP === 0) yield;
    }
    return {
      ids: this.#ids.map((id = "") => id),
      times: this.#times.subarray(0, count),
      lengths: this.#lengths.subarray(0, count),
      windows: this.#windows.subarray(0, count),
      before: this.#before.subarray(0, count),
      after: this.#after.subarray(0, count),
      order,
      turns: this.#turns.columns(count),
      termCount: this.#lists.size,
      lists: this.#listsInUse(),
    };
  }

  /**
   * The steps that fill this index, which must be empty, with columns of
   * another one. The columns belong to this index from then on.
   */
  *adoptSteps(columns: PostingColumns): Steps<void> {
    const { ids, times, lengths, windows, before, after } = columns;
    if (ids.length === 0) return;
    this.#times = times;
    this.#lengths = lengths;
    this.#windows = windows;
    this.#before = before;
    this.#after = after;
    this.#turns.adopt(columns.turns);
    this.#order.adopt(columns.order);
    this.#ids = new Array<string | undefined>(ids.length).fill(undefined);
    for (let place = 0; place < ids.length; place++) {
      if (place % COLUMNS_PER_STEP === COLUMNS_PER_STEP - 1) yield;
      const id = ids[place]!;
      if (id === "") continue;
      this.#ids[place] = id;
      this.#places.set(id, place);
      this.#lengthSum += lengths[place]!;
      this.#windowSum += windows[place]!;
    }
    let adopted = 0;
    for (const [term, items] of columns.lists) {
      this.#lists.adopt(term, items);
      if (++adopted % COLUMNS_PER_STEP === 0) yield;
    }
  }

  *#listsInUse(): Generator<readonly [string, Uint32Array]> {
    for (const [term, { items, size }] of this.#lists.entries()) {
      yield [term, items.subarray(0, size)];
    }
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
    // Cleared first, so that no lists are left to be numbered again.
    this.#lists.clear();
    this.#order.renumber(0);
    this.#rewrite();
  }

  /**
   * The memories that fit best; of equal ones the one put last comes first.
   *
   * @param words The words, each with the terms that memories with the word
   * have.
   */
  search(
    words: readonly SearchedWord[],
    { limit, turns, accepts, also = [], maxPostings = MAX_POSTINGS }:
      WordSearch,
  ): WordHits {
    const scores = new WordScores(this.#indexed(), turns);
    const listed = words.map(({ terms, near = [] }) => [
      ...this.#findLists(terms, 1),
      ...this.#findLists(near, NEAR_SHARE),
    ]);
    let ideal = 0;
    for (const lists of rarest(listed, maxPostings)) ideal += scores.add(lists);
    const best = scores.best({ limit, accepts });
    const places = [...best, ...this.#findPlaces(also, best)];
    const hits = places.map((place): WordHit => ({
      id: this.#ids[place] ?? "",
      words: scores.wordsAt(place),
      createdAtMs: this.#times[place] ?? 0,
      turn: scores.turnAt(place),
      signs: this.#turns.signsAt(place),
    }));
    return { hits, ideal };
  }

  #indexed(): IndexedPlaces {
    return {
      ids: this.#ids,
      size: this.size,
      lengths: this.#lengths,
      windows: this.#windows,
      lengthSum: this.#lengthSum,
      windowSum: this.#windowSum,
      before: this.#before,
      after: this.#after,
      turns: this.#turns,
    };
  }

  #findLists(terms: readonly string[], share: number): readonly SharedList[] {
    return terms.flatMap((term) => {
      const list = this.#lists.get(term);
      return list === undefined ? [] : [{ ...list, share }];
    });
  }

  /** Whether memories have a term, or had it lately. */
  hasTerm(term: string): boolean {
    return this.#lists.get(term) !== undefined;
  }

  /** Whether a memory is said to a listener. */
  talks(id: string): boolean {
    const place = this.#places.get(id);
    return place !== undefined && this.#turns.talks(place);
  }

  /** The mean length of turns. */
  get usualLength(): number {
    return this.#turns.usualLength;
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

  #findPlaces(
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

  #getKey(place: number): PlaceKey {
    return { timeMs: this.#times[place] ?? 0, id: this.#ids[place] ?? "" };
  }

  #eachNeighbour(
    place: number,
    visit: (near: number, share: number) => void,
  ): void {
    const turns = this.#turns;
    if (!turns.isSpeech(place)) return;
    for (const links of [this.#before, this.#after]) {
      let near = place;
      let speaker = turns.speakerAt(place);
      let switches = 0;
      for (let step = 0; step < MAX_STEPS; step++) {
        near = links[near] ?? NO_PLACE;
        if (near === NO_PLACE || !turns.isSpeech(near)) break;
        const next = turns.speakerAt(near);
        if (next !== speaker) switches++;
        if (switches > MAX_SWITCHES) break;
        speaker = next;
        visit(near, NEIGHBOUR_SHARES[switches] ?? 0);
      }
    }
  }

  #link(place: number): void {
    const { before = NO_PLACE, after = NO_PLACE } = this.#order.add(place);
    this.#before[place] = before;
    this.#after[place] = after;
    if (before !== NO_PLACE) this.#after[before] = place;
    if (after !== NO_PLACE) this.#before[after] = place;
    this.#measureAround(place);
  }

  #unlink(place: number): void {
    const before = this.#before[place] ?? NO_PLACE;
    const after = this.#after[place] ?? NO_PLACE;
    this.#order.remove(place);
    if (before !== NO_PLACE) this.#after[before] = after;
    if (after !== NO_PLACE) this.#before[after] = before;
    this.#windowSum -= this.#windows[place] ?? 0;
    this.#lengthSum -= this.#lengths[place] ?? 0;
    this.#turns.remove(place);
    this.#ids[place] = undefined;
    if (before !== NO_PLACE) this.#measureAround(before);
    else if (after !== NO_PLACE) this.#measureAround(after);
  }

  /**
   * Measures the windows of the places around a change, this one among them. A
   * window is a memory's length with those of its neighbours, by the shares
   * their counts have.
   */
  #measureAround(place: number): void {
    this.#measure(place);
    for (const links of [this.#before, this.#after]) {
      let near = place;
      // One more than windows reach: the place itself may be beside the change.
      for (let step = 0; step <= MAX_STEPS; step++) {
        near = links[near] ?? NO_PLACE;
        if (near === NO_PLACE) break;
        this.#measure(near);
      }
    }
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

  /**
   * Numbers the memories again in their order, and leaves out what is removed.
   */
  #rewrite(): void {
    const order = [...this.#order.places()];
    const places = new Int32Array(this.#ids.length).fill(NO_PLACE);
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
      this.#after[place] = place + 1 < order.length ? place + 1 : NO_PLACE;
    });
    this.#ids = order.map((old) => this.#ids[old]);
    this.#ids.forEach((id, place) => {
      if (id !== undefined) this.#places.set(id, place);
    });
    this.#order.renumber(order.length);
    // The sums are taken again, so that rounding does not grow with the
    // changes.
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
