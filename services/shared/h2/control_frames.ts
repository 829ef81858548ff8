/**
 * Writes the frames that carry no answer (RFC 9113, section 6).
 *
 * @module
 */

import { FRAME_HEADER_BYTES, FRAME_TYPE } from "./frame.ts";
import type { OutputBatch } from "./output_batch.ts";

/** What stands in the header of a frame. */
export interface FrameHeader {
  /** One of {@linkcode FRAME_TYPE}. */
  readonly type: number;
  /** Its flags. */
  readonly flags?: number;
  /** The stream; 0 for the connection. */
  readonly streamId: number;
}

/** A frame with a payload of at most 32 KiB. */
export function writeFrame(
  output: OutputBatch,
  payload: Uint8Array,
  header: FrameHeader,
): void {
  output.reserve(FRAME_HEADER_BYTES + payload.length);
  output.append32Bits(payload.length << 8 | header.type);
  output.bytes[output.length++] = header.flags ?? 0;
  output.append32Bits(header.streamId);
  output.append(payload);
}

/** Ends a stream with an error, or what the peer still sends on it. */
export function writeReset(
  output: OutputBatch,
  streamId: number,
  code: number,
): void {
  writeNumber(output, code, { type: FRAME_TYPE.RST_STREAM, streamId });
}

/** Lets the peer send `bytes` more. */
export function writeWindowUpdate(
  output: OutputBatch,
  streamId: number,
  bytes: number,
): void {
  writeNumber(output, bytes, { type: FRAME_TYPE.WINDOW_UPDATE, streamId });
}

/** What stands in a GOAWAY. */
export interface Goaway {
  /** The last stream that is answered. */
  readonly lastStreamId: number;
  /** Why the connection ends. */
  readonly code: number;
  /** The same in words, for who debugs the peer. */
  readonly reason?: string;
}

/** Tells the peer which streams are the last. */
export function writeGoaway(output: OutputBatch, goaway: Goaway): void {
  const reason = new TextEncoder().encode(goaway.reason ?? "");
  const payload = new Uint8Array(8 + reason.length);
  const view = new DataView(payload.buffer);
  view.setUint32(0, goaway.lastStreamId);
  view.setUint32(4, goaway.code);
  payload.set(reason, 8);
  writeFrame(output, payload, { type: FRAME_TYPE.GOAWAY, streamId: 0 });
}

function writeNumber(
  output: OutputBatch,
  value: number,
  header: FrameHeader,
): void {
  output.reserve(FRAME_HEADER_BYTES + 4);
  output.append32Bits(4 << 8 | header.type);
  output.bytes[output.length++] = 0;
  output.append32Bits(header.streamId);
  output.append32Bits(value);
}
