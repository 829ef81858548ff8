/**
 * The open streams of a client's connection: what comes for them, the windows
 * on both sides, and the one end that each of them has.
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import type { ClientReceiver } from "./client_receiver.ts";
import type { ClientSender } from "./client_sender.ts";
import {
  ClientStream,
  type StreamListener,
  type StreamLoss,
} from "./client_stream.ts";
import {
  DEFAULT_WINDOW_BYTES,
  H2_ERROR,
  type H2ErrorCode,
  MAX_31_BITS,
} from "./frame.ts";
import { isGrpc, type ResponseHead } from "./response_head.ts";

/** What the streams of a connection have in common. */
interface ClientStreamsHost {
  /** Writes to the server. */
  readonly sender: ClientSender;
  /** Counts what the server may cost. */
  readonly receiver: Pick<ClientReceiver, "earn">;
  /** Largest message that is taken. */
  readonly maxMessageBytes: number;
  /** Whether nothing more is sent. */
  readonly isOver: boolean;
  /** The connection can't go on. */
  fail(code: H2ErrorCode, reason: string): void;
  /** No stream is open any longer. */
  emptied(): void;
}

/** What the server may send, and the largest headers that are taken. */
export const CLIENT_ROOM = {
  /** On a stream, before it has to wait. */
  streamWindowBytes: 262_144,
  /** On all streams. */
  connectionWindowBytes: 1_048_576,
  /** All fields of one block. */
  maxHeaderListBytes: 65_536,
} as const;

const LAST_STREAM_ID = MAX_31_BITS - 2;

/** Streams by number. */
export class ClientStreams {
  readonly #host: ClientStreamsHost;
  readonly #streams = new Map<number, ClientStream>();
  #nextId = 1;
  /** What a stream begins with, of what the server takes. */
  #peerWindowBytes = DEFAULT_WINDOW_BYTES;
  #receivedBytes = 0;

  /** No stream has been opened. */
  constructor(host: ClientStreamsHost) {
    this.#host = host;
  }

  /** Number of open streams. */
  get count(): number {
    return this.#streams.size;
  }

  /** Whether all numbers have been used. */
  get isSpent(): boolean {
    return this.#nextId > LAST_STREAM_ID;
  }

  /** The open streams; closing some meanwhile does no harm. */
  [Symbol.iterator](): Iterator<ClientStream> {
    return this.#streams.values();
  }

  /** Opens a stream with its encoded headers. */
  open(block: Uint8Array, listener: StreamListener): ClientStream {
    const stream = new ClientStream({
      id: this.#nextId,
      listener,
      sendWindow: this.#peerWindowBytes,
      receiveWindow: CLIENT_ROOM.streamWindowBytes,
      maxMessageBytes: this.#host.maxMessageBytes,
    });
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.#host.sender.headers(stream.id, block);
    return stream;
  }

  /** The server wants streams to begin with another window. */
  resize(windowBytes: number): void {
    const more = windowBytes - this.#peerWindowBytes;
    this.#peerWindowBytes = windowBytes;
    for (const stream of this.#streams.values()) {
      stream.sendWindow += more;
      if (stream.sendWindow > MAX_31_BITS) return this.#wrongWindow();
    }
  }

  /** The server has ended a stream. */
  wasReset(streamId: number, code: number): void {
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    this.lose(
      stream,
      code === H2_ERROR.REFUSED_STREAM
        ? { kind: "unprocessed", reason: "the server refused the stream" }
        : { kind: "reset", code },
    );
  }

  /** The server has room for more bytes, on a stream or on all (0). */
  widen(streamId: number, more: number): void {
    const { sender } = this.#host;
    if (streamId === 0) {
      return sender.widen(more) ? sender.pumpAll() : this.#wrongWindow();
    }
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    stream.sendWindow += more;
    if (more === 0 || stream.sendWindow > MAX_31_BITS) {
      this.#break(stream, H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
    } else sender.pump(stream);
  }

