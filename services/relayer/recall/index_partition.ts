/**
 * The vectors of one namespace of one owner.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import type { IndexedMemory, IndexHit } from "./memory_index.ts";
import type { RowArena } from "./row_arena.ts";
import {
  type CoarseQuery,
  coarseQuery,
  coarseRow,
  cosine,
  euclideanLength,
  type PackedVector,
} from "./vectors.ts";

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
/** Rows of a step; 2,048 vectors of 1,536 numbers take a fifth of a millisecond. */
const ROWS_PER_STEP = 2_048;
/** Exact distances of a step. */
const EXACT_PER_STEP = 256;
/** More are looked through for those that are out by now. */
const MAX_CANDIDATES = 4_096;
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
    const { limit, accepts, ids } = options;
    if (ids !== undefined) {
      const positions = [...new Set(ids)]
        .map((id) => this.#positions.get(id) ?? -1)
        .filter((at) => at >= 0 && accepts?.(this.#entryAt(at)) !== false);
      return closest(this.#hitsOf(positions, vector), limit);
    }
    const coarse = coarseQuery(vector);
    const bars = new LargestBounds(limit);
    let candidates: Candidate[] = [];
    for (let to = this.#entries.length; to > 0;) {
      const from = Math.max(0, to - ROWS_PER_STEP);
      this.#collect({ from, to, coarse, accepts, bars, candidates });
      if (candidates.length > MAX_CANDIDATES) {
        candidates = candidates.filter(({ most }) => most >= bars.least);
      }
      if (from > 0) yield;
      to = Math.min(from, this.#entries.length);
    }
    return yield* this.#closestOf(candidates, { vector, limit });
  }

  /**
   * Adds what may be among the closest, of the entries from one position up to
   * another.
   *
   * With r and q the vectors of length 1 and r' and q' their coarse forms,
   * |rq - r'q'| is at most |r - r'| + (1 + |r - r'|)·|q - q'|. So what cannot
   * reach what as many others as are wanted reach for sure is out.
   */
  #collect({ from, to, coarse, accepts, bars, candidates }: {
    readonly from: number;
    readonly to: number;
    readonly coarse: CoarseQuery;
    readonly accepts: ((entry: PartitionEntry) => boolean) | undefined;
    readonly bars: LargestBounds;
    readonly candidates: Candidate[];
  }): void {
    const places = this.#places.subarray(from, to);
    const sums = new Int32Array(to - from);
    this.#arena.scan(coarse, { places, count: sums.length, sums });
    for (let index = 0; index < sums.length; index++) {
      const position = from + index;
      const error = this.#errors[position] ?? 0;
      const bound = error + (1 + error) * coarse.error + ROUNDING;
      const score = (sums[index] ?? 0) * (this.#factors[position] ?? 0) *
        coarse.factor;
      const most = score + bound;
      if (most < bars.least) continue;
      const entry = this.#entryAt(position);
      if (accepts?.(entry) === false) continue;
      bars.offer(entry, score - bound);
      candidates.push({ entry, most });
    }
  }

  /** The closest by their exact numbers, from the most promising one on. */
  *#closestOf(
    candidates: readonly Candidate[],
    { vector, limit }: {
      readonly vector: Float32Array;
      readonly limit: number;
    },
  ): Steps<readonly IndexHit[]> {
    const query = { query: vector, queryLength: euclideanLength(vector) };
    const bars = new LargestBounds(limit);
    const hits = new Map<string, IndexHit>();
    const promising = candidates.toSorted((one, other) =>
      other.most - one.most
    );
    for (const [at, { entry, most }] of promising.entries()) {
      if (most < bars.least) break;
      if (at % EXACT_PER_STEP === EXACT_PER_STEP - 1) yield;
      // Some were removed between two steps, or were looked at twice.
      if (this.entry(entry.id) !== entry || hits.has(entry.id)) continue;
      const hit = hitOf(entry, query);
      hits.set(entry.id, hit);
      bars.offer(entry, 1 - hit.distance);
    }
    return closest([...hits.values()], limit);
  }

  #hitsOf(
    positions: readonly number[],
    vector: Float32Array,
  ): readonly IndexHit[] {
    const query = { query: vector, queryLength: euclideanLength(vector) };
    return positions.map((at) => hitOf(this.#entryAt(at), query));
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

/** An entry that may be among the closest. */
interface Candidate {
  readonly entry: PartitionEntry;
  /** The greatest similarity that it can have. */
  readonly most: number;
}

/** The largest similarities that entries have for sure: a heap, the least first. */
class LargestBounds {
  readonly #bounds: Float64Array;
  readonly #entries: (PartitionEntry | undefined)[] = [];
  #size = 0;

  /** Keeps so many, at least 1. */
  constructor(limit: number) {
    this.#bounds = new Float64Array(limit);
  }

  /** The least of them; `-Infinity` while there are fewer than are wanted. */
  get least(): number {
    return this.#size < this.#bounds.length ? -Infinity : this.#bounds[0] ?? 0;
  }

  /** Takes in what an entry has for sure, once for each entry. */
  offer(entry: PartitionEntry, bound: number): void {
    if (!(bound > this.least) || this.#entries.includes(entry)) return;
    if (this.#size < this.#bounds.length) {
      let at = this.#size++;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if ((this.#bounds[parent] ?? 0) <= bound) break;
        this.#move(parent, at);
        at = parent;
      }
      this.#set(at, { entry, bound });
    } else this.#sink(entry, bound);
  }

  #sink(entry: PartitionEntry, bound: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      const right = child + 1;
      if (
        right < this.#size &&
        (this.#bounds[right] ?? 0) < (this.#bounds[child] ?? 0)
      ) child = right;
      if ((this.#bounds[child] ?? 0) >= bound) break;
      this.#move(child, at);
      at = child;
    }
    this.#set(at, { entry, bound });
  }

  #move(from: number, to: number): void {
    this.#bounds[to] = this.#bounds[from] ?? 0;
    this.#entries[to] = this.#entries[from];
  }

  #set(
    at: number,
    { entry, bound }: {
      readonly entry: PartitionEntry;
      readonly bound: number;
    },
  ): void {
    this.#bounds[at] = bound;
    this.#entries[at] = entry;
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
