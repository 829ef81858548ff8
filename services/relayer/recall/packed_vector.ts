/**
 * Vectors kept exactly, but without the zeros when most of them are: vectors made
 * of hashed words have a hundred numbers in fifteen hundred places.
 *
 * @module
 */

import { euclideanLength } from "./coarse_vector.ts";

/** A vector as it is kept. */
export interface PackedVector {
  /** Where the numbers stand; all places in their order when absent. */
  readonly columns?: Uint16Array;
  /** The numbers. */
  readonly values: Float32Array;
  /** The vector's Euclidean length. */
  readonly length: number;
}

/** A place costs half of what a number does: less than this share pays. */
const SPARSE_SHARE = 1 / 2;
const MAX_COLUMNS = 65_536;

/** Copies a vector, without its zeros where that saves memory. */
export function packVector(vector: Float32Array): PackedVector {
  const length = euclideanLength(vector);
  let count = 0;
  for (let column = 0; column < vector.length; column++) {
    if (vector[column] !== 0) count++;
  }
  if (
    count > vector.length * SPARSE_SHARE || vector.length > MAX_COLUMNS
  ) {
    return { values: vector.slice(), length };
  }
  const columns = new Uint16Array(count);
  const values = new Float32Array(count);
  let at = 0;
  for (let column = 0; column < vector.length; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    columns[at] = column;
    values[at++] = value;
  }
  return { columns, values, length };
}

/**
 * The cosine of the angle between two vectors, from -1 to 1; 0 when one of them
 * has no length. Sums in 64 bits, in the order of the columns.
 *
 * @param queryLength The Euclidean length of `query`.
 */
export function cosine(
  packed: PackedVector,
  options: { readonly query: Float32Array; readonly queryLength: number },
): number {
  const { query, queryLength } = options;
  const { columns, values, length } = packed;
  if (length === 0 || queryLength === 0) return 0;
  let sum = 0;
  if (columns === undefined) {
    for (let column = 0; column < values.length; column++) {
      sum += (values[column] ?? 0) * (query[column] ?? 0);
    }
  } else {
    for (let at = 0; at < values.length; at++) {
      sum += (values[at] ?? 0) * (query[columns[at] ?? 0] ?? 0);
    }
  }
  return Math.max(-1, Math.min(1, sum / (length * queryLength)));
}
