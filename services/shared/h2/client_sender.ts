/**
 * What a client says to its server: frames in batches, and messages as far as
 * the windows of the stream, of the connection and of the way have room.
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

/** What is told while messages are sent. */
interface ClientSenderHost {
  /** The streams that may have messages. */
  readonly streams: Iterable<ClientStream>;
  /** A frame with data has been written. */
  sentData(): void;
  /** The server takes nothing, and too much waits. */
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

  /** Says the first words of a client, and what the server may send at first. */
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

  /** Says that the server's settings are in force. */
  acknowledgeSettings(): void {
    const type = FRAME_TYPE.SETTINGS;
    writeFrame(this.#output, NO_BYTES, { type, flags: FLAG.ACK, streamId: 0 });
  }

  /** Asks the server whether it is there, or answers that question. */
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

  /** Lets the server send more, on a stream or on all (0). */
  returnRoom(streamId: number, bytes: number): void {
    writeWindowUpdate(this.#output, streamId, bytes);
  }

  /** Ends a stream. */
  reset(streamId: number, code: number): void {
    writeReset(this.#output, streamId, code);
  }

  /** Says why the connection ends. */
  goaway(code: number, reason: string): void {
    writeGoaway(this.#output, 0, { code, reason });
  }

  /**
   * Takes room that the server has given to the connection.
   *
   * @returns Whether it is as much as there may be.
   */
  widen(bytes: number): boolean {
    this.#window += bytes;
    return bytes > 0 && this.#window <= MAX_31_BITS;
  }

  /** Sends what waits in all streams, as far as there is room. */
  pumpAll(): void {
    for (const stream of this.#host.streams) this.pump(stream);
  }

  /** Sends what waits in a stream, as far as there is room. */
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

  /** Everything that was written is on its way. */
  drained(): void {
    if (!this.#isCongested) return;
    this.#isCongested = false;
    this.pumpAll();
    this.flush();
  }

  /** Sends what was written. */
  flush(): void {
    this.#output.flush();
  }

  /** Sends it when this turn is over: what its calls say leaves in one write. */
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
