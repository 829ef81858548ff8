/**
 * The index of one owner as bytes: all namespaces, column by column, so that it
 * can be taken into memory as it stands, without looking at each memory's words
 * and numbers.
 *
 * @module
 */

import type { NamespaceColumns } from "../namespace_index.ts";
import type { PartitionColumns } from "../index_partition.ts";
import type { WordColumns } from "../ranking/word_ranking.ts";
import type { OwnerColumns } from "../vector_index.ts";
import {
  type ColumnReader,
  joinedPieces,
  numberPieces,
  textPieces,
} from "./columns.ts";

/**
 * What an index was made with; a program that makes indexes with anything else
 * has no use for it.
 */
export interface SnapshotMakers {
  /** How wide vectors are. */
  readonly width: number;
  /** The model that makes vectors; empty for any. */
  readonly model: string;
  /** The version of the stems. */
  readonly wordsVersion: number;
}

/** The version of the format of this file. */
const FORM = 1;
/** Terms that are written, or places that are looked up, in one go. */
const PER_PART = 2_048;

/**
 * The bytes of an owner's index in pieces, views of what is in memory: they
 * hold as long as nothing changes. Other work may have its turn between two of
 * them; some are empty for that alone.
 */
export function* ownerPieces(
  columns: OwnerColumns,
  makers: SnapshotMakers,
): Generator<Uint8Array> {
  const { width, wordsVersion, model } = makers;
  yield* numberPieces(Uint32Array.of(FORM, width, wordsVersion));
  yield* textPieces([model, ...columns.map(([namespace]) => namespace)]);
  for (const [, { segments, words }] of columns) {
    yield* numberPieces(Uint32Array.of(segments.length));
    for (const segment of segments) yield* segmentPieces(segment);
    yield* wordPieces(words, segments);
  }
}

/**
 * Reads what {@linkcode ownerPieces} gave.
 *
 * @returns undefined when the index was made with other stems, another embedder
 * or width, or by another version of this format
 * @throws {RangeError} when the bytes are no such index
 */
export async function readOwner(
  reader: ColumnReader,
  makers: SnapshotMakers,
): Promise<OwnerColumns | undefined> {
  const [form, width, version] = await reader.numbers(Uint32Array);
  if (
    form !== FORM || width !== makers.width || version !== makers.wordsVersion
  ) return undefined;
  const [model, ...namespaces] = await reader.texts();
  if (model !== makers.model) return undefined;
  const columns: [string, NamespaceColumns][] = [];
  for (const namespace of namespaces) {
    const [count = 0] = await reader.numbers(Uint32Array);
    const segments: PartitionColumns[] = [];
    while (segments.length < count) segments.push(await readSegment(reader));
    const words = await readWords(reader, segments);
    columns.push([namespace, { segments, words }]);
  }
  await reader.end();
  return columns;
}

function* segmentPieces(segment: PartitionColumns): Generator<Uint8Array> {
  yield* textPieces(segment.ids);
  yield* textPieces(segment.blobIds);
  yield* textPieces(segment.metadata);
  yield* numberPieces(segment.sizes);
  yield* numberPieces(segment.times);
  yield* numberPieces(segment.importances);
  yield* numberPieces(segment.vectors.lengths);
  yield* numberPieces(segment.vectors.starts);
  yield* numberPieces(segment.vectors.others);
  yield* numberPieces(segment.vectors.values);
}

async function readSegment(reader: ColumnReader): Promise<PartitionColumns> {
  return {
    ids: await reader.texts(),
    blobIds: await reader.texts(),
    metadata: await reader.texts(),
    sizes: await reader.numbers(Float64Array),
    times: await reader.numbers(Float64Array),
    importances: await reader.numbers(Float64Array),
    vectors: {
      lengths: await reader.numbers(Float64Array),
      starts: await reader.numbers(Uint32Array),
      others: await reader.numbers(Uint16Array),
      values: await reader.numbers(Float32Array),
    },
  };
}

