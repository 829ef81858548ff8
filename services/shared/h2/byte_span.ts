/**
 * A range of bytes within a longer array, so that nothing has to be copied to
 * be handed on.
 *
 * @module
 */

/**
 * The bytes from `start` up to, not including, `end`. The object may be reused
 * for another range later.
 */
export interface ByteSpan {
  /** Holds the range. */
  bytes: Uint8Array;
  /** Where it begins. */
  start: number;
  /** Where it ends. */
  end: number;
}

/** Whether the bytes of `span` are those of `expected`. */
export function spanEquals(span: ByteSpan, expected: Uint8Array): boolean {
  const { bytes, start, end } = span;
  const length = end - start;
  if (length !== expected.length) return false;
  for (let index = 0; index < length; index++) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}
