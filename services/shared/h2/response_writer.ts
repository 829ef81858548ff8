/**
 * Writes answers as far as the peer has room for them (RFC 9113, section 5.2).
 *
 * @module
 */

import {
  DEFAULT_WINDOW_BYTES,
  FLAG,
  FRAME_HEADER_BYTES,
  FRAME_TYPE,
  MAX_31_BITS,
  MAX_FRAME_BYTES,
} from "./frame.ts";
import { MESSAGE_PREFIX_BYTES } from "./messages.ts";
import { type OutputBatch, writeFrame } from "./output_batch.ts";
import { ResponseHeaders, type StatusText } from "./response_headers.ts";
import type { H2Stream } from "./stream.ts";

/** Called when output that had to wait for the peer is written. */
export interface ResponseEvents {
  /** The last frame of an answer is written. */
  finished(stream: H2Stream): void;
  /** A message that had to wait is written. */
  drained(stream: H2Stream): void;
}

/** The status of an answer that has all its messages. */
const OK: StatusText = { code: 0, message: "" };

/** The sending side of a connection. */
export class ResponseWriter {
  /** Encodes the headers. */
  readonly headers: ResponseHeaders = new ResponseHeaders();
  /** While true, messages wait although the peer's windows have room. */
  isCongested = false;
  readonly #output: OutputBatch;
  readonly #events: ResponseEvents;
  /** Streams with something to send and room in their window, in turn. */
  readonly #ready = new Set<H2Stream>();
  #window = DEFAULT_WINDOW_BYTES;
  #initialWindow = DEFAULT_WINDOW_BYTES;

  /** A writer to `output`. */
  constructor(output: OutputBatch, events: ResponseEvents) {
    this.#output = output;
    this.#events = events;
  }

  /** The window a new stream begins with. */
  get initialWindow(): number {
    return this.#initialWindow;
  }

  /** Sends the only message and the end; false when something must wait. */
  answer(stream: H2Stream, message: Uint8Array): boolean {
    const length = message.length + MESSAGE_PREFIX_BYTES;
    if (
      this.isCongested || length > this.#window ||
      length > stream.sendWindow || length > MAX_FRAME_BYTES
    ) {
      stream.ending = OK;
      return this.send(stream, message);
    }
    this.#window -= length;
    const headers = this.headers.headers();
    const trailers = this.headers.okTrailers();
    const output = this.#output;
    output.reserve(
      3 * FRAME_HEADER_BYTES + headers.length + length + trailers.length,
    );
    const { id } = stream;
    const { bytes } = output;
    let at = writeHeader(bytes, output.length, {
      length: headers.length,
      flags: FRAME_TYPE.HEADERS << 8 | FLAG.END_HEADERS,
      id,
    });
    for (let i = 0; i < headers.length; i++) bytes[at++] = headers[i]!;
    at = writeHeader(bytes, at, { length, flags: 0, id });
    at = writePrefix(bytes, at, message.length);
    if (message.length < 64) {
      for (let i = 0; i < message.length; i++) bytes[at++] = message[i]!;
    } else {
      bytes.set(message, at);
      at += message.length;
    }
    at = writeHeader(bytes, at, {
      length: trailers.length,
      flags: FRAME_TYPE.HEADERS << 8 | FLAG.END_HEADERS | FLAG.END_STREAM,
      id,
    });
    for (let i = 0; i < trailers.length; i++) bytes[at++] = trailers[i]!;
    output.length = at;
    return true;
  }

  /** Sends a message; false when it must wait. */
  send(stream: H2Stream, message: Uint8Array): boolean {
    if (!stream.hasHeaders) {
      stream.hasHeaders = true;
      this.#writeBlock(stream.id, this.headers.headers(), false);
    }
    stream.pending = message;
    stream.pendingAt = 0;
    while (stream.pending !== undefined) {
      if (!this.#writeData(stream)) {
        if (stream.sendWindow > 0) this.#ready.add(stream);
        return false;
      }
    }
    return true;
  }

