/**
 * Encodes and decodes the content of blobs and index entries. The former is
 * JSON in UTF-8 with a version number of its own; the latter are binary.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import {
  decodeWords,
  encodeWords,
  type MemoryWords,
} from "../recall/ranking/memory_words.ts";
import type { BlobContent, IndexEntry, Metadata } from "./vault.ts";

/**
 * Most bytes of an encoded content. A text of 1 MiB fits even if JSON escapes
 * all of it. With its envelope the blob has at most the 8 MiB that blob stores
 * take.
 */
const MAX_CONTENT_BYTES = 8 * 1_048_576 - 4_096;

const VERSION = 1;

/**
 * Encodes a content.
 *
 * @throws {RangeError} when it is too long, or has a number that is not finite
 */
export function encodeContent(
  content: BlobContent,
): Uint8Array<ArrayBuffer> {
  const { id, namespace, text, createdAtMs, agentId, importance } = content;
  const { metadata, supersedes } = content;
  const numbers = [createdAtMs, importance, ...Object.values(metadata)];
  if (numbers.some(isNotFinite)) {
    throw new RangeError(
      "Cannot seal memory: one of its numbers is not finite",
    );
  }
  const bytes = new TextEncoder().encode(JSON.stringify({
    v: VERSION,
    id,
    namespace,
    text,
    createdAtMs,
    agentId,
    importance,
    metadata,
    supersedes,
  }));
  if (bytes.length > MAX_CONTENT_BYTES) {
    throw new RangeError(
      `Cannot seal memory: it has ${bytes.length} bytes, ` +
        `${MAX_CONTENT_BYTES} is the most`,
    );
  }
  return bytes;
}

/**
 * Decodes a content; undefined when the bytes are no content of this version.
 */
export function decodeContent(bytes: Uint8Array): BlobContent | undefined {
  const value = parseJson(bytes);
  if (!isJsonObject(value) || value["v"] !== VERSION) return undefined;
  const { id, namespace, text, createdAtMs, agentId, importance } = value;
  const { metadata, supersedes } = value;
  if (
    typeof id !== "string" || typeof namespace !== "string" ||
    typeof text !== "string" || typeof agentId !== "string" ||
    typeof createdAtMs !== "number" || typeof importance !== "number" ||
    !isMetadata(metadata)
  ) return undefined;
  const content = {
    id,
    namespace,
    text,
    createdAtMs,
    agentId,
    importance,
    metadata,
  };
  if (supersedes === undefined) return content;
  return typeof supersedes === "string"
    ? { ...content, supersedes }
    : undefined;
}

/** Tells whether a value is a number that JSON would write as null. */
function isNotFinite(value: string | number | boolean): boolean {
  return typeof value === "number" && !Number.isFinite(value);
}

/** Parses JSON in UTF-8; undefined when it is not valid. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decodeText(bytes) ?? "");
  } catch {
    // Neither UTF-8 nor JSON: either way these are not the bytes of a value.
    return undefined;
  }
}

/** Tells whether a value is valid metadata of a memory. */
function isMetadata(value: unknown): value is Metadata {
  return isJsonObject(value) &&
    Object.values(value).every((entry) =>
      typeof entry === "string" || typeof entry === "number" ||
      typeof entry === "boolean"
    );
}

/** Most numbers of a vector. */
export const MAX_VECTOR_WIDTH = 16_384;
/** Most bytes of metadata as JSON. */
const MAX_METADATA_BYTES = 65_536;
/** Most bytes of a model's name in UTF-8. */
const MAX_MODEL_BYTES = 4_096;

const DENSE = 1;
const SPARSE = 2;
/** Added to the form of entries that have words. */
const WITH_WORDS = 2;
const HEAD_BYTES = 7;
const MODEL_LENGTH_AT = 5;
const COUNT_BYTES = 4;
const POSITION_BYTES = 2;
const NUMBER_BYTES = 4;

/**
 * Encodes an index entry: a vector, its model's name, the text's words, and the
 * memory's metadata.
 *
 * The first byte is the form, the next four (little endian, as all numbers
 * that follow) are the vector's width; then come the length of the model's name
 * (2 bytes) and the name in UTF-8. Form 1 has each number as a float of 32
 * bits; form 2 has the count of numbers that are not 0 (4 bytes), their
 * positions (2 bytes each) and then those numbers. Both give back every bit, so
 * that a search after a restart finds exactly what it found before; the shorter
 * form is used, and vectors made of words are mostly zeros. Forms 3 and 4 are
 * forms 1 and 2 with words after the vector: the length (4 bytes) and the bytes
 * of {@linkcode encodeWords}. The rest is the metadata as JSON in UTF-8.
 *
 * @throws {RangeError} when the vector is too wide, or the model's name or the
 * metadata too long
 */
