/**
 * What a frame of HTTP/2 is made of (RFC 9113, sections 4 and 6).
 *
 * @module
 */

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
 * The largest payload an endpoint must take, and the largest this one takes:
 * larger frames would only make the answers to others wait longer.
 */
export const MAX_FRAME_BYTES = 16_384;

/** What a client says first (RFC 9113, section 3.4). */
export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** The largest flow-control window, and the largest stream identifier. */
export const MAX_31_BITS = 0x7fff_ffff;

/** The window both sides begin with. */
export const DEFAULT_WINDOW_BYTES = 65_535;

/** A received frame. One object is used for all frames of a connection. */
export interface Frame {
  /** One of {@linkcode FRAME_TYPE}, or a type that is not known. */
  type: number;
  /** Bits of {@linkcode FLAG}. */
  flags: number;
  /** The stream it belongs to; 0 for the connection. */
  streamId: number;
  /** Holds the payload from `start` up to, not including, `end`. */
  bytes: Uint8Array;
  /** Where the payload begins. */
  start: number;
  /** Where the payload ends. */
  end: number;
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
