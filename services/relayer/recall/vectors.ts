/**
 * The two forms in which the index keeps a vector: in signed bytes, enough to tell
 * which vectors cannot be among the closest, and exactly, without zeros where most
 * numbers are zero.
 *
 * @module
 */

/** A stored vector in signed bytes. */
export interface CoarseRow {
  /** Where the bytes stand; all places in their order when absent. */
  readonly columns: Uint16Array | undefined;
  /** Its numbers, from -127 to 127. */
  readonly bytes: Int8Array;
  /** What a byte of 1 stands for, in a vector of length 1. */
  readonly factor: number;
  /** How far what the bytes stand for is from the vector of length 1. */
  readonly error: number;
}

/** A query in whole numbers; only those that are not 0. */
export interface CoarseQuery {
  /** Where the numbers stand. */
  readonly columns: Uint32Array;
  /** The numbers. */
  readonly values: Int32Array;
  /** What a number of 1 stands for, in a vector of length 1. */
  readonly factor: number;
  /** How far what the numbers stand for is from the vector of length 1. */
  readonly error: number;
}

const MAX_BYTE = 127;
const MAX_SUM = 2_147_483_647;
const MAX_NUMBER = 32_767;

/** A vector in signed bytes. */
export function coarseRow(
  { columns, values, length }: PackedVector,
): CoarseRow {
  const step = largest(values) / MAX_BYTE;
  const bytes = new Int8Array(values.length);
  if (step === 0) return { columns, bytes, factor: 0, error: 0 };
  let squares = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (value === 0) continue;
    // To the nearest, as Math.round does but for ties, and much sooner.
    const byte = (value / step + (value < 0 ? -0.5 : 0.5)) | 0;
    bytes[at] = byte;
    squares += (value - byte * step) ** 2;
  }
  return {
    columns,
    bytes,
    factor: step / length,
    error: Math.sqrt(squares) / length,
  };
}

/**
 * A query in whole numbers, as large as they may be for the sum of products with
 * any row to fit 32 bits.
 */
export function coarseQuery(vector: Float32Array): CoarseQuery {
  const length = euclideanLength(vector);
  const fitting = Math.floor(MAX_SUM / (MAX_BYTE * vector.length));
  const step = largest(vector) / Math.min(fitting, MAX_NUMBER);
  const columns: number[] = [];
  const values: number[] = [];
  let squares = 0;
  for (let column = 0; step > 0 && column < vector.length; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    const whole = Math.round(value / step);
    squares += (value - whole * step) ** 2;
    if (whole === 0) continue;
    columns.push(column);
    values.push(whole);
  }
  return {
    columns: Uint32Array.from(columns),
    values: Int32Array.from(values),
    factor: step === 0 ? 0 : step / length,
    error: step === 0 ? 0 : Math.sqrt(squares) / length,
  };
}

/** The Euclidean length of a vector. */
export function euclideanLength(vector: Float32Array): number {
  let squares = 0;
  for (let column = 0; column < vector.length; column++) {
    const value = vector[column] ?? 0;
    squares += value * value;
  }
  return Math.sqrt(squares);
}

function largest(vector: Float32Array): number {
  let most = 0;
  for (let column = 0; column < vector.length; column++) {
    const size = Math.abs(vector[column] ?? 0);
    if (size > most) most = size;
  }
  return most;
}

/** A vector as it is kept. */
export interface PackedVector {
  /** Where the numbers stand; all places in their order when absent. */
  readonly columns: Uint16Array | undefined;
  /** The numbers. */
  readonly values: Float32Array;
  /** The vector's Euclidean length; finite when all of the numbers are. */
  readonly length: number;
}

/** A place costs half of what a number does: less than this share pays. */
const SPARSE_SHARE = 1 / 2;
const MAX_COLUMNS = 65_536;

/** Copies a vector, without its zeros where that saves memory. */
export function packVector(vector: Float32Array): PackedVector {
  let count = 0;
  let squares = 0;
  for (let column = 0; column < vector.length; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    count++;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  if (
    count > vector.length * SPARSE_SHARE || vector.length > MAX_COLUMNS
  ) {
    return { columns: undefined, values: vector.slice(), length };
  }
  const columns = new Uint16Array(count);
  const values = new Float32Array(count);
  let at = 0;
  for (let column = 0; at < count; column++) {
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
 */
export function cosine(
  packed: PackedVector,
  query: { readonly vector: Float32Array; readonly length: number },
): number {
  const { columns, values, length } = packed;
  if (length === 0 || query.length === 0) return 0;
  let sum = 0;
  if (columns === undefined) {
    for (let column = 0; column < values.length; column++) {
      sum += (values[column] ?? 0) * (query.vector[column] ?? 0);
    }
  } else {
    for (let at = 0; at < values.length; at++) {
      sum += (values[at] ?? 0) * (query.vector[columns[at] ?? 0] ?? 0);
    }
  }
  return Math.max(-1, Math.min(1, sum / (length * query.length)));
}
