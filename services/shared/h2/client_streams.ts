/**
 * The open streams of a client's connection: assigns received frames to them,
 * keeps their windows, and ends each of them once.
 *
 * @module
 */

import type { ClientSender } from "./client_sender.ts";
import {
  ClientStream,
  type StreamListener,
  type StreamLoss,
} from "./client_stream.ts";
import {
  DEFAULT_WINDOW_BYTES,
  FLAG,
  type Frame,
  H2_ERROR,
  type H2ErrorCode,
  MAX_31_BITS,
} from "./frame.ts";
import { isGrpc, type ResponseHead } from "./response_head.ts";

/** What the streams of a connection have in common. */
interface ClientStreamsHost {
  /** Writes to the server. */
  readonly sender: ClientSender;
  /** Largest message that is received, in bytes. */
  readonly maxMessageBytes: number;
  /** Whether the connection has ended, so that nothing more is sent. */
  readonly isOver: boolean;
  /** Ends the connection with an error. */
  fail(code: H2ErrorCode, reason: string): void;
  /** Allows one more frame without use, since a response has come. */
  earn(): void;
  /** No stream is open any longer. */
  emptied(): void;
}

/** The windows and the largest headers the client announces, in bytes. */
export const CLIENT_ROOM = {
  /** What the server may send on a stream before it must wait. */
  streamWindowBytes: 262_144,
  /** What the server may send on all streams before it must wait. */
  connectionWindowBytes: 1_048_576,
  /** Size of all fields of one header block (RFC 9113, section 6.5.2). */
  maxHeaderListBytes: 65_536,
} as const;

const LAST_STREAM_ID = MAX_31_BITS - 2;

/** Streams by number. */
export class ClientStreams {
  readonly #host: ClientStreamsHost;
  readonly #streams = new Map<number, ClientStream>();
  #nextId = 1;
  /** The send window of a new stream, which the server's settings change. */
  #peerWindowBytes = DEFAULT_WINDOW_BYTES;

  /** No stream has been opened. */
  constructor(host: ClientStreamsHost) {
    this.#host = host;
  }

  /** Number of open streams. */
  get count(): number {
    return this.#streams.size;
  }

  /** Whether all stream identifiers have been used. */
  get isSpent(): boolean {
    return this.#nextId > LAST_STREAM_ID;
  }

  /** The open streams; streams may be closed during the iteration. */
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

  /** Applies a new initial window of the server, also to open streams. */
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
    const stream = this.#findStream(streamId);
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
    const stream = this.#findStream(streamId);
    if (stream === undefined) return;
    stream.sendWindow += more;
    if (more === 0 || stream.sendWindow > MAX_31_BITS) {
      this.#break(stream, H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
    } else sender.pump(stream);
  }

  /** Data has come for a stream, which uses `flowBytes` of its window. */
  data(frame: Frame, flowBytes: number): void {
    const stream = this.#findStream(frame.streamId);
    if (stream === undefined) return;
    stream.receiveWindow -= flowBytes;
    stream.unreturnedBytes += flowBytes;
    if (stream.receiveWindow < 0) {
      const code = H2_ERROR.FLOW_CONTROL_ERROR;
      return this.#break(stream, code, "too much data");
    }
    if (stream.head === undefined) {
      const code = H2_ERROR.PROTOCOL_ERROR;
      return this.#break(stream, code, "data before headers");
    }
    const loss = stream.data(frame);
    if (loss !== undefined) {
      this.reset(stream, H2_ERROR.CANCEL);
      return stream.listener.lost(loss);
    }
    if (stream.isClosed) return;
    if ((frame.flags & FLAG.END_STREAM) === 0) return this.returnRoom(stream);
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
    const stream = this.#findStream(streamId);
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

  /** Ends a stream without telling the server, and tells the listener why. */
  lose(stream: ClientStream, loss: StreamLoss): void {
    this.#forget(stream);
    stream.listener.lost(loss);
  }

  /** Returns window to the server, once half of it has been used. */
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
      // The final headers are still to come.
    } else if (isGrpc(head.contentType)) {
      stream.head = head;
      this.#host.earn();
    } else {
      // Not gRPC, such as an error page of a proxy: its HTTP status is enough.
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
    this.#host.earn();
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

  /**
   * Finds the stream of a frame; undefined when it is not open. Late frames of
   * an ended stream are allowed, those of a stream never opened are an error.
   */
  #findStream(streamId: number): ClientStream | undefined {
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

/** Whether these are interim headers, status 1xx (RFC 9110, section 15.2). */
function isInformational({ status }: ResponseHead): boolean {
  return status?.startsWith("1") ?? false;
}
