/**
 * The scores of one search of an index of words: BM25 whose counts take in
 * those of the memories said right before and after.
 *
 * @module
 */

import { MAX_COUNT, NO_PLACE, type PostingList } from "./places.ts";
import type { TurnParts, TurnTable, TurnWeights } from "./turn_table.ts";

/** BM25's k1: how soon further occurrences of a word stop to count. */
const K1 = 0.9;
/** BM25's b: how much less a long memory's words count. */
const B = 0.4;
/** Most messages to one side whose words count. */
export const MAX_STEPS = 4;
/** Most changes of the speaker on the way to a neighbour. */
export const MAX_SWITCHES = 3;
/**
 * Shares at which the counts of a neighbour are added to a memory's own, by how
 * often the speaker changes on the way: people write several messages in a row,
 * and an answer comes after all of them.
 */
export const NEIGHBOUR_SHARES = [0.4, 0.35, 0.2, 0.1] as const;
/** So many messages before a turn a question is looked for that it answers. */
const ANSWER_STEPS = 2;

/** What a search reads of an index, by place. */
export interface IndexedPlaces {
  /** Ids of memories; undefined where one was removed. */
  readonly ids: readonly (string | undefined)[];
  /** How many memories there are. */
  readonly size: number;
  /** How many terms each memory has. */
  readonly lengths: Float32Array;
  /** How many terms each memory has, with the shares of its neighbours. */
  readonly windows: Float32Array;
  /** The sum of the lengths. */
  readonly lengthSum: number;
  /** The sum of the lengths with those shares. */
  readonly windowSum: number;
  /** The place of the memory before each, or {@linkcode NO_PLACE}. */
  readonly before: Int32Array;
  /** The place of the memory after each, or {@linkcode NO_PLACE}. */
  readonly after: Int32Array;
  /** The turns of the conversation. */
  readonly turns: TurnTable;
}

/** A list, and what its counts are worth. */
export interface SharedList extends PostingList {
  /** 1, or less for a term that is only close to the word. */
  readonly share: number;
}

/** Which memories are the best. */
interface BestOptions {
  /** Most memories. */
  readonly limit: number;
  /** Which memories count. */
  readonly accepts?: ((id: string) => boolean) | undefined;
}

/** The sums of one search. */
export class WordScores {
  readonly #index: IndexedPlaces;
  readonly #weights: TurnWeights | undefined;
  /** Scores of words by place, with the shares of neighbours. */
  readonly #words: Float64Array;
  /** Scores of questions by place, by their own words alone. */
  readonly #asked: Float32Array;
  /** How often a place has the word that is being looked at. */
  readonly #counts: Float32Array;
  /** Places that have that word. */
  readonly #touched: Int32Array;
  /** Places that have a score, the first `#foundCount`. */
  readonly #found: Int32Array;
  #foundCount = 0;

  /**
   * Scores to which no word was added yet; the words of neighbours count where
   * there are weights for turns.
   */
  constructor(index: IndexedPlaces, weights: TurnWeights | undefined) {
    this.#index = index;
    this.#weights = weights;
    const count = index.ids.length;
    this.#words = new Float64Array(count);
    this.#asked = new Float32Array(weights === undefined ? 0 : count);
    this.#counts = new Float32Array(count);
    this.#touched = new Int32Array(count);
    this.#found = new Int32Array(count);
  }

  /** What the words of a place score. */
  wordsAt(place: number): number {
    return this.#words[place] ?? 0;
  }

  /** What a place scores for its turn; undefined where nothing is said. */
  turnAt(place: number): TurnParts | undefined {
    const asked = this.#askedBefore(place);
    return this.#weights &&
      this.#index.turns.computeParts(place, this.#weights, asked);
  }

