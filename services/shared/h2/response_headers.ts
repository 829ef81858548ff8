/**
 * Encodes the headers and trailers of answers (RFC 7541). Those of a successful
 * answer are always the same, so the first answer adds their fields to the
 * peer's table, and later ones take three bytes.
 *
 * @module
 */

import { DEFAULT_TABLE_BYTES } from "./hpack.ts";

/** What an answer may tell besides its status. */
export interface StatusText {
  /** The gRPC status. */
  readonly code: number;
  /** Its text; none when it is empty. */
  readonly message: string;
  /** Whether to list the accepted compressions, of which there are none. */
  readonly tellsEncodings?: boolean;
}

const STATUS_200 = 0x88;
const INDEXED = 0x80;
const INSERTED = 0x40;
const SIZE_UPDATE = 0x20;
const STATIC = { STATUS: 8, CONTENT_TYPE: 31 } as const;
const NEWEST = 62;
/** In a smaller table the two entries would evict each other. */
const LEAST_TABLE_BYTES = 256;
/** Longer texts are cut, since peers limit the size of headers. */
const MAX_MESSAGE_BYTES = 4_096;

/** Encodes the headers of the answers of one connection, in their order. */
export class ResponseHeaders {
  #tableBytes = DEFAULT_TABLE_BYTES;
  #isResized = false;
  #hasContentType = false;
  #hasStatus = false;
  readonly #text = new TextEncoder();

  /**
   * Applies a new table size of the peer. All entries are dropped, which the
   * next block announces (RFC 7541, section 4.2).
   */
  resize(maxBytes: number, leastBytes: number): void {
    const tableBytes = Math.min(maxBytes, DEFAULT_TABLE_BYTES);
    if (tableBytes === this.#tableBytes && leastBytes >= tableBytes) return;
    this.#tableBytes = tableBytes;
    this.#isResized = true;
    this.#hasContentType = false;
    this.#hasStatus = false;
  }

  /** Headers before messages. */
  headers(): Uint8Array {
    if (this.#hasContentType && !this.#isResized) {
      return this.#hasStatus ? HEADERS_AFTER_STATUS : HEADERS_BEFORE_STATUS;
    }
    const block = this.#begin();
    block.push(STATUS_200);
    if (this.#tableBytes < LEAST_TABLE_BYTES) {
      this.#pushContentType(block);
    } else {
      block.push(INSERTED | STATIC.CONTENT_TYPE);
      this.#pushText(block, "application/grpc");
      this.#hasContentType = true;
    }
    return Uint8Array.from(block);
  }

  /** Trailers after messages, with the status OK. */
  okTrailers(): Uint8Array {
    if (this.#hasStatus && !this.#isResized) return OK_TRAILERS;
    // An entry of its own comes after that of the content type.
    if (!this.#hasContentType || this.#tableBytes < LEAST_TABLE_BYTES) {
      return this.trailers({ code: 0, message: "" });
    }
    const block = this.#begin();
    block.push(INSERTED);
    this.#pushText(block, "grpc-status");
    this.#pushText(block, "0");
    this.#hasStatus = true;
    return Uint8Array.from(block);
  }

  /** Trailers after messages. */
  trailers(status: StatusText): Uint8Array {
    const block = this.#begin();
    this.#pushStatus(block, status);
    return Uint8Array.from(block);
  }

  /** Headers of an answer that has no messages. */
  trailersOnly(status: StatusText): Uint8Array {
    const block = this.#begin();
    block.push(STATUS_200);
    this.#pushContentType(block);
    this.#pushStatus(block, status);
    return Uint8Array.from(block);
  }

  /** Headers of an answer that is not gRPC. */
  httpStatus(status: number): Uint8Array {
    const block = this.#begin();
    block.push(STATIC.STATUS);
    this.#pushText(block, String(status));
    return Uint8Array.from(block);
  }

  /** Begins a block; after a resize, with size 0 and then the new size. */
  #begin(): number[] {
    if (!this.#isResized) return [];
    this.#isResized = false;
    const block = [SIZE_UPDATE];
    if (this.#tableBytes > 0) {
      pushInteger(block, this.#tableBytes, SIZE_UPDATE, 0x1f);
    }
    return block;
  }

  #pushContentType(block: number[]): void {
    pushInteger(block, STATIC.CONTENT_TYPE, 0, 0x0f);
    this.#pushText(block, "application/grpc");
  }

  #pushStatus(block: number[], status: StatusText): void {
    this.#pushField(block, "grpc-status", String(status.code));
    if (status.message !== "") {
      const encoded = percentEncoded(this.#text.encode(status.message));
      this.#pushField(block, "grpc-message", encoded);
    }
    if (status.tellsEncodings === true) {
      this.#pushField(block, "grpc-accept-encoding", "identity");
    }
  }

  #pushField(block: number[], name: string, value: string): void {
    block.push(0);
    this.#pushText(block, name);
    this.#pushText(block, value);
  }

  #pushText(block: number[], text: string): void {
    pushInteger(block, text.length, 0, 0x7f);
    for (let at = 0; at < text.length; at++) block.push(text.charCodeAt(at));
  }
}

const HEADERS_BEFORE_STATUS = Uint8Array.of(STATUS_200, INDEXED | NEWEST);
const HEADERS_AFTER_STATUS = Uint8Array.of(STATUS_200, INDEXED | NEWEST + 1);
const OK_TRAILERS = Uint8Array.of(INDEXED | NEWEST);

/**
 * `grpc-message` as it is sent (PROTOCOL-HTTP2.md of gRPC): printable ASCII
 * but for "%" as it is, all other bytes in hexadecimal form.
 */
export function percentEncoded(utf8: Uint8Array): string {
  let text = "";
  for (let at = 0; at < utf8.length; at++) {
    const byte = utf8[at]!;
    // Not cut within a character: its later bytes begin with the bits 10.
    if (text.length >= MAX_MESSAGE_BYTES && (byte & 0xc0) !== 0x80) break;
    text += byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

/** Appends an integer behind the bits `first` of a byte (RFC 7541, 5.1). */
export function pushInteger(
  block: number[],
  value: number,
  first: number,
  mask: number,
): void {
  if (value < mask) {
    block.push(first | value);
    return;
  }
  block.push(first | mask);
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) block.push(rest & 0x7f | 0x80);
  block.push(rest);
}
