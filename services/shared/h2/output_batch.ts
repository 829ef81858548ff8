/**
 * Collects output before it is written, so that all answers to one read take
 * one write; and writes control frames into it.
 *
 * @module
 */

import type { BufferPool } from "../connection_memory.ts";
import { FRAME_HEADER_BYTES, FRAME_TYPE } from "./frame.ts";

/**
 * Bytes of a buffer: room for a frame of the largest size, and for many small
 * answers.
 */
export const OUTPUT_BYTES = 65_536;

const NO_BYTES = new Uint8Array(0);

/** Collects output; each piece it emits is a copy. */
export class OutputBatch {
  /** What is collected, up to `length`; undefined content after it. */
  bytes: Uint8Array = NO_BYTES;
  /** How much is collected. */
  length = 0;
  readonly #pool: BufferPool;
  readonly #emit: (bytes: Uint8Array) => void;

  /** Collects into buffers of `pool`; `emit` gets what is collected. */
  constructor(pool: BufferPool, emit: (bytes: Uint8Array) => void) {
    this.#pool = pool;
    this.#emit = emit;
  }

  /** Makes room for `size` bytes, at most 64 KiB, after `length`. */
  reserve(size: number): void {
    if (this.bytes.length - this.length < size) this.#makeRoom();
  }

  /** Appends `bytes`, for which there is room. */
  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Appends a 32-bit number, for which there is room. */
  append32Bits(value: number): void {
    const { bytes, length } = this;
    bytes[length] = value >>> 24;
    bytes[length + 1] = value >>> 16;
    bytes[length + 2] = value >>> 8;
    bytes[length + 3] = value;
    this.length = length + 4;
  }

  /** Hands on what is collected and gives the buffer back. */
  flush(): void {
    if (this.bytes === NO_BYTES) return;
    const buffer = this.bytes;
    const collected = buffer.slice(0, this.length);
    this.bytes = NO_BYTES;
    this.length = 0;
    this.#pool.give(buffer);
    if (collected.length > 0) this.#emit(collected);
  }

  #makeRoom(): void {
    this.flush();
    this.bytes = this.#pool.take();
  }
}

/** What stands in the header of a frame. */
interface FrameHeader {
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

/** Writes RST_STREAM, which ends a stream in both directions. */
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

/**
 * Writes GOAWAY: the last stream that is answered, and why the connection ends,
 * as a code and as text for those who debug the peer.
 */
export function writeGoaway(
  output: OutputBatch,
  lastStreamId: number,
  { code, reason }: { readonly code: number; readonly reason: string },
): void {
  const words = new TextEncoder().encode(reason);
  const payload = new Uint8Array(8 + words.length);
  const view = new DataView(payload.buffer);
  view.setUint32(0, lastStreamId);
  view.setUint32(4, code);
  payload.set(words, 8);
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