  /** Data has come for a stream. */
  data(
    streamId: number,
    { content, flowBytes, isLast }: {
      readonly content: ByteSpan | undefined;
      readonly flowBytes: number;
      readonly isLast: boolean;
    },
  ): void {
    this.#receivedBytes += flowBytes;
    // Streams have windows of their own: one that waits must not hold others.
    if (this.#receivedBytes >= CLIENT_ROOM.connectionWindowBytes / 2) {
      this.#host.sender.returnRoom(0, this.#receivedBytes);
      this.#receivedBytes = 0;
    }
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    stream.receiveWindow -= flowBytes;
    stream.unreturnedBytes += flowBytes;
    if (stream.receiveWindow < 0) {
      const code = H2_ERROR.FLOW_CONTROL_ERROR;
      return this.#break(stream, code, "too much data");
    }
    if (content === undefined) {
      return this.#host.fail(H2_ERROR.PROTOCOL_ERROR, "padding is wrong");
    }
    if (stream.head === undefined) {
      const code = H2_ERROR.PROTOCOL_ERROR;
      return this.#break(stream, code, "data before headers");
    }
    const loss = stream.data(content);
    if (loss !== undefined) {
      this.reset(stream, H2_ERROR.CANCEL);
      return stream.listener.lost(loss);
    }
    if (stream.isClosed) return;
    if (!isLast) return this.returnRoom(stream);
    // The status is in trailers, or in headers that nothing follows.
    const { head } = stream;
    this.#finish(stream, {
      ...head,
      grpcStatus: undefined,
      grpcMessage: undefined,
    });
  }

  /** Headers have come for a stream. */
  head(
    streamId: number,
    { head, isLast }: { readonly head: ResponseHead; readonly isLast: boolean },
  ): void {
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    if (head.sizeBytes > CLIENT_ROOM.maxHeaderListBytes) {
      this.#break(stream, H2_ERROR.CANCEL, "its headers are too large");
    } else if (stream.head === undefined) {
      this.#firstHead(stream, { head, isLast });
    } else if (isLast) {
      // Trailers have no HTTP status; that of the headers goes with them.
      const { status, contentType } = stream.head;
      this.#finish(stream, { ...head, status, contentType });
    } else {
      this.#break(stream, H2_ERROR.PROTOCOL_ERROR, "headers within data");
    }
  }

  /** Ends a stream, and tells the server. */
  reset(stream: ClientStream, code: H2ErrorCode): void {
    if (!this.#host.isOver) this.#host.sender.reset(stream.id, code);
    this.#forget(stream);
  }

  /** Ends a stream that the server has ended, or will never end. */
  lose(stream: ClientStream, loss: StreamLoss): void {
    this.#forget(stream);
    stream.listener.lost(loss);
  }

  /** Gives room back for what the caller has taken, some at a time. */
  returnRoom(stream: ClientStream): void {
    if (stream.isClosed || stream.isHeldBack) return;
    const { unreturnedBytes } = stream;
    if (unreturnedBytes < CLIENT_ROOM.streamWindowBytes / 2) return;
    stream.unreturnedBytes = 0;
    stream.receiveWindow += unreturnedBytes;
    this.#host.sender.returnRoom(stream.id, unreturnedBytes);
  }

  #firstHead(
    stream: ClientStream,
    { head, isLast }: { readonly head: ResponseHead; readonly isLast: boolean },
  ): void {
    if (head.status === undefined) {
      this.#break(stream, H2_ERROR.PROTOCOL_ERROR, "no status in headers");
    } else if (isLast) {
      this.#finish(stream, head);
    } else if (isInformational(head)) {
      // The answer is still to come.
    } else if (isGrpc(head.contentType)) {
      stream.head = head;
      this.#host.receiver.earn(1);
    } else {
      // The page of a proxy, whose status says what is to be known.
      this.reset(stream, H2_ERROR.CANCEL);
      stream.listener.ended({ ...head, grpcStatus: undefined });
    }
  }

  #finish(stream: ClientStream, head: ResponseHead): void {
    if (stream.isWithinMessage) {
      this.#break(stream, H2_ERROR.CANCEL, "a message was cut short");
      return;
    }
    // The server needs nothing more of us; RFC 9113, section 8.1.
    if (!stream.isEndSent) {
      this.#host.sender.reset(stream.id, H2_ERROR.NO_ERROR);
    }
    this.#host.receiver.earn(1);
    this.#forget(stream);
    stream.listener.ended(head);
  }

  #break(stream: ClientStream, code: H2ErrorCode, reason: string): void {
    this.reset(stream, code);
    stream.listener.lost({ kind: "broken", reason });
  }

  #forget(stream: ClientStream): void {
    stream.isClosed = true;
    this.#streams.delete(stream.id);
    for (const { sent } of stream.outgoing) sent();
    stream.outgoing.length = 0;
    if (this.#streams.size === 0) this.#host.emptied();
  }

  /** A stream that has ended may still be spoken of; one to come may not. */
  #streamOf(streamId: number): ClientStream | undefined {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      const wasOpen = streamId % 2 === 1 && streamId < this.#nextId;
      if (!wasOpen) {
        this.#host.fail(
          H2_ERROR.PROTOCOL_ERROR,
          "a frame of a stream that was not opened",
        );
      }
    }
    return stream;
  }

  #wrongWindow(): void {
    this.#host.fail(H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
  }
}

/** Headers that come before those of the answer (RFC 9110, section 15.2). */
function isInformational({ status }: ResponseHead): boolean {
  return status?.startsWith("1") ?? false;
}