export function encodeIndexEntry(entry: IndexEntry): Uint8Array {
  const { vector, model, metadata } = entry;
  if (vector.length > MAX_VECTOR_WIDTH) {
    throw new RangeError(
      `Cannot seal vector: it has ${vector.length} numbers, ` +
        `${MAX_VECTOR_WIDTH} is the most`,
    );
  }
  const encoder = new TextEncoder();
  const json = encoder.encode(JSON.stringify(metadata));
  demandAtMost(MAX_METADATA_BYTES, { bytes: json, what: "metadata" });
  const name = encoder.encode(model);
  demandAtMost(MAX_MODEL_BYTES, { bytes: name, what: "a model's name" });
  const positions = positionsOfBits(vector);
  const sparseBytes = COUNT_BYTES +
    positions.length * (POSITION_BYTES + NUMBER_BYTES);
  const denseBytes = vector.length * NUMBER_BYTES;
  const isSparse = sparseBytes < denseBytes;
  const vectorBytes = isSparse ? sparseBytes : denseBytes;
  const vectorAt = HEAD_BYTES + name.length;
  const words = entry.words === undefined ? NO_BYTES : wordsPart(entry.words);
  const wordsAt = vectorAt + vectorBytes;
  const bytes = new Uint8Array(wordsAt + words.length + json.length);
  const view = new DataView(bytes.buffer);
  bytes[0] = (isSparse ? SPARSE : DENSE) +
    (entry.words === undefined ? 0 : WITH_WORDS);
  view.setUint32(1, vector.length, true);
  view.setUint16(MODEL_LENGTH_AT, name.length, true);
  bytes.set(name, HEAD_BYTES);
  const rest = new DataView(bytes.buffer, vectorAt);
  if (isSparse) writeSparse(rest, vector, positions);
  else writeDense(rest, vector);
  bytes.set(words, wordsAt);
  bytes.set(json, wordsAt + words.length);
  return bytes;
}

const NO_BYTES = new Uint8Array();

/** Words with their length in front. */
function wordsPart(words: MemoryWords): Uint8Array {
  const encoded = encodeWords(words);
  const bytes = new Uint8Array(COUNT_BYTES + encoded.length);
  new DataView(bytes.buffer).setUint32(0, encoded.length, true);
  bytes.set(encoded, COUNT_BYTES);
  return bytes;
}

/**
 * Decodes an index entry; undefined when the bytes are no index entry.
 *
 * @param into The array that the vector is written to if it has the same width;
 * by default a new one.
 */
export function decodeIndexEntry(
  bytes: Uint8Array,
  into?: Float32Array<ArrayBuffer>,
): IndexEntry | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = view.getUint32(1, true);
  const vectorAt = HEAD_BYTES + view.getUint16(MODEL_LENGTH_AT, true);
  if (width > MAX_VECTOR_WIDTH || vectorAt > bytes.length) return undefined;
  const model = decodeText(bytes.subarray(HEAD_BYTES, vectorAt));
  const vector = into?.length === width
    ? into.fill(0)
    : new Float32Array(width);
  const rest = new DataView(
    bytes.buffer,
    bytes.byteOffset + vectorAt,
    bytes.byteLength - vectorAt,
  );
  const form = bytes[0] ?? 0;
  const hasWords = form > WITH_WORDS;
  const vectorForm = hasWords ? form - WITH_WORDS : form;
  const end = vectorForm === DENSE
    ? readDense(rest, vector)
    : vectorForm === SPARSE
    ? readSparse(rest, vector)
    : undefined;
  if (end === undefined || model === undefined) return undefined;
  const wordsAt = vectorAt + end;
  const metadataAt = hasWords ? wordsEnd(view, wordsAt) : wordsAt;
  if (metadataAt === undefined) return undefined;
  const metadata = parseMetadata(bytes.subarray(metadataAt));
  if (metadata === undefined) return undefined;
  const words = hasWords
    ? decodeWords(bytes.subarray(wordsAt + COUNT_BYTES, metadataAt))
    : undefined;
  return { vector, model, metadata, words };
}

/** The offset where words end that begin at `wordsAt`; undefined if cut off. */
function wordsEnd(view: DataView, wordsAt: number): number | undefined {
  const from = wordsAt + COUNT_BYTES;
  if (from > view.byteLength) return undefined;
  const end = from + view.getUint32(wordsAt, true);
  return end > view.byteLength ? undefined : end;
}

function parseMetadata(json: Uint8Array): Metadata | undefined {
  // Most memories have no metadata, and all of them are read at startup.
  if (json.length === 2 && json[0] === 0x7b && json[1] === 0x7d) return {};
  const metadata = parseJson(json);
  return isMetadata(metadata) ? metadata : undefined;
}

function demandAtMost(
  maxBytes: number,
  { bytes, what }: { readonly bytes: Uint8Array; readonly what: string },
): void {
  if (bytes.length <= maxBytes) return;
  throw new RangeError(
    `Cannot seal ${what}: it has ${bytes.length} bytes, ` +
      `${maxBytes} is the most`,
  );
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8: these are not the bytes of a text.
    return undefined;
  }
}

/** Positions of numbers with any bit set: a negative zero is kept, too. */
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
  let at = 0;
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
  view.setUint32(0, positions.length, true);
  let at = COUNT_BYTES;
  for (const position of positions) {
    view.setUint16(at, position, true);
    at += POSITION_BYTES;
  }
  for (const position of positions) {
    view.setFloat32(at, vector[position] ?? 0, true);
    at += NUMBER_BYTES;
  }
}

/**
 * Fills the vector; returns the offset after it, undefined if it is invalid.
 */
function readDense(view: DataView, vector: Float32Array): number | undefined {
  const end = vector.length * NUMBER_BYTES;
  if (end > view.byteLength) return undefined;
  const bytes = new Uint8Array(vector.buffer, vector.byteOffset, end);
  bytes.set(new Uint8Array(view.buffer, view.byteOffset, end));
  // The bytes are little endian, as nearly all machines are.
  if (vector.length > 0 && !isLittleEndian()) {
    const numbers = new DataView(vector.buffer, vector.byteOffset, end);
    for (let index = 0; index < vector.length; index++) {
      vector[index] = numbers.getFloat32(index * NUMBER_BYTES, true);
    }
  }
  return end;
}

/**
 * Fills the vector; returns the offset after it, undefined if it is invalid.
 */
function readSparse(view: DataView, vector: Float32Array): number | undefined {
  const positionsAt = COUNT_BYTES;
  if (positionsAt > view.byteLength) return undefined;
  const count = view.getUint32(0, true);
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

function isLittleEndian(): boolean {
  return new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
}
