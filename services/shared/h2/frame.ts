/**
 * Frames of HTTP/2: their types, flags and error codes, and a reader that cuts
 * them out of a byte stream (RFC 9113, sections 4 to 7).
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";

/** Error codes, by name (RFC 9113, section 7). */
export const H2_ERROR = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
  HTTP_1_1_REQUIRED: 13,
} as const;

/** Number of an HTTP/2 error. */
export type H2ErrorCode = typeof H2_ERROR[keyof typeof H2_ERROR];

/** Types of frames, by name. */
export const FRAME_TYPE = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames, by name; what a bit means depends on the type. */
export const FLAG = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

/** Bytes before the payload of a frame. */
export const FRAME_HEADER_BYTES = 9;

/**
 * The largest payload of a frame that is read or written: the one each peer
 * must accept. Larger frames would make the answers to others wait longer.
 */
export const MAX_FRAME_BYTES = 16_384;

/** The first bytes a client sends (RFC 9113, section 3.4). */
export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** The largest flow-control window, and the largest stream identifier. */
export const MAX_31_BITS = 0x7fff_ffff;

/** The flow-control window both sides begin with. */
export const DEFAULT_WINDOW_BYTES = 65_535;

/**
 * A received frame and where its payload is. One object is used for all frames
 * of a connection.
 */
export interface Frame extends ByteSpan {
  /** One of {@linkcode FRAME_TYPE}, or a type that is not known. */
  type: number;
  /** Bits of {@linkcode FLAG}. */
  flags: number;
  /** The stream it belongs to; 0 for the connection. */
  streamId: number;
}

/** Reads a 32-bit number without its first bit, which is reserved. */
export function read31Bits(bytes: Uint8Array, at: number): number {
  return read32Bits(bytes, at) & MAX_31_BITS;
}

/** Reads a 32-bit number. */
export function read32Bits(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24 | bytes[at + 1]! << 16 | bytes[at + 2]! << 8 |
    bytes[at + 3]!) >>> 0;
}

/** Receives the frames that the reader cuts from the bytes. */
export interface FrameSink {
  /** Handles a frame; {@linkcode FrameReader.end} ends the reading. */
  frame(frame: Frame): void;
  /** Called once the whole preface has come. */
  preface(): void;
  /** Called once when the bytes are not HTTP/2, or a frame is too large. */
  unreadable(reason: "preface" | "frame_size"): void;
}

const NO_BYTES = new Uint8Array(0);

/** What is read between two questions whether to pause. */
const BYTES_PER_LOOK = 4_096;
/** What a frame counts besides its payload, since small ones cost time too. */
const FRAME_COST_BYTES = 128;

/** Options of {@linkcode FrameReader}. */
interface FrameReaderOptions {
  /**
   * Whether a preface comes first: clients begin with one, servers don't.
   *
   * @default true
   */
  readonly expectsPreface?: boolean;
  /**
   * Asked between frames, about every 4 KiB: true leaves the rest for
   * {@linkcode FrameReader.resume}.
   *
   * @default never pauses
   */
  readonly mustPause?: (() => boolean) | undefined;
}