  /** Ends an answer; false when something before it waits. */
  finish(stream: H2Stream, status: StatusText): boolean {
    if (stream.pending !== undefined) {
      stream.ending = status;
      return false;
    }
    this.#writeBlock(
      stream.id,
      stream.hasHeaders
        ? status.code === 0
          ? this.headers.okTrailers()
          : this.headers.trailers(status)
        : this.headers.trailersOnly(status),
      true,
    );
    return true;
  }

  /** Answers with an HTTP status and nothing else. */
  refuse(streamId: number, httpStatus: number): void {
    this.#writeBlock(streamId, this.headers.httpStatus(httpStatus), true);
  }

  /** Drops what waits on a stream. */
  forget(stream: H2Stream): void {
    if (stream.pending === undefined) return;
    stream.pending = undefined;
    stream.ending = undefined;
    this.#ready.delete(stream);
  }

  /** The peer has room for more; false when that is more than is allowed. */
  grow(bytes: number): boolean {
    this.#window += bytes;
    return this.#window <= MAX_31_BITS;
  }

  /** Adds window to a stream; false when that is more than is allowed. */
  growStream(stream: H2Stream, bytes: number): boolean {
    stream.sendWindow += bytes;
    if (stream.sendWindow > MAX_31_BITS) return false;
    if (stream.pending !== undefined && stream.sendWindow > 0) {
      this.#ready.add(stream);
    }
    return true;
  }

  /**
   * The peer changes the window streams begin with, and that of `open` ones
   * with it; false when one would be larger than is allowed.
   */
  resizeWindows(bytes: number, open: Iterable<H2Stream>): boolean {
    const more = bytes - this.#initialWindow;
    this.#initialWindow = bytes;
    for (const stream of open) {
      if (!this.growStream(stream, more)) return false;
      if (stream.sendWindow <= 0) this.#ready.delete(stream);
    }
    return true;
  }

  /** Sends waiting messages while there is room, a frame of each in turn. */
  pump(): void {
    if (this.#ready.size === 0) return;
    for (const stream of this.#ready) {
      if (this.isCongested || this.#window <= 0) return;
      this.#ready.delete(stream);
      if (!this.#writeData(stream)) continue;
      // Added behind the others, it is met again in this same loop.
      if (stream.pending === undefined) this.#events.drained(stream);
      else this.#ready.add(stream);
    }
  }

  /**
   * Writes a frame of the waiting message, and the end if that was the last
   * thing; false when there is no room.
   */
  #writeData(stream: H2Stream): boolean {
    const message = stream.pending!;
    const from = stream.pendingAt;
    const total = message.length + MESSAGE_PREFIX_BYTES;
    const size = Math.min(
      total - from,
      stream.sendWindow,
      this.#window,
      MAX_FRAME_BYTES,
    );
    if (size <= 0 || this.isCongested) return false;
    const output = this.#output;
    output.reserve(FRAME_HEADER_BYTES + size);
    const { bytes } = output;
    const head = { length: size, flags: 0, id: stream.id };
    let at = writeHeader(bytes, output.length, head);
    const end = at + size;
    let next = from;
    if (next < MESSAGE_PREFIX_BYTES) {
      const prefix = new Uint8Array(MESSAGE_PREFIX_BYTES);
      writePrefix(prefix, 0, message.length);
      while (next < MESSAGE_PREFIX_BYTES && at < end) {
        bytes[at++] = prefix[next++]!;
      }
    }
    const begin = next - MESSAGE_PREFIX_BYTES;
    bytes.set(message.subarray(begin, begin + end - at), at);
    output.length = end;
    this.#window -= size;
    stream.sendWindow -= size;
    stream.pendingAt = from + size;
    if (stream.pendingAt < total) return true;
    stream.pending = undefined;
    const status = stream.ending;
    if (status !== undefined) {
      this.finish(stream, status);
      this.#events.finished(stream);
    }
    return true;
  }

  #writeBlock(streamId: number, block: Uint8Array, isEnd: boolean): void {
    writeFrame(this.#output, block, {
      type: FRAME_TYPE.HEADERS,
      flags: FLAG.END_HEADERS | (isEnd ? FLAG.END_STREAM : 0),
      streamId,
    });
  }
}

interface HeaderParts {
  readonly length: number;
  /** The flags, and the type in the byte above them. */
  readonly flags: number;
  readonly id: number;
}

function writeHeader(bytes: Uint8Array, at: number, of: HeaderParts): number {
  const { length, flags, id } = of;
  bytes[at] = length >>> 16;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length;
  bytes[at + 3] = flags >>> 8;
  bytes[at + 4] = flags;
  bytes[at + 5] = id >>> 24;
  bytes[at + 6] = id >>> 16;
  bytes[at + 7] = id >>> 8;
  bytes[at + 8] = id;
  return at + FRAME_HEADER_BYTES;
}

function writePrefix(bytes: Uint8Array, at: number, length: number): number {
  bytes[at] = 0;
  bytes[at + 1] = length >>> 24;
  bytes[at + 2] = length >>> 16;
  bytes[at + 3] = length >>> 8;
  bytes[at + 4] = length;
  return at + MESSAGE_PREFIX_BYTES;
}
