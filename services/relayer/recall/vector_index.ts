/**
 * The index in memory: exact search, by owner and namespace.
 *
 * A vector with numbers in most columns is kept twice: in signed bytes, which a
 * WebAssembly loop scans, and as it came. The bytes tell, with the bound of
 * their error, which memories cannot be among the closest; the distances of all
 * others are computed from the exact numbers. So nothing is lost by it, and
 * 10,000 vectors of 1,536 numbers take a few milliseconds.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import { finishInSlices, type Steps } from "../concurrency/bounded_work.ts";
import type { Metadata } from "../vault/vault.ts";
import type { IndexedMemory, IndexHit, IndexQuery } from "./memory_index.ts";
import { type NamespaceColumns, NamespaceIndex } from "./namespace_index.ts";
import { type ArenaBounds, RowArena } from "./row_arena.ts";
import {
  euclideanLength,
  type PackedVector,
  packVector,
} from "./vector_rows.ts";

interface OwnerEntries {
  readonly partitions: Map<string, NamespaceIndex>;
  /** The namespaces that have a memory of an id: usually one. */
  readonly namespaces: Map<string, string | readonly string[]>;
}

/** All namespaces of an owner, by name, as a snapshot has them. */
export type OwnerColumns = readonly (readonly [string, NamespaceColumns])[];

/** Ids that are noted in a step. */
const IDS_PER_STEP = 8_192;
/** Ids that are forgotten in a step: a millisecond. */
const FORGOTTEN_PER_STEP = 1_024;

/** Options of {@linkcode VectorIndex.search}. */
export interface SearchOptions {
  /** Gives others their turn. */
  readonly pausing: Pausing;
  /** Ends it early. */
  readonly signal?: AbortSignal | undefined;
}

/** Where an owner's memory is. */
interface MemoryPlace {
  readonly namespace: string;
  readonly id: string;
}

/** Finds exactly the closest memories. */
export class VectorIndex {
  /** How wide all vectors are. */
  readonly width: number;
  readonly #arena: RowArena;
  readonly #owners = new Map<string, OwnerEntries>();
  #size = 0;
  #bytes = 0;

  /**
   * An empty index for vectors of `width` numbers, 1 to 8,192.
   *
   * @param bounds How much the rows of bytes may take.
   * @throws {RangeError} when the width is out of bounds
   */
  constructor(width: number, bounds?: ArenaBounds) {
    if (!Number.isInteger(width) || width < 1 || width > 8_192) {
      throw new RangeError(
        `Cannot make an index: the width is "${width}", not 1 to 8192`,
      );
    }
    this.width = width;
    this.#arena = new RowArena(width, bounds);
  }

  /** How many memories there are. */
  get size(): number {
    return this.#size;
  }