/**
 * Cuts frames out of received bytes. A frame that comes whole is read in place;
 * the parts of another are copied into a buffer of its own, which no later
 * frame overwrites.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #mustPause: () => boolean;
  readonly #frame: Frame = {
    type: 0,
    flags: 0,
    streamId: 0,
    bytes: NO_BYTES,
    start: 0,
    end: 0,
  };
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  #prefaceLength = 0;
  #partial = NO_BYTES;
  #partialLength = 0;
  #isOver = false;
  /** Bytes that were received but are not read yet. */
  #rest: Uint8Array = NO_BYTES;

  /** A reader at the beginning of a connection. */
  constructor(sink: FrameSink, options: FrameReaderOptions = {}) {
    const { expectsPreface = true, mustPause = () => false } = options;
    this.#sink = sink;
    this.#mustPause = mustPause;
    if (!expectsPreface) this.#prefaceLength = PREFACE.length;
  }

  /** Whether a frame has begun and not ended. */
  get isWithinFrame(): boolean {
    return this.#partialLength > 0;
  }

  /** Whether reading has paused, so that no further bytes may be fed yet. */
  get isPaused(): boolean {
    return this.#rest !== NO_BYTES;
  }

  /**
   * Reads the frames in `chunk`, up to its end or to a pause. Frames point into
   * `chunk`, so it must not change later.
   */
  feed(chunk: Uint8Array): void {
    let at = this.#isOver ? chunk.length : this.#readPreface(chunk);
    if (this.#partialLength > 0) at = this.#completePartial(chunk, at);
    this.#read(chunk, at);
  }

  /** Continues after a pause, up to the end or to the next pause. */
  resume(): void {
    const rest = this.#rest;
    this.#rest = NO_BYTES;
    this.#read(rest, 0);
  }

  /** Reads nothing more. */
  end(): void {
    this.#isOver = true;
    this.#partial = NO_BYTES;
    this.#partialLength = 0;
    this.#rest = NO_BYTES;
  }

  #read(chunk: Uint8Array, from: number): void {
    let at = from;
    let cost = 0;
    const end = chunk.length;
    while (!this.#isOver && end - at >= FRAME_HEADER_BYTES) {
      if (cost >= BYTES_PER_LOOK) {
        if (this.#mustPause()) {
          this.#rest = chunk.subarray(at);
          return;
        }
        cost = 0;
      }
      const length = chunk[at]! << 16 | chunk[at + 1]! << 8 | chunk[at + 2]!;
      if (length > MAX_FRAME_BYTES) return this.#fail("frame_size");
      const next = at + FRAME_HEADER_BYTES + length;
      if (next > end) break;
      this.#deliver(chunk, at, next);
      at = next;
      cost += length + FRAME_COST_BYTES;
    }
    if (!this.#isOver && at < end) this.#beginPartial(chunk.subarray(at));
  }

  #readPreface(chunk: Uint8Array): number {
    let at = 0;
    while (this.#prefaceLength < PREFACE.length && at < chunk.length) {
      if (chunk[at++] !== PREFACE.charCodeAt(this.#prefaceLength)) {
        this.#fail("preface");
        return chunk.length;
      }
      if (++this.#prefaceLength === PREFACE.length) this.#sink.preface();
    }
    return at;
  }

  #beginPartial(rest: Uint8Array): void {
    if (rest.length < FRAME_HEADER_BYTES) {
      this.#partial = this.#header;
    } else {
      const size = rest[0]! << 16 | rest[1]! << 8 | rest[2]!;
      this.#partial = new Uint8Array(FRAME_HEADER_BYTES + size);
    }
    this.#partial.set(rest);
    this.#partialLength = rest.length;
  }

  /** Returns where the rest of `chunk` begins. */
  #completePartial(chunk: Uint8Array, from: number): number {
    let at = this.#fill(chunk, from);
    if (this.#partialLength < FRAME_HEADER_BYTES) return at;
    if (this.#partial === this.#header) {
      const [a = 0, b = 0, c = 0] = this.#header;
      const size = a << 16 | b << 8 | c;
      if (size > MAX_FRAME_BYTES) {
        this.#fail("frame_size");
        return chunk.length;
      }
      this.#partial = new Uint8Array(FRAME_HEADER_BYTES + size);
      this.#partial.set(this.#header);
      at = this.#fill(chunk, at);
    }
    if (this.#partialLength === this.#partial.length) {
      const whole = this.#partial;
      this.#partial = NO_BYTES;
      this.#partialLength = 0;
      this.#deliver(whole, 0, whole.length);
    }
    return at;
  }

  #fill(chunk: Uint8Array, from: number): number {
    const missing = this.#partial.length - this.#partialLength;
    const end = Math.min(chunk.length, from + missing);
    this.#partial.set(chunk.subarray(from, end), this.#partialLength);
    this.#partialLength += end - from;
    return end;
  }

  #deliver(bytes: Uint8Array, at: number, end: number): void {
    const frame = this.#frame;
    frame.type = bytes[at + 3]!;
    frame.flags = bytes[at + 4]!;
    frame.streamId = read31Bits(bytes, at + 5);
    frame.bytes = bytes;
    frame.start = at + FRAME_HEADER_BYTES;
    frame.end = end;
    this.#sink.frame(frame);
  }

  #fail(reason: "preface" | "frame_size"): void {
    this.end();
    this.#sink.unreadable(reason);
  }
}