  /**
   * Adds a word to the scores of the memories that have it; returns what a
   * memory of the usual length scores that has the word once.
   */
  add(lists: readonly SharedList[]): number {
    // The loop runs once for each posting, so what it needs is in local
    // variables.
    const { ids, turns, before, after } = this.#index;
    const counts = this.#counts;
    const touched = this.#touched;
    const joinsNeighbours = this.#weights !== undefined;
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
          let speaker = turns.speakerAt(place);
          let switches = 0;
          for (let step = 0; step < MAX_STEPS; step++) {
            near = links[near]!;
            if (near === NO_PLACE || !turns.isSpeech(near)) break;
            const next = turns.speakerAt(near);
            if (next !== speaker) {
              speaker = next;
              if (++switches > MAX_SWITCHES) break;
            }
            if (counts[near] === 0) touched[touchedCount++] = near;
            counts[near]! += count * NEIGHBOUR_SHARES[switches]!;
          }
        }
      }
    }
    const rarity = this.#computeRarity(memories);
    this.#addTouched(touchedCount, rarity);
    if (joinsNeighbours) this.#addQuestions(lists, rarity);
    return rarity;
  }

  /** The places of the best in their order, without sorting all of them. */
  best({ limit, accepts }: BestOptions): readonly number[] {
    if (!(limit >= 1)) return [];
    const { ids } = this.#index;
    const best = new BestPlaces(this.#whole(), limit);
    for (let at = 0; at < this.#foundCount; at++) {
      const place = this.#found[at]!;
      if (!best.wants(place)) continue;
      if (accepts?.(ids[place] ?? "") !== false) best.add(place);
    }
    return best.sorted();
  }

  #addTouched(touchedCount: number, rarity: number): void {
    const { windows, lengths, windowSum, lengthSum, size } = this.#index;
    const isJoined = this.#weights !== undefined;
    const mean = (isJoined ? windowSum : lengthSum) / Math.max(1, size);
    const usual = Math.max(1, mean);
    const measured = isJoined ? windows : lengths;
    const [words, counts, touched] = [this.#words, this.#counts, this.#touched];
    for (let at = 0; at < touchedCount; at++) {
      const place = touched[at]!;
      if (words[place] === 0) this.#found[this.#foundCount++] = place;
      words[place]! += rarity *
        saturated(counts[place]!, measured[place]! / usual);
      counts[place] = 0;
    }
  }

  /** Adds what questions score for a word that they have themselves. */
  #addQuestions(lists: readonly PostingList[], rarity: number): void {
    const { lengths, lengthSum, size, turns } = this.#index;
    const usual = Math.max(1, lengthSum / Math.max(1, size));
    for (const { items, size: count } of lists) {
      for (let at = 0; at < count; at++) {
        const item = items[at]!;
        const place = item >>> 8;
        if (!turns.asks(place)) continue;
        this.#asked[place]! += rarity *
          saturated(item & MAX_COUNT, lengths[place]! / usual);
      }
    }
  }

  #computeRarity(postings: number): number {
    const { size } = this.#index;
    // A memory that has two terms of a word is counted twice.
    const memories = Math.min(postings, size);
    return Math.log(1 + (size - memories + 0.5) / (memories + 0.5));
  }

  /** The scores of words and turns. */
  #whole(): Float64Array {
    const weights = this.#weights;
    if (weights === undefined) return this.#words;
    const { turns } = this.#index;
    const whole = new Float64Array(this.#words.length);
    for (let at = 0; at < this.#foundCount; at++) {
      const place = this.#found[at]!;
      const asked = this.#askedBefore(place);
      whole[place] = this.#words[place]! +
        turns.computeSum(place, weights, asked);
    }
    return whole;
  }

  /** What the last question of another speaker scores, right before a turn. */
  #askedBefore(place: number): number {
    const { before, turns } = this.#index;
    if (this.#weights === undefined || !turns.isSpeech(place)) return 0;
    const speaker = turns.speakerAt(place);
    let near = place;
    for (let step = 0; step < ANSWER_STEPS; step++) {
      near = before[near]!;
      if (near === NO_PLACE || !turns.isSpeech(near)) return 0;
      if (turns.asks(near) && turns.speakerAt(near) !== speaker) {
        return this.#asked[near]!;
      }
    }
    return 0;
  }
}

/**
 * The lists of the rarest words that have so many places together, at least
 * those of one word, in their order.
 */
export function rarest(
  words: readonly (readonly SharedList[])[],
  maxPostings: number,
): readonly (readonly SharedList[])[] {
  const sizes = words.map((lists) =>
    lists.reduce((sum, { size }) => sum + size, 0)
  );
  const bySize = [...sizes.keys()].sort((one, other) =>
    (sizes[one] ?? 0) - (sizes[other] ?? 0)
  );
  const chosen = new Set<number>();
  let left = maxPostings;
  for (const at of bySize) {
    left -= sizes[at] ?? 0;
    if (left < 0 && chosen.size > 0) break;
    chosen.add(at);
  }
  return words.filter((_, at) => chosen.has(at));
}

/** BM25's part that is about how often a memory has a word. */
function saturated(count: number, relativeLength: number): number {
  return count * (K1 + 1) / (count + K1 * (1 - B + B * relativeLength));
}

/**
 * The places with the best scores; of equal ones the later. A heap, the worst
 * first.
 */
class BestPlaces {
  readonly #scores: Float64Array;
  readonly #limit: number;
  readonly #heap: number[] = [];

  /** No places yet; `limit` are wanted, at least 1. */
  constructor(scores: Float64Array, limit: number) {
    this.#scores = scores;
    this.#limit = limit;
  }

  wants(place: number): boolean {
    return this.#heap.length < this.#limit ||
      this.#isBetter(place, this.#heap[0]!);
  }

  /** Adds a place that is wanted. */
  add(place: number): void {
    const heap = this.#heap;
    if (heap.length === this.#limit) return this.#sink(place);
    let at = heap.push(place) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isBetter(place, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = place;
  }

  /** The places, the best first. */
  sorted(): readonly number[] {
    return this.#heap.sort((one, other) => this.#isBetter(one, other) ? -1 : 1);
  }

  /** Puts a place into the position of the worst one. */
  #sink(place: number): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = child + 1;
      if (
        right < heap.length && this.#isBetter(heap[child]!, heap[right]!)
      ) child = right;
      if (!this.#isBetter(place, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = place;
  }

  #isBetter(one: number, other: number): boolean {
    const [left, right] = [this.#scores[one]!, this.#scores[other]!];
    return left > right || left === right && one > other;
  }
}
