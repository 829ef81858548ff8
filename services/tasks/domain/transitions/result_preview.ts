/**
 * The beginning of a result, for the history.
 *
 * @module
 */

/** Most bytes of a result that a record holds. */
export const MAX_PREVIEW_BYTES = 1_024;

const MOST_BYTES_OF_A_UNIT = 3;

/** Returns the beginning of a text, at most 1 KiB of UTF-8, cut between characters. */
export function previewOf(text: string): string {
  if (text.length * MOST_BYTES_OF_A_UNIT <= MAX_PREVIEW_BYTES) return text;
  const { read } = new TextEncoder()
    .encodeInto(text, new Uint8Array(MAX_PREVIEW_BYTES));
  return text.slice(0, read);
}
