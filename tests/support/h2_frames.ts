/**
 * Frames of HTTP/2 for tests: made, rules broken as one likes, and read.
 *
 * @module
 */

import {
  FLAG,
  FRAME_TYPE,
  read31Bits,
  read32Bits,
} from "../../services/shared/h2/frame.ts";

/** A path the server of a peer knows. */
export const KNOWN_PATH = "/test.Test/Known";

/** A frame as it came from the server. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Uint8Array;
}

/** One array of all `parts`. */
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

/** What stands in the header of a frame that is made. */
export interface FrameParts {
  readonly type: number;
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Uint8Array;
}

/** A frame. */
export function frameOf(parts: FrameParts): Uint8Array {
  const { type, flags = 0, streamId = 0, payload = new Uint8Array(0) } = parts;
  const header = new Uint8Array(9);
  const view = new DataView(header.buffer);
  view.setUint32(0, payload.length << 8 | type);
  view.setUint8(4, flags);
  view.setUint32(5, streamId);
  return concat(header, payload);
}

/** What a client says first (RFC 9113, section 3.4). */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** The preface and SETTINGS with these values. */
export function hello(
  settings: readonly (readonly [id: number, value: number])[] = [],
): Uint8Array {
  return concat(new TextEncoder().encode(PREFACE), settingsFrame(settings));
}

/** A SETTINGS frame. */
export function settingsFrame(
  settings: readonly (readonly [id: number, value: number])[],
): Uint8Array {
  const payload = new Uint8Array(settings.length * 6);
  const view = new DataView(payload.buffer);
  for (const [index, [id, value]] of settings.entries()) {
    view.setUint16(index * 6, id);
    view.setUint32(index * 6 + 2, value);
  }
  return frameOf({ type: FRAME_TYPE.SETTINGS, payload });
}

/** Headers of a request that can be answered, but for `changes`. */
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

/** A block of literal fields. */
export function blockOf(
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

/** HEADERS in one frame. */
export function headersFrame(
  streamId: number,
  fields: readonly (readonly [name: string, value: string])[] = requestFields(),
  flags: number = FLAG.END_HEADERS,
): Uint8Array {
  const payload = blockOf(fields);
  return frameOf({ type: FRAME_TYPE.HEADERS, flags, streamId, payload });
}

/** DATA. */
export function dataFrame(
  streamId: number,
  payload: Uint8Array,
  flags: number = FLAG.END_STREAM,
): Uint8Array {
  return frameOf({ type: FRAME_TYPE.DATA, flags, streamId, payload });
}

/** A message with its prefix. */
export function messageOf(message: Uint8Array, flag = 0): Uint8Array {
  const prefix = new Uint8Array(5);
  prefix[0] = flag;
  new DataView(prefix.buffer).setUint32(1, message.length);
  return concat(prefix, message);
}

/** A request in two frames. */
export function requestOf(
  streamId: number,
  message: Uint8Array = Uint8Array.of(1, 2, 3),
): Uint8Array {
  return concat(
    headersFrame(streamId),
    dataFrame(streamId, messageOf(message)),
  );
}

/** WINDOW_UPDATE. */
export function windowUpdate(streamId: number, bytes: number): Uint8Array {
  return numberFrame(FRAME_TYPE.WINDOW_UPDATE, streamId, bytes);
}

/** RST_STREAM. */
export function resetFrame(streamId: number, code = 8): Uint8Array {
  return numberFrame(FRAME_TYPE.RST_STREAM, streamId, code);
}

/** PING. */
export function pingFrame(
  payload: Uint8Array = new Uint8Array(8),
  flags = 0,
): Uint8Array {
  return frameOf({ type: FRAME_TYPE.PING, flags, payload });
}

/** Cuts what a server has sent into frames. */
export function framesOf(bytes: Uint8Array): ReceivedFrame[] {
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
  return frameOf({ type, streamId, payload });
}
