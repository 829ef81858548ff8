/**
 * Builds calls of `ShouldRateLimit` as the bytes of HTTP/2, written by hand, so
 * that no code of the service takes part in its own measurement (RFC 9113, RFC
 * 7541).
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { encodeRateLimitRequest } from "../../../proto/rate_limit_request.ts";
import {
  FLAG,
  FRAME_TYPE,
  PREFACE,
} from "../../../services/shared/h2/frame.ts";

/** What the calls of a load look like. */
export interface CallShape {
  /**
   * How many values of the first descriptor the calls cycle through; 1 for
   * always the same value.
   */
  readonly values: number;
  /** Number of descriptors in a call. */
  readonly descriptors: number;
  /**
   * Whether each call has a request header whose value differs from that of
   * every other call.
   */
  readonly isHeaderNew: boolean;
}

/** Makes the bytes of calls, each call on an HTTP/2 stream of its own. */
export interface CallFrames {
  /**
   * Length of a call in bytes; the first call is longer, as it fills the header
   * table.
   */
  readonly bytes: number;
  /**
   * Returns the bytes of the next `count` calls. They are valid until the next
   * call of this function, which reuses the buffer.
   */
  next(count: number): Uint8Array;
}

const ENCODER = new TextEncoder();
const AUTHORITY = "ratelimit.test";
/** The HTTP/2 `:path` of the method. */
export const CALL_PATH =
  "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/**
 * What a client sends first: the preface, empty settings, and a flow-control
 * window large enough for all answers.
 */
export const CLIENT_HELLO: Uint8Array = Buffer.concat([
  ENCODER.encode(PREFACE),
  frame(FRAME_TYPE.SETTINGS, { stream: 0, payload: [] }),
  frame(FRAME_TYPE.WINDOW_UPDATE, {
    ...{ stream: 0, payload: [0x7f, 0xfe, 0xff, 0xff] },
  }),
]);

/**
 * Number of digits of the changing descriptor value and of the changing header.
 */
const DIGITS = 9;
const NEW_HEADER = "x-request-id";
/** `:method: POST` and `:scheme: http` of the static header table. */
const STATIC_FIELDS = [0x83, 0x86];

/**
 * The message of a call: one descriptor with the changing value, then pairs
 * that are always the same.
 */
export function callMessage(
  { descriptors }: Pick<CallShape, "descriptors">,
  value: number,
): Uint8Array<ArrayBuffer> {
  const pair = [
    { key: "path", value: "/api/v1/items" },
    { key: "method", value: "GET" },
  ];
  const first = [{ key: "remote_address", value: digits(value) }];
  return encodeRateLimitRequest({
    domain: "bench",
    descriptors: Array.from({ length: descriptors }, (_, index) => ({
      entries: index === 0 ? first : pair,
    })),
  });
}

/** Builds the frames of calls of a shape. */
export function callFrames(shape: CallShape): CallFrames {
  const first = callBytes(shape, [
    ...STATIC_FIELDS,
    ...literal(0x44, CALL_PATH),
    ...literal(0x41, AUTHORITY),
    ...literal(0x5f, "application/grpc"),
    0x40,
    ...text("te"),
    ...text("trailers"),
  ]);
  // Later calls refer to the header fields that the first call put into the
  // dynamic table; the table lists the newest field first.
  const later = callBytes(shape, [...STATIC_FIELDS, 0xc1, 0xc0, 0xbf, 0xbe]);
  let room = new Uint8Array();
  let stream = 1;
  let number = 0;
  return {
    bytes: later.bytes.length,
    next(count) {
      const isFirst = stream === 1;
      const length = count * later.bytes.length +
        (isFirst ? first.bytes.length - later.bytes.length : 0);
      if (room.length < length) room = new Uint8Array(length);
      const view = new DataView(room.buffer);
      let at = 0;
      for (let left = count; left > 0; left--) {
        const call = stream === 1 ? first : later;
        room.set(call.bytes, at);
        for (const streamAt of call.streamsAt) {
          view.setUint32(at + streamAt, stream);
        }
        if (shape.values > 1) {
          writeDigits(room, at + call.valueAt, number % shape.values);
        }
        if (call.headerAt !== undefined) {
          writeDigits(room, at + call.headerAt, number);
        }
        number++;
        stream += 2;
        at += call.bytes.length;
      }
      return room.subarray(0, length);
    },
  };
}

/**
 * The bytes of one call, and the offsets in them that differ from call to call.
 */
interface Call {
  readonly bytes: Uint8Array;
  readonly streamsAt: readonly number[];
  readonly valueAt: number;
  readonly headerAt: number | undefined;
}

function callBytes(shape: CallShape, fields: readonly number[]): Call {
  // The header is encoded without being added to the table, as clients do with
  // a field that they don't expect to repeat.
  const changing = shape.isHeaderNew
    ? [0x00, ...text(NEW_HEADER), ...text(digits(0))]
    : [];
  const head = frame(FRAME_TYPE.HEADERS, {
    ...{
      flags: FLAG.END_HEADERS,
      stream: 1,
      payload: [...fields, ...changing],
    },
  });
  const message = callMessage(shape, 0);
  const body = new Uint8Array(5 + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, 5);
  const data = frame(FRAME_TYPE.DATA, {
    ...{ flags: FLAG.END_STREAM, stream: 1, payload: body },
  });
  return {
    bytes: Buffer.concat([head, data]),
    streamsAt: [5, head.length + 5],
    valueAt: head.length + data.indexOf(digits(0)),
    headerAt: shape.isHeaderNew ? head.length - DIGITS : undefined,
  };
}

function frame(
  type: number,
  { flags = 0, stream, payload }: {
    readonly flags?: number;
    readonly stream: number;
    readonly payload: ArrayLike<number>;
  },
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt32BE(payload.length << 8 | type);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Uint8Array.from(payload)]);
}

/**
 * A header field whose name is in the static table and whose value is added to
 * the dynamic table.
 */
function literal(name: number, value: string): readonly number[] {
  return [name, ...text(value)];
}

/** Encodes a string of fewer than 127 bytes, without Huffman coding. */
function text(value: string): readonly number[] {
  const bytes = ENCODER.encode(value);
  return [bytes.length, ...bytes];
}

function digits(value: number): string {
  return String(value).padStart(DIGITS, "0");
}

function writeDigits(bytes: Uint8Array, at: number, value: number): void {
  let left = value;
  for (let place = at + DIGITS - 1; place >= at; place--) {
    bytes[place] = 0x30 + left % 10;
    left = Math.floor(left / 10);
  }
}
