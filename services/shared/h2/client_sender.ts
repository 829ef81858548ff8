/**
 * Writes the HTTP/2 frames of a client: in batches, and messages only as far as
 * the windows of stream and connection and the unsent output leave room.
 *
 * @module
 */

import { BufferPool } from "../connection_memory.ts";
import type { ClientStream } from "./client_stream.ts";
import type { OutputPort } from "./connection.ts";
import {
  DEFAULT_WINDOW_BYTES,
  FLAG,
  FRAME_TYPE,
  MAX_31_BITS,
  MAX_FRAME_BYTES,
  PREFACE,
} from "./frame.ts";
import {
  OUTPUT_BYTES,
  OutputBatch,
  writeFrame,
  writeGoaway,
  writeReset,
  writeWindowUpdate,
} from "./output_batch.ts";
import { clientSettings } from "./peer_settings.ts";

/** What the sender needs of its connection, and tells it. */
interface ClientSenderHost {
  /** The streams that may have messages. */
  readonly streams: Iterable<ClientStream>;
  /** A frame with data has been written. */
  sentData(): void;
  /** The server reads too slowly: the unsent output exceeds its limit. */
  stuck(): void;
}

/** Unsent output at which messages wait in their streams. */
const HIGH_WATER_BYTES = 262_144;
const MAX_UNSENT_BYTES = 1_048_576;
const NO_BYTES = new Uint8Array(0);

/** Writes to the server. */
export class ClientSender {
  readonly #port: OutputPort;
  readonly #host: ClientSenderHost;
  readonly #output: OutputBatch;
  #window = DEFAULT_WINDOW_BYTES;
  #isCongested = false;
  #isFlushPlanned = false;

  /** A sender that has written nothing. */
  constructor(port: OutputPort, host: ClientSenderHost) {
    this.#port = port;
    this.#host = host;
    const pool = new BufferPool(OUTPUT_BYTES, 1);
    this.#output = new OutputBatch(pool, (bytes) => this.#write(bytes));
  }

  /** Sends the preface, the settings and the window of the connection. */
  begin(room: {
    readonly streamWindowBytes: number;
    readonly connectionWindowBytes: number;
    readonly maxHeaderListBytes: number;
  }): void {
    const output = this.#output;
    output.reserve(PREFACE.length);
    output.append(new TextEncoder().encode(PREFACE));
    writeFrame(output, clientSettings(room), {
      type: FRAME_TYPE.SETTINGS,
      streamId: 0,
    });
    this.returnRoom(0, room.connectionWindowBytes - DEFAULT_WINDOW_BYTES);
    this.flush();
  }

  /** Opens a stream with an encoded header block. */
  headers(streamId: number, block: Uint8Array): void {
    let at = 0;
    let type: number = FRAME_TYPE.HEADERS;
    do {
      const part = block.subarray(at, at + MAX_FRAME_BYTES);
      at += part.length;
      const flags = at === block.length ? FLAG.END_HEADERS : 0;
      writeFrame(this.#output, part, { type, flags, streamId });
      type = FRAME_TYPE.CONTINUATION;
    } while (at < block.length);
  }

  /** Acknowledges the settings of the server. */
  acknowledgeSettings(): void {
    const type = FRAME_TYPE.SETTINGS;
    writeFrame(this.#output, NO_BYTES, { type, flags: FLAG.ACK, streamId: 0 });
  }

  /** Sends a PING, or answers one of the server. */
  ping(
    payload: Uint8Array,
    { isAnswer }: { readonly isAnswer: boolean },
  ): void {
    const flags = isAnswer ? FLAG.ACK : 0;
    writeFrame(this.#output, payload, {
      type: FRAME_TYPE.PING,
      flags,
      streamId: 0,
    });
  }

  /** Lets the server send more bytes on a stream, or on the connection (0). */
  returnRoom(streamId: number, bytes: number): void {
    writeWindowUpdate(this.#output, streamId, bytes);
  }

  /** Ends a stream. */
  reset(streamId: number, code: number): void {
    writeReset(this.#output, streamId, code);
  }

  /** Sends GOAWAY with the error and the reason why the connection ends. */
  goaway(code: number, reason: string): void {
    writeGoaway(this.#output, 0, { code, reason });
  }

  /**
   * Adds bytes to the send window of the connection.
   *
   * @returns False when the bytes are 0 or the window exceeds the largest.
   */
  widen(bytes: number): boolean {
    this.#window += bytes;
    return bytes > 0 && this.#window <= MAX_31_BITS;
  }

  /** Sends waiting messages of all streams, as far as there is room. */
  pumpAll(): void {
    for (const stream of this.#host.streams) this.pump(stream);
  }

  /** Sends the waiting messages of a stream, as far as there is room. */
  pump(stream: ClientStream): void {
    const { outgoing } = stream;
    while (outgoing.length > 0) {
      const message = outgoing[0]!;
      const size = Math.min(
        message.bytes.length - message.at,
        stream.sendWindow,
        this.#window,
        MAX_FRAME_BYTES,
      );
      if (size <= 0 || this.#isCongested) return;
      const part = message.bytes.subarray(message.at, message.at + size);
      message.at += size;
      stream.sendWindow -= size;
      this.#window -= size;
      const isWhole = message.at === message.bytes.length;
      if (isWhole) outgoing.shift();
      stream.isEndSent = isWhole && outgoing.length === 0 &&
        stream.isSendClosed;
      this.#data(stream, part);
      if (isWhole) message.sent();
    }
    if (!stream.isSendClosed || stream.isEndSent || stream.isClosed) return;
    stream.isEndSent = true;
    this.#data(stream, NO_BYTES);
  }

  /** To be called when the port has sent everything that was written to it. */
  drained(): void {
    if (!this.#isCongested) return;
    this.#isCongested = false;
    this.pumpAll();
    this.flush();
  }

  /** Hands the collected frames to the port. */
  flush(): void {
    this.#output.flush();
  }

  /**
   * Flushes in a microtask, so that the frames of all calls made until then
   * leave in one write.
   */
  flushSoon(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    queueMicrotask(() => {
      this.#isFlushPlanned = false;
      this.flush();
    });
  }

  #data(stream: ClientStream, part: Uint8Array): void {
    writeFrame(this.#output, part, {
      type: FRAME_TYPE.DATA,
      flags: stream.isEndSent ? FLAG.END_STREAM : 0,
      streamId: stream.id,
    });
    this.#host.sentData();
  }

  #write(bytes: Uint8Array): void {
    this.#port.write(bytes);
    const { unsentBytes } = this.#port;
    if (unsentBytes <= HIGH_WATER_BYTES) return;
    this.#isCongested = true;
    if (unsentBytes > MAX_UNSENT_BYTES) this.#host.stuck();
  }
}