  /** About how many bytes they take. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a memory, or puts it in the place of one of the same id in the same
   * namespace.
   *
   * @throws {RangeError} when the vector does not fit the index or has numbers
   * that are not finite, and when the index is full: it takes 4 GiB of bytes,
   * which are 2.7 million vectors of 1,536 numbers.
   */
  add(memory: IndexedMemory): void {
    const { id, owner, namespace } = memory;
    const packed = memory.vector && this.#packed(memory.vector);
    this.#removeFrom(owner, { namespace, id });
    const entries = this.#owners.get(owner) ??
      { partitions: new Map(), namespaces: new Map() };
    const known = entries.partitions.get(namespace);
    const partition = known ?? new NamespaceIndex(this.#arena);
    const bytesBefore = known?.bytes ?? 0;
    partition.add(memory, packed);
    this.#bytes += partition.bytes - bytesBefore;
    entries.partitions.set(namespace, partition);
    note(entries, { namespace, id });
    this.#owners.set(owner, entries);
    this.#size++;
  }

  /** Whether the owner has a memory of this id, with a vector or without. */
  holds(owner: string, id: string): boolean {
    const entries = this.#owners.get(owner);
    return entries !== undefined &&
      findNamespaces(entries, id).some((namespace) =>
        entries.partitions.get(namespace)?.has(id) === true
      );
  }

  /** Whether the owner has a memory of this id with a vector in the index. */
  has(owner: string, id: string): boolean {
    const entries = this.#owners.get(owner);
    return entries !== undefined &&
      findNamespaces(entries, id).some((namespace) =>
        entries.partitions.get(namespace)?.hasVector(id) === true
      );
  }

  /** Removes a memory from every namespace; does nothing when it has none. */
  remove(owner: string, id: string): void {
    const entries = this.#owners.get(owner);
    if (entries === undefined) return;
    for (const namespace of findNamespaces(entries, id)) {
      this.#removeFrom(owner, { namespace, id });
    }
  }

  /** Removes a namespace, if it exists, and gives its room back. */
  removeNamespace(owner: string, namespace: string): void {
    for (const _ of this.dropNamespace(owner, namespace));
  }

  /**
   * Removes a namespace at once, if it exists.
   *
   * @returns the steps in which its room is given back
   */
  dropNamespace(owner: string, namespace: string): Steps<void> {
    const entries = this.#owners.get(owner);
    const partition = entries?.partitions.get(namespace);
    if (entries === undefined || partition === undefined) return clearSteps([]);
    this.#size -= partition.size;
    this.#bytes -= partition.bytes;
    this.#drop(owner, namespace);
    return this.#forgetSteps(entries, { namespace, partition });
  }

  /** How many memories an owner has. */
  countMemories(owner: string): number {
    let size = 0;
    for (
      const partition of this.#owners.get(owner)?.partitions.values() ?? []
    ) {
      size += partition.size;
    }
    return size;
  }

  /**
   * The steps that give an owner's namespaces in columns, as views of the
   * index's memory; undefined where one of the namespaces cannot be written
   * down.
   */
  *columnSteps(owner: string): Steps<OwnerColumns | undefined> {
    const columns: [string, NamespaceColumns][] = [];
    const partitions = this.#owners.get(owner)?.partitions ?? [];
    for (const [namespace, partition] of [...partitions]) {
      const known = yield* partition.columnSteps();
      if (known === undefined) return undefined;
      columns.push([namespace, known]);
      yield;
    }
    return columns;
  }

  /**
   * The steps that take over what {@linkcode VectorIndex.columnSteps} gave; at
   * their end it replaces all that the owner has here. The columns belong to
   * this index from then on.
   */
  *adoptSteps(owner: string, columns: OwnerColumns): Steps<void> {
    const entries: OwnerEntries = {
      partitions: new Map(),
      namespaces: new Map(),
    };
    let noted = 0;
    for (const [namespace, known] of columns) {
      const partition = new NamespaceIndex(this.#arena);
      yield* partition.adoptSteps(known, { owner, namespace });
      entries.partitions.set(namespace, partition);
      for (const id of partition.ids()) {
        note(entries, { namespace, id });
        if (++noted % IDS_PER_STEP === 0) yield;
      }
    }
    for (const _ of this.removeOwner(owner));
    for (const { size, bytes } of entries.partitions.values()) {
      this.#size += size;
      this.#bytes += bytes;
    }
    if (entries.partitions.size > 0) this.#owners.set(owner, entries);
  }

  /**
   * Removes all memories of an owner at once.
   *
   * @returns the steps in which their room is given back
   */
  removeOwner(owner: string): Steps<void> {
    const partitions = [...this.#owners.get(owner)?.partitions.values() ?? []];
    this.#owners.delete(owner);
    for (const { size, bytes } of partitions) {
      this.#size -= size;
      this.#bytes -= bytes;
    }
    return clearSteps(partitions);
  }

  /**
   * The closest memories, as {@linkcode VectorIndex.searchSteps} finds them;
   * others get their turn between two steps.
   *
   * @throws {RangeError} as that does, and the signal's reason when it ends
   * early
   */
  search(query: IndexQuery, options: SearchOptions): Promise<
    readonly IndexHit[]
  > {
    return finishInSlices(this.searchSteps(query), options);
  }

  /**
   * The steps to the closest memories, the closest first; ties by id. The
   * distance to a vector without length is 1. Memories that come or go between
   * two steps may be found or not; all others are found.
   *
   * @throws {RangeError} when the first step is made and the vector does not
   * fit the index or has numbers that are not finite
   */
  *searchSteps(query: IndexQuery): Steps<readonly IndexHit[]> {
    if (query.vector !== undefined) {
      this.#checkWidth(query.vector);
      demandFinite(euclideanLength(query.vector));
    }
    const partition = this.#owners.get(query.owner)?.partitions
      .get(query.namespace);
    if (partition === undefined || !(query.limit >= 1)) return [];
    const { vector, ids, filter = {}, fused } = query;
    const wanted = Object.entries(filter);
    return yield* partition.searchSteps(vector, {
      limit: Math.floor(query.limit),
      accepts: wanted.length === 0 ? undefined : (entry) => says(entry, wanted),
      ...{ ids, fused },
    });
  }

  #removeFrom(owner: string, at: MemoryPlace): void {
    const entries = this.#owners.get(owner);
    const partition = entries?.partitions.get(at.namespace);
    if (entries === undefined || partition?.has(at.id) !== true) return;
    const bytesBefore = partition.bytes;
    partition.remove(at.id);
    this.#bytes += partition.bytes - bytesBefore;
    forget(entries, at);
    this.#size--;
    if (partition.size > 0) return;
    this.#bytes -= partition.bytes;
    this.#drop(owner, at.namespace);
  }

  *#forgetSteps(
    entries: OwnerEntries,
    { namespace, partition }: {
      readonly namespace: string;
      readonly partition: NamespaceIndex;
    },
  ): Steps<void> {
    let forgotten = 0;
    for (const id of partition.ids()) {
      // The owner's last namespace was removed, and all noted ids with it.
      if (entries.partitions.size === 0) break;
      // A memory that was added meanwhile keeps its id.
      if (entries.partitions.get(namespace)?.has(id) !== true) {
        forget(entries, { namespace, id });
      }
      if (++forgotten % FORGOTTEN_PER_STEP === 0) yield;
    }
    yield* partition.clearSteps();
  }

  #drop(owner: string, namespace: string): void {
    const entries = this.#owners.get(owner);
    entries?.partitions.delete(namespace);
    if (entries?.partitions.size === 0) this.#owners.delete(owner);
  }

