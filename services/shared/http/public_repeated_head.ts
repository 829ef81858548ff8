/**
 * The head that a client sends again and again: on a kept connection most
 * requests have the same one to the byte, and what was read of it once need not
 * be read again.
 *
 * @module
 */

import type { RequestHead } from "./public_head.ts";

/** A larger head is read each time: connections without a request hold little. */
const MAX_KEPT_BYTES = 2_048;
const MAX_KEPT_FIELDS = 24;

/** The last head of a connection. */
export class RepeatedHead {
  #bytes: Uint8Array | undefined;
  #head: RequestHead | undefined;

  /** How many bytes the last head has; 0 when there is none. */
  get length(): number {
    return this.#bytes?.length ?? 0;
  }

  /** The last head, if `bytes` begin with the same one. */
  match(bytes: Uint8Array): RequestHead | undefined {
    const known = this.#bytes;
    if (known === undefined || bytes.length < known.length) return undefined;
    // From its end, where the length of the content is that tells most apart.
    for (let index = known.length - 1; index >= 0; index--) {
      if (bytes[index] !== known[index]) return undefined;
    }
    return this.#head;
  }

  /** Keeps a head, which stands in the first `length` of `bytes`. */
  keep(
    head: RequestHead,
    { bytes, length }: { readonly bytes: Uint8Array; readonly length: number },
  ): void {
    if (length > MAX_KEPT_BYTES || head.headers.size > MAX_KEPT_FIELDS) return;
    if (this.#bytes?.length !== length) this.#bytes = new Uint8Array(length);
    this.#bytes.set(bytes.subarray(0, length));
    this.#head = head;
  }
}