/**
 * The words of a namespace. They name memories by rows, since the ids are
 * written with the vectors.
 */
function* wordPieces(
  { postings, voices, names, numbers, languages }: WordColumns,
  segments: readonly PartitionColumns[],
): Generator<Uint8Array> {
  const rows = new Map<string, number>();
  let row = 0;
  for (const { ids } of segments) {
    for (const id of ids) rows.set(id, row++);
    yield NO_BYTES;
  }
  const rowsByPlace = new Int32Array(postings.ids.length);
  for (const [place, id] of postings.ids.entries()) {
    rowsByPlace[place] = id === "" ? NO_ROW : rows.get(id) ?? NO_ROW;
    if (place % PER_PART === PER_PART - 1) yield NO_BYTES;
  }
  yield* numberPieces(rowsByPlace);
  yield* numberPieces(postings.times);
  yield* numberPieces(postings.lengths);
  yield* numberPieces(postings.windows);
  yield* numberPieces(postings.before);
  yield* numberPieces(postings.after);
  yield* numberPieces(postings.order);
  yield* numberPieces(postings.turns.flags);
  yield* numberPieces(postings.turns.speakers);
  yield* numberPieces(postings.turns.lengths);
  yield* numberPieces(voices);
  yield* textPieces(names);
  yield* numberPieces(numbers);
  yield* textPieces(languages);
  yield* numberPieces(Uint32Array.of(postings.termCount));
  let part: (readonly [string, Uint32Array])[] = [];
  for (const list of postings.lists) {
    part.push(list);
    if (part.length < PER_PART) continue;
    yield* listPieces(part);
    part = [];
  }
  if (part.length > 0) yield* listPieces(part);
}

function* listPieces(
  lists: readonly (readonly [string, Uint32Array])[],
): Generator<Uint8Array> {
  yield* textPieces(lists.map(([term]) => term));
  const sizes = Uint32Array.from(lists, ([, items]) => items.length);
  yield* numberPieces(sizes);
  yield* joinedPieces(
    lists.map(([, items]) => items),
    sizes.reduce((sum, size) => sum + size, 0),
  );
}

async function readWords(
  reader: ColumnReader,
  segments: readonly PartitionColumns[],
): Promise<WordColumns> {
  const allIds = segments.flatMap(({ ids }) => ids);
  const rows = await reader.numbers(Int32Array);
  const ids = Array.from(
    rows,
    (row) => row === NO_ROW ? "" : allIds[row] ?? "",
  );
  const postings = {
    ids,
    times: await reader.numbers(Float64Array),
    lengths: await reader.numbers(Float32Array),
    windows: await reader.numbers(Float32Array),
    before: await reader.numbers(Int32Array),
    after: await reader.numbers(Int32Array),
    order: await reader.numbers(Int32Array),
    turns: {
      flags: await reader.numbers(Uint8Array),
      speakers: await reader.numbers(Uint16Array),
      lengths: await reader.numbers(Float32Array),
    },
  };
  const voices = {
    voices: await reader.numbers(Uint32Array),
    names: await reader.texts(),
    numbers: await reader.numbers(Uint32Array),
    languages: await reader.texts(),
  };
  const lists: [string, Uint32Array][] = [];
  const [count = 0] = await reader.numbers(Uint32Array);
  while (lists.length < count) {
    const terms = await reader.texts();
    const sizes = await reader.numbers(Uint32Array);
    const items = await reader.numbers(Uint32Array);
    let from = 0;
    for (const [at, term] of terms.entries()) {
      lists.push([term, items.subarray(from, from += sizes[at] ?? 0)]);
    }
    if (terms.length === 0) break;
  }
  return { postings: { ...postings, termCount: count, lists }, ...voices };
}

const NO_BYTES = new Uint8Array();
/** In place of the row of a memory that was removed. */
const NO_ROW = -1;