  /** Checks a vector and packs it as the index keeps it. */
  #packed(vector: Float32Array): PackedVector {
    this.#checkWidth(vector);
    const packed = packVector(vector);
    demandFinite(packed.length);
    return packed;
  }

  #checkWidth(vector: Float32Array): void {
    if (vector.length === this.width) return;
    throw new RangeError(
      `Cannot use a vector of ${vector.length} numbers: ` +
        `the index is for ${this.width}`,
    );
  }
}

/**
 * Adds a memory that has its row to the index. When the index is full, the
 * memory stays stored and is listed like any other, recall misses it, and an
 * error is logged.
 *
 * @returns whether it is in the index
 */
export function addStored(
  memory: IndexedMemory,
  { index, logger }: {
    readonly index: Pick<VectorIndex, "add">;
    readonly logger: Logger;
  },
): boolean {
  try {
    index.add(memory);
    return true;
  } catch (error) {
    logger.error("Cannot add memory to the index: recall misses it", {
      memory: memory.id,
      error: describeError(error),
    });
    return false;
  }
}

/**
 * The length is finite when all of the numbers are: squares of 32 bits fit 64.
 */
function demandFinite(length: number): void {
  if (Number.isFinite(length)) return;
  throw new RangeError(
    "Cannot use a vector: one of its numbers is not finite",
  );
}

/** The namespaces that have a memory of an id. */
function findNamespaces(
  { namespaces }: OwnerEntries,
  id: string,
): readonly string[] {
  const known = namespaces.get(id) ?? [];
  return typeof known === "string" ? [known] : known;
}

/** Notes that a namespace has a memory of an id. */
function note(entries: OwnerEntries, { namespace, id }: MemoryPlace): void {
  const known = entries.namespaces.get(id) ?? namespace;
  if (known === namespace) {
    entries.namespaces.set(id, namespace);
    return;
  }
  const others = findNamespaces(entries, id).filter((name) =>
    name !== namespace
  );
  entries.namespaces.set(id, [...others, namespace]);
}

/** Notes that a namespace has lost the memory of an id. */
function forget(entries: OwnerEntries, { namespace, id }: MemoryPlace): void {
  if (entries.namespaces.get(id) === namespace) {
    entries.namespaces.delete(id);
    return;
  }
  const left = findNamespaces(entries, id).filter((name) => name !== namespace);
  if (left.length === 0) entries.namespaces.delete(id);
  else entries.namespaces.set(id, left);
}

function* clearSteps(partitions: readonly NamespaceIndex[]): Steps<void> {
  for (const partition of partitions) {
    yield* partition.clearSteps();
    yield;
  }
}

function says(
  { metadata }: Pick<IndexedMemory, "metadata">,
  wanted: readonly [string, Metadata[string]][],
): boolean {
  return wanted.every(([key, value]) =>
    Object.hasOwn(metadata, key) && metadata[key] === value
  );
}
