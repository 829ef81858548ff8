/**
 * Memory in which answers are put together. An answer of usual size needs none
 * of its own, which would have to be got and given back for each.
 *
 * @module
 */

/** An answer that needs more gets memory of its own. */
const OUTPUT_BYTES = 16_384;
/** Most pieces that are kept while nobody needs them: a mebibyte. */
const MAX_KEPT = 64;

/** Lends memory for answers. */
export class PublicOutputs {
  readonly #kept: Uint8Array[] = [];

  /** A piece that is the caller's until it is given back. */
  take(): Uint8Array {
    return this.#kept.pop() ?? new Uint8Array(OUTPUT_BYTES);
  }

  /** Takes a piece back; nobody may read or write it any more. */
  giveBack(output: Uint8Array): void {
    if (this.#kept.length < MAX_KEPT) this.#kept.push(output);
  }
}
