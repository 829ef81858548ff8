/**
 * The vectors of one namespace of one owner.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import type { IndexedMemory, IndexHit } from "./memory_index.ts";
import type { RowArena } from "./row_arena.ts";
import {
  coarseRow,
  cosine,
  euclideanLength,
  type PackedVector,
} from "./vectors.ts";

/**
 * Picks the `limit` largest of `scores`, at least 1, and gives the smallest of what
 * `exact` says they stand for; `-Infinity` when there are fewer scores than that.
 */
function smallestOfLargest(
  scores: Float64Array,
  limit: number,
  exact: (index: number) => number,
): number {
  if (scores.length < limit) return -Infinity;
  const heap = new Uint32Array(limit);
  for (let index = 0; index < limit; index++) heap[index] = index;
  for (let at = limit >> 1; at-- > 0;) sink(heap, at, scores);
  for (let index = limit; index < scores.length; index++) {
    if (!((scores[index] ?? 0) > (scores[heap[0] ?? 0] ?? 0))) continue;
    heap[0] = index;
    sink(heap, 0, scores);
  }
  return Math.min(...Array.from(heap, exact));
}

/** Restores the order of a heap whose smallest score stands first. */
function sink(heap: Uint32Array, from: number, scores: Float64Array): void {
  let at = from;
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

/** A memory in a partition. */
export interface PartitionEntry
  extends Omit<IndexedMemory, "vector" | "words"> {
  /** Its vector. */
  readonly packed: PackedVector;
}

/** What is looked for in a partition. */
interface PartitionSearch {
  /** Most hits. */
  readonly limit: number;
  /**
   * Which entries count.
   *
   * @default all
   */
  readonly accepts?: ((entry: PartitionEntry) => boolean) | undefined;
  /**
   * Only entries of these ids.
   *
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
}

const FIRST_CAPACITY = 8;
/** Rows of a step; 2,048 vectors of 1,536 numbers take about a millisecond. */
const ROWS_PER_STEP = 2_048;
/**
 * What an entry takes beside its numbers and texts: measured as what 100,000 of them
 * add to the process, with all that the runtime keeps for them.
 */
const ENTRY_BYTES = 2_600;
/** What a member of an object takes beside its texts. */
const MEMBER_BYTES = 48;
/** More than what sums of 64 bits lose. */
const ROUNDING = 1e-9;

/** Entries side by side; a removed one's place is taken by the last one. */
export class IndexPartition {
  readonly #arena: RowArena;
  readonly #entries: PartitionEntry[] = [];
  readonly #positions = new Map<string, number>();
  #bytes = 0;
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

  /** About how many bytes the entries take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether there is an entry of an id. */
  has(id: string): boolean {
    return this.#positions.has(id);
  }

  /** The entry of an id; undefined when there is none. */
  entry(id: string): PartitionEntry | undefined {
    return this.#entries[this.#positions.get(id) ?? -1];
  }

  /** Ids of at most `count` entries that are far from each other. */
  sample(count: number): readonly string[] {
    const step = Math.max(1, this.#entries.length / count);
    const ids: string[] = [];
    for (let at = 0; at < this.#entries.length; at += step) {
      ids.push(this.#entryAt(Math.floor(at)).id);
    }
    return ids;
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
  add(
    memory: Omit<IndexedMemory, "vector" | "words">,
    packed: PackedVector,
  ): void {
    const { id, owner, namespace, blobId, sizeBytes } = memory;
    const { createdAtMs, importance, metadata } = memory;
    const coarse = coarseRow(packed);
    const place = this.#arena.add(coarse);
    const position = this.#entries.length;
    if (position === this.#places.length) this.#double();
    this.#places[position] = place;
    this.#factors[position] = coarse.factor;
    this.#errors[position] = coarse.error;
    const entry: PartitionEntry = {
      ...{ id, owner, namespace, blobId, sizeBytes },
      ...{ createdAtMs, importance, metadata },
      packed,
    };
    this.#entries.push(entry);
    this.#positions.set(id, position);
    this.#bytes += this.#bytesOf(entry);
  }

  /** Removes a memory, if it exists. */
  remove(id: string): void {
    const position = this.#positions.get(id);
    if (position === undefined) return;
    this.#bytes -= this.#bytesOf(this.#entryAt(position));
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

  /** The steps to a partition without memories; nothing else may change it then. */
  *clearSteps(): Steps<void> {
    for (let position = 0; position < this.#entries.length; position++) {
      this.#arena.remove(this.#places[position] ?? 0);
      if (position % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
    }
    this.#entries.length = 0;
    this.#positions.clear();
    this.#bytes = 0;
  }

  /**
   * The steps to the closest entries that `accepts` lets through, the closest
   * first, ties by id. Exact: the coarse rows only tell whom to leave out.
   *
   * From the last entry to the first: what takes the place of a removed one
   * between two steps is the last, so none is passed over by that.
   */
  *searchSteps(
    vector: Float32Array,
    options: PartitionSearch,
  ): Steps<readonly IndexHit[]> {
    const { limit, accepts = () => true, ids } = options;
    if (ids !== undefined) {
      const positions = [...new Set(ids)]
        .map((id) => this.#positions.get(id) ?? -1)
        .filter((at) => at >= 0 && accepts(this.#entryAt(at)));
      return closest(this.#hitsOf(positions, vector), limit);
    }
    let best: readonly IndexHit[] = [];
    for (let to = this.#entries.length; to > 0;) {
      const from = Math.max(0, to - ROWS_PER_STEP);
      const positions: number[] = [];
      for (let at = from; at < to; at++) {
        if (accepts(this.#entryAt(at))) positions.push(at);
      }
      const last = best.length === limit ? best.at(-1) : undefined;
      const promising = this.#promising(vector, {
        limit,
        positions,
        bar: last === undefined ? -Infinity : 1 - last.distance,
      });
      const known = new Set(best.map(({ id }) => id));
      const found = this.#hitsOf(promising, vector)
        .filter(({ id }) => !known.has(id));
      best = closest([...best, ...found], limit);
      if (from > 0) yield;
      to = Math.min(from, this.#entries.length);
    }
    return best;
  }

  #hitsOf(
    positions: readonly number[],
    vector: Float32Array,
  ): readonly IndexHit[] {
    const query = { query: vector, queryLength: euclideanLength(vector) };
    return positions.map((at) => hitOf(this.#entryAt(at), query));
  }

  /**
   * Positions of all that may be among the closest.
   *
   * With r and q the vectors of length 1 and r' and q' their coarse forms,
   * |rq - r'q'| is at most |r - r'| + (1 + |r - r'|)·|q - q'|. So what cannot
   * reach the exact similarity of the `limit` best by coarse form, or the bar
   * that others have set, is out.
   */
  #promising(
    vector: Float32Array,
    options: {
      readonly limit: number;
      readonly positions: readonly number[];
      readonly bar: number;
    },
  ): readonly number[] {
    const { limit, positions } = options;
    const count = positions.length;
    if (count <= limit && options.bar === -Infinity) return positions;
    // Uint32Array.from() with a function takes as long as a half of the scan, or more.
    const places = new Uint32Array(count);
    for (let index = 0; index < count; index++) {
      places[index] = this.#places[positions[index] ?? 0] ?? 0;
    }
    const sums = new Int32Array(count);
    const coarse = this.#arena.scan(vector, { places, count, sums });
    const scores = new Float64Array(count);
    for (let index = 0; index < count; index++) {
      const factor = this.#factors[positions[index] ?? 0] ?? 0;
      scores[index] = (sums[index] ?? 0) * factor * coarse.factor;
    }
    const query = { query: vector, queryLength: euclideanLength(vector) };
    const own = smallestOfLargest(
      scores,
      limit,
      (index) => cosine(this.#entryAt(positions[index] ?? 0).packed, query),
    );
    const bar = Math.max(options.bar, own);
    const found: number[] = [];
    for (let index = 0; index < count; index++) {
      const position = positions[index] ?? 0;
      const error = this.#errors[position] ?? 0;
      const bound = error + (1 + error) * coarse.error + ROUNDING;
      if ((scores[index] ?? 0) + bound >= bar) found.push(position);
    }
    return found;
  }

  #bytesOf({ id, blobId, metadata, packed }: PartitionEntry): number {
    const { columns, values } = packed;
    let bytes = ENTRY_BYTES + this.#arena.rowBytes + values.byteLength +
      (columns?.byteLength ?? 0) + id.length + blobId.length;
    for (const [name, value] of Object.entries(metadata)) {
      bytes += MEMBER_BYTES + name.length +
        (typeof value === "string" ? value.length : 0);
    }
    return bytes;
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

function closest(
  hits: readonly IndexHit[],
  limit: number,
): readonly IndexHit[] {
  return hits.toSorted(byDistance).slice(0, limit);
}

function byDistance(left: IndexHit, right: IndexHit): number {
  if (left.distance !== right.distance) return left.distance - right.distance;
  return left.id < right.id ? -1 : 1;
}
