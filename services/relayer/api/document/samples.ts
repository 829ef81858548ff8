/**
 * Values that several examples of the relayer's document have.
 *
 * @module
 */

/** An owner's address. */
export const OWNER = `0x${"a2".repeat(32)}`;
/** A memory's id. */
export const ID = "mem_01jz8k3v9x";
/** A blob's id. */
export const BLOB = "u3Yx0l5Gq1cF7bWm";
/** An instant. */
export const AT = "2030-01-31T12:00:00.000Z";
