/**
 * Vectors in few bits, with what is lost by that: enough to tell which ones
 * cannot be among the closest.
 *
 * @module
 */

/** A stored vector in signed bytes. */
export interface CoarseRow {
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
export function coarseRow(vector: Float32Array): CoarseRow {
  const length = euclideanLength(vector);
  const step = largest(vector) / MAX_BYTE;
  const bytes = new Int8Array(vector.length);
  if (step === 0) return { bytes, factor: 0, error: 0 };
  let squares = 0;
  for (let column = 0; column < vector.length; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    // To the nearest, as Math.round does but for ties, and much sooner.
    const byte = (value / step + (value < 0 ? -0.5 : 0.5)) | 0;
    bytes[column] = byte;
    squares += (value - byte * step) ** 2;
  }
  return { bytes, factor: step / length, error: Math.sqrt(squares) / length };
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
