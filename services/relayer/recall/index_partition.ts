/**
 * The vectors of one namespace of one owner.
 *
 * @module
 */

import { coarseRow, euclideanLength } from "./coarse_vector.ts";
import type { IndexedMemory, IndexHit } from "./memory_index.ts";
import { cosine, type PackedVector, packVector } from "./packed_vector.ts";
import type { RowArena } from "./row_arena.ts";
import { smallestOfLargest } from "./top_scores.ts";

/** A memory in a partition. */
export interface PartitionEntry extends Omit<IndexedMemory, "vector"> {
  /** Its vector. */
  readonly packed: PackedVector;
}

const FIRST_CAPACITY = 8;
/** More than what sums of 64 bits lose. */
const ROUNDING = 1e-9;

/** Entries side by side; a removed one's place is taken by the last one. */
export class IndexPartition {
  readonly #arena: RowArena;
  readonly #entries: PartitionEntry[] = [];
  readonly #positions = new Map<string, number>();
  #places = new Uint32Array(FIRST_CAPACITY);
  #factors = new Float64Array(FIRST_CAPACITY);
  #errors = new Float64Array(FIRST_CAPACITY);

  /** A partition that keeps its coarse rows in `arena`. */
  constructor(arena: RowArena) {
    this.#arena = arena;
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.length;
  }

  /** Whether there is an entry of an id. */
  has(id: string): boolean {
    return this.#positions.has(id);
  }

  /** The ids of all entries. */
  ids(): Iterable<string> {
    return this.#positions.keys();
  }

  /**
   * Adds a memory whose id is not there yet.
   *
   * @throws {RangeError} when the arena is full
   */
  add(memory: IndexedMemory): void {
    const { id, owner, namespace, blobId, vector } = memory;
    const { createdAtMs, importance, metadata } = memory;
    const coarse = coarseRow(vector);
    const place = this.#arena.add(coarse.bytes);
    const position = this.#entries.length;
    if (position === this.#places.length) this.#double();
    this.#places[position] = place;
    this.#factors[position] = coarse.factor;
    this.#errors[position] = coarse.error;
    this.#entries.push({
      ...{ id, owner, namespace, blobId, createdAtMs, importance, metadata },
      packed: packVector(vector),
    });
    this.#positions.set(id, position);
  }

  /** Removes a memory; nothing when there is none. */
  remove(id: string): void {
    const position = this.#positions.get(id);
    if (position === undefined) return;
    this.#arena.remove(this.#places[position] ?? 0);
    this.#positions.delete(id);
    const last = this.#entries.pop();
    const from = this.#entries.length;
    if (last === undefined || from === position) return;
    this.#entries[position] = last;
    this.#positions.set(last.id, position);
    this.#places[position] = this.#places[from] ?? 0;
    this.#factors[position] = this.#factors[from] ?? 0;
    this.#errors[position] = this.#errors[from] ?? 0;
  }

  /** Removes all memories. */
  clear(): void {
    for (let position = 0; position < this.#entries.length; position++) {
      this.#arena.remove(this.#places[position] ?? 0);
    }
    this.#entries.length = 0;
    this.#positions.clear();
  }

  /**
   * The closest entries that `accepts` lets through, the closest first, ties by
   * id. Exact: the coarse rows only tell whom to leave out.
   */
  search(
    vector: Float32Array,
    options: {
      readonly limit: number;
      readonly accepts?: (entry: PartitionEntry) => boolean;
    },
  ): readonly IndexHit[] {
    const { limit, accepts } = options;
    const positions = this.#accepted(accepts);
    const query = { query: vector, queryLength: euclideanLength(vector) };
    const hits = this.#promising(vector, { limit, positions }).map(
      (position) => hitOf(this.#entryAt(position), query),
    );
    return hits.sort(byDistance).slice(0, limit);
  }

  /** Positions of what is let through, in no order. */
  #accepted(
    accepts: ((entry: PartitionEntry) => boolean) | undefined,
  ): Uint32Array {
    const positions = new Uint32Array(this.#entries.length);
    let count = 0;
    this.#entries.forEach((entry, position) => {
      if (accepts?.(entry) ?? true) positions[count++] = position;
    });
    return positions.subarray(0, count);
  }

  /**
   * Positions of all that may be among the closest.
   *
   * With r and q the vectors of length 1 and r' and q' their coarse forms,
   * |rq - r'q'| is at most |r - r'| + (1 + |r - r'|)·|q - q'|. So whoever cannot
   * reach the exact similarity of the `limit` best by coarse form is out.
   */
  #promising(
    vector: Float32Array,
    options: { readonly limit: number; readonly positions: Uint32Array },
  ): readonly number[] {
    const { limit, positions } = options;
    const count = positions.length;
    if (count <= limit) return [...positions];
    const places = positions.map((position) => this.#places[position] ?? 0);
    const sums = new Int32Array(count);
    const coarse = this.#arena.scan(vector, { places, count, sums });
    const scores = new Float64Array(count);
    for (let index = 0; index < count; index++) {
      const factor = this.#factors[positions[index] ?? 0] ?? 0;
      scores[index] = (sums[index] ?? 0) * factor * coarse.factor;
    }
    const query = { query: vector, queryLength: euclideanLength(vector) };
    const bar = smallestOfLargest(scores, {
      limit,
      exact: (index) =>
        cosine(this.#entryAt(positions[index] ?? 0).packed, query),
    });
    const found: number[] = [];
    for (let index = 0; index < count; index++) {
      const position = positions[index] ?? 0;
      const error = this.#errors[position] ?? 0;
      const bound = error + (1 + error) * coarse.error + ROUNDING;
      if ((scores[index] ?? 0) + bound >= bar) found.push(position);
    }
    return found;
  }

  #entryAt(position: number): PartitionEntry {
    const entry = this.#entries[position];
    if (entry !== undefined) return entry;
    throw new RangeError(`Cannot read entry "${position}": there is none`);
  }

  #double(): void {
    const capacity = 2 * this.#places.length;
    const places = new Uint32Array(capacity);
    const factors = new Float64Array(capacity);
    const errors = new Float64Array(capacity);
    places.set(this.#places);
    factors.set(this.#factors);
    errors.set(this.#errors);
    this.#places = places;
    this.#factors = factors;
    this.#errors = errors;
  }
}

function hitOf(
  entry: PartitionEntry,
  query: { readonly query: Float32Array; readonly queryLength: number },
): IndexHit {
  const { packed, metadata: _, ...rest } = entry;
  return { ...rest, distance: 1 - cosine(packed, query) };
}

function byDistance(left: IndexHit, right: IndexHit): number {
  if (left.distance !== right.distance) return left.distance - right.distance;
  return left.id < right.id ? -1 : 1;
}
