/**
 * A vector and what a client says of a memory, as bytes.
 *
 * The first byte tells the form, the next four (little endian, as all that
 * follow) the vector's width. Form 1 has each number as a float of 32 bits; form 2
 * has how many numbers are not 0 (4 bytes), their positions (2 bytes each) and then
 * the numbers. Both give back every bit, so that a search after a restart finds
 * exactly what it found before; the shorter one is taken, and vectors made of words
 * are mostly zeros. The rest is the metadata, JSON in UTF-8.
 *
 * @module
 */

import { isMetadata, parseJson } from "./blob_content.ts";
import type { IndexEntry } from "./vault.ts";

/** Most numbers of a vector. */
export const MAX_VECTOR_WIDTH = 16_384;
/** Most bytes of metadata as JSON. */
export const MAX_METADATA_BYTES = 65_536;

const DENSE = 1;
const SPARSE = 2;
const HEAD_BYTES = 5;
const COUNT_BYTES = 4;
const POSITION_BYTES = 2;
const NUMBER_BYTES = 4;

/**
 * Encodes an entry.
 *
 * @throws {RangeError} when the vector is too wide or the metadata too long
 */
export function encodeIndexEntry(entry: IndexEntry): Uint8Array {
  const { vector, metadata } = entry;
  if (vector.length > MAX_VECTOR_WIDTH) {
    throw new RangeError(
      `Cannot seal vector: it has ${vector.length} numbers, ` +
        `${MAX_VECTOR_WIDTH} is the most`,
    );
  }
  const json = new TextEncoder().encode(JSON.stringify(metadata));
  if (json.length > MAX_METADATA_BYTES) {
    throw new RangeError(
      `Cannot seal metadata: it has ${json.length} bytes, ` +
        `${MAX_METADATA_BYTES} is the most`,
    );
  }
  const positions = positionsOfBits(vector);
  const sparseBytes = COUNT_BYTES +
    positions.length * (POSITION_BYTES + NUMBER_BYTES);
  const denseBytes = vector.length * NUMBER_BYTES;
  const isSparse = sparseBytes < denseBytes;
  const vectorBytes = isSparse ? sparseBytes : denseBytes;
  const bytes = new Uint8Array(HEAD_BYTES + vectorBytes + json.length);
  const view = new DataView(bytes.buffer);
  bytes[0] = isSparse ? SPARSE : DENSE;
  view.setUint32(1, vector.length, true);
  if (isSparse) writeSparse(view, vector, positions);
  else writeDense(view, vector);
  bytes.set(json, HEAD_BYTES + vectorBytes);
  return bytes;
}

/** Decodes an entry; undefined when the bytes are none. */
export function decodeIndexEntry(bytes: Uint8Array): IndexEntry | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = view.getUint32(1, true);
  if (width > MAX_VECTOR_WIDTH) return undefined;
  const vector = new Float32Array(width);
  const end = bytes[0] === DENSE
    ? readDense(view, vector)
    : bytes[0] === SPARSE
    ? readSparse(view, vector)
    : undefined;
  if (end === undefined) return undefined;
  const metadata = parseJson(bytes.subarray(end));
  return isMetadata(metadata) ? { vector, metadata } : undefined;
}

/** Where any bit is set: a negative zero is kept like any other number. */
function positionsOfBits(vector: Float32Array): readonly number[] {
  const bits = new Uint32Array(
    vector.buffer,
    vector.byteOffset,
    vector.length,
  );
  const positions: number[] = [];
  for (let at = 0; at < bits.length; at++) {
    if (bits[at] !== 0) positions.push(at);
  }
  return positions;
}

function writeDense(view: DataView, vector: Float32Array): void {
  let at = HEAD_BYTES;
  for (const value of vector) {
    view.setFloat32(at, value, true);
    at += NUMBER_BYTES;
  }
}

function writeSparse(
  view: DataView,
  vector: Float32Array,
  positions: readonly number[],
): void {
  view.setUint32(HEAD_BYTES, positions.length, true);
  let at = HEAD_BYTES + COUNT_BYTES;
  for (const position of positions) {
    view.setUint16(at, position, true);
    at += POSITION_BYTES;
  }
  for (const position of positions) {
    view.setFloat32(at, vector[position] ?? 0, true);
    at += NUMBER_BYTES;
  }
}

/** Fills the vector and tells where it ends. */
function readDense(view: DataView, vector: Float32Array): number | undefined {
  const end = HEAD_BYTES + vector.length * NUMBER_BYTES;
  if (end > view.byteLength) return undefined;
  for (let index = 0; index < vector.length; index++) {
    vector[index] = view.getFloat32(HEAD_BYTES + index * NUMBER_BYTES, true);
  }
  return end;
}

/** Fills the vector and tells where it ends. */
function readSparse(view: DataView, vector: Float32Array): number | undefined {
  const positionsAt = HEAD_BYTES + COUNT_BYTES;
  if (positionsAt > view.byteLength) return undefined;
  const count = view.getUint32(HEAD_BYTES, true);
  const numbersAt = positionsAt + count * POSITION_BYTES;
  const end = numbersAt + count * NUMBER_BYTES;
  if (count > vector.length || end > view.byteLength) return undefined;
  for (let index = 0; index < count; index++) {
    const position = view.getUint16(positionsAt + index * POSITION_BYTES, true);
    if (position >= vector.length) return undefined;
    vector[position] = view.getFloat32(
      numbersAt + index * NUMBER_BYTES,
      true,
    );
  }
  return end;
}
