/**
 * Builds HTTP/2 frames for tests, valid or not, and parses frames.
 *
 * @module
 */

import {
  FLAG,
  FRAME_TYPE,
  read31Bits,
  read32Bits,
} from "../../services/shared/h2/frame.ts";

/** A path that the server of a fake peer serves. */
export const KNOWN_PATH = "/test.Test/Known";

/** A frame that the server has sent. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Uint8Array;
}

/** Joins `parts` to one array. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(
    parts.reduce((length, part) => length + part.length, 0),
  );
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The fields of a frame to build. */
export interface FrameParts {
  readonly type: number;
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Uint8Array;
}

/** Builds a frame. */
export function buildFrame(parts: FrameParts): Uint8Array {
  const { type, flags = 0, streamId = 0, payload = new Uint8Array(0) } = parts;
  const header = new Uint8Array(9);
  const view = new DataView(header.buffer);
  view.setUint32(0, payload.length << 8 | type);
  view.setUint8(4, flags);
  view.setUint32(5, streamId);
  return concat(header, payload);
}

/**
 * The bytes with which a client starts a connection (RFC 9113, section 3.4).
 */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Builds the preface and a SETTINGS frame with these values. */
export function hello(
  settings: readonly (readonly [id: number, value: number])[] = [],
): Uint8Array {
  return concat(new TextEncoder().encode(PREFACE), settingsFrame(settings));
}

/** Builds a SETTINGS frame. */
export function settingsFrame(
  settings: readonly (readonly [id: number, value: number])[],
): Uint8Array {
  const payload = new Uint8Array(settings.length * 6);
  const view = new DataView(payload.buffer);
  for (const [index, [id, value]] of settings.entries()) {
    view.setUint16(index * 6, id);
    view.setUint32(index * 6 + 2, value);
  }
  return buildFrame({ type: FRAME_TYPE.SETTINGS, payload });
}

/**
 * Returns the header fields of a valid request, with `changes` made to them;
 * `undefined` removes a field.
 */
export function requestFields(
  changes: Readonly<Record<string, string | undefined>> = {},
): (readonly [name: string, value: string])[] {
  const fields = {
    ":method": "POST",
    ":scheme": "http",
    ":path": KNOWN_PATH,
    ":authority": "test",
    "content-type": "application/grpc",
    "te": "trailers",
    ...changes,
  };
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const]
  );
}

/** Encodes header fields as literals, without the tables. */
export function encodeHeaderBlock(
  fields: readonly (readonly [name: string, value: string])[],
): Uint8Array {
  const text = (value: string): Uint8Array => {
    const bytes = Uint8Array.from(value, (char) => char.charCodeAt(0));
    const { length } = bytes;
    if (length < 127) return concat(Uint8Array.of(length), bytes);
    const rest = length - 127;
    return concat(
      rest < 128 ? Uint8Array.of(127, rest) : Uint8Array.of(
        127,
        rest & 127 | 128,
        rest >> 7 & 127 | 128,
        rest >> 14,
      ),
      bytes,
    );
  };
  return concat(...fields.flatMap(([name, value]) => [
    Uint8Array.of(0),
    text(name),
    text(value),
  ]));
}

/** Builds a HEADERS frame. */
export function headersFrame(
  streamId: number,
  fields: readonly (readonly [name: string, value: string])[] = requestFields(),
  flags: number = FLAG.END_HEADERS,
): Uint8Array {
  const payload = encodeHeaderBlock(fields);
  return buildFrame({ type: FRAME_TYPE.HEADERS, flags, streamId, payload });
}

/** Builds a DATA frame. */
export function dataFrame(
  streamId: number,
  payload: Uint8Array,
  flags: number = FLAG.END_STREAM,
): Uint8Array {
  return buildFrame({ type: FRAME_TYPE.DATA, flags, streamId, payload });
}

/** Returns a gRPC message with its length prefix. */
export function encodeMessage(message: Uint8Array, flag = 0): Uint8Array {
  const prefix = new Uint8Array(5);
  prefix[0] = flag;
  new DataView(prefix.buffer).setUint32(1, message.length);
  return concat(prefix, message);
}

/** Builds a request of a HEADERS and a DATA frame. */
export function buildRequest(
  streamId: number,
  message: Uint8Array = Uint8Array.of(1, 2, 3),
): Uint8Array {
  return concat(
    headersFrame(streamId),
    dataFrame(streamId, encodeMessage(message)),
  );
}

/** Builds a WINDOW_UPDATE frame. */
export function windowUpdate(streamId: number, bytes: number): Uint8Array {
  return numberFrame(FRAME_TYPE.WINDOW_UPDATE, streamId, bytes);
}

/** Builds an RST_STREAM frame. */
export function resetFrame(streamId: number, code = 8): Uint8Array {
  return numberFrame(FRAME_TYPE.RST_STREAM, streamId, code);
}

/** Builds a PING frame. */
export function pingFrame(
  payload: Uint8Array = new Uint8Array(8),
  flags = 0,
): Uint8Array {
  return buildFrame({ type: FRAME_TYPE.PING, flags, payload });
}

/** Splits bytes from a server into frames. */
export function splitFrames(bytes: Uint8Array): ReceivedFrame[] {
  const frames: ReceivedFrame[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = read32Bits(bytes, at) >>> 8;
    const end = at + 9 + length;
    if (end > bytes.length) throw new Error("Cannot cut: a frame is not whole");
    frames.push({
      type: bytes[at + 3]!,
      flags: bytes[at + 4]!,
      streamId: read31Bits(bytes, at + 5),
      payload: bytes.slice(at + 9, end),
    });
    at = end;
  }
  return frames;
}

function numberFrame(
  type: number,
  streamId: number,
  value: number,
): Uint8Array {
  const payload = new Uint8Array(4);
  new DataView(payload.buffer).setUint32(0, value);
  return buildFrame({ type, streamId, payload });
}
