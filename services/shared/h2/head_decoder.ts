/**
 * The headers of one connection's requests, from blocks of frames to what they
 * ask for. Equal blocks are understood once.
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import { HpackDecoder, type HpackShared } from "./hpack_decoder.ts";
import type { FieldMeaning } from "./request_field.ts";
import type { RequestHead } from "./request_head.ts";
import type { RequestHeadReader } from "./request_head_reader.ts";

/** What the head decoders of a server have in common. */
export interface HeadShared {
  /** Puts headers together. */
  readonly reader: RequestHeadReader;
  /** Tables and memory of the decoders. */
  readonly hpack: HpackShared<FieldMeaning>;
}

/** Longer blocks are not worth comparing. */
const MAX_MEMO_BYTES = 1_024;

/** Decodes the header blocks of a connection in their order. */
export class HeadDecoder {
  readonly #shared: HeadShared;
  readonly #hpack: HpackDecoder<FieldMeaning>;
  // The last block that changed no table. While no table has changed since,
  // the same bytes mean the same.
  #memo = new Uint8Array(0);
  #memoLength = -1;
  #memoGeneration = 0;
  #memoHead: RequestHead | undefined;

  /** A decoder for a connection that begins. */
  constructor(shared: HeadShared) {
    this.#shared = shared;
    this.#hpack = new HpackDecoder(shared.hpack);
  }

  /** Decodes the headers of a request; undefined when the block is broken. */
  request(block: ByteSpan): RequestHead | undefined {
    if (this.#isMemo(block)) return this.#memoHead;
    const generation = this.#hpack.table.generation;
    const { reader } = this.#shared;
    reader.begin(false);
    if (!this.#hpack.decode(block)) return undefined;
    const head = reader.end();
    if (this.#hpack.table.generation === generation) {
      this.#remember(block, head);
    }
    return head;
  }

  /** Decodes trailers; undefined when the block is broken. */
  trailers(block: ByteSpan): RequestHead | undefined {
    const { reader } = this.#shared;
    reader.begin(true);
    return this.#hpack.decode(block) ? reader.end() : undefined;
  }

  #isMemo({ bytes, start, end }: ByteSpan): boolean {
    const length = end - start;
    if (length !== this.#memoLength) return false;
    if (this.#memoGeneration !== this.#hpack.table.generation) return false;
    const memo = this.#memo;
    for (let index = 0; index < length; index++) {
      if (bytes[start + index] !== memo[index]) return false;
    }
    return true;
  }

  #remember({ bytes, start, end }: ByteSpan, head: RequestHead): void {
    const length = end - start;
    if (length > MAX_MEMO_BYTES) return;
    if (this.#memo.length < length) this.#memo = new Uint8Array(length * 2);
    for (let index = 0; index < length; index++) {
      this.#memo[index] = bytes[start + index]!;
    }
    this.#memoLength = length;
    this.#memoGeneration = this.#hpack.table.generation;
    this.#memoHead = head;
  }
}
