/**
 * The receiving side of a connection: requests from HEADERS, CONTINUATION and
 * DATA frames (RFC 9113, sections 6.1, 6.2, 6.10 and 8).
 *
 * @module
 */

import { ByteBudget } from "../connection_memory.ts";
import type { ByteSpan } from "./byte_span.ts";
import type { ConnectionStreams } from "./connection_streams.ts";
import type { H2Engine } from "./engine.ts";
import { FLAG, type Frame, H2_ERROR, type H2ErrorCode } from "./frame.ts";
import { HeaderAssembler } from "./header_assembler.ts";
import {
  MESSAGE_PREFIX_BYTES,
  MessageIntake,
  MessageReader,
} from "./messages.ts";
import { writeReset, writeWindowUpdate } from "./output_batch.ts";
import type { StatusText } from "./response_headers.ts";
import { HEAD_STATE, HeadDecoder, type RequestHead } from "./request_head.ts";
import {
  BAD_TIMEOUT_STATUS,
  DEADLINE_STATUS,
  faultStatus,
  H2Stream,
  headersStatus,
  NO_MESSAGE_STATUS,
  UNKNOWN_METHOD_STATUS,
} from "./stream.ts";

/** Ends a connection, or counts frames against the limits of its peer. */
export interface ReceiverHost {
  /** Ends the connection with an error; always false. */
  fail(code: H2ErrorCode, reason: string): false;
  /** Counts a frame without use; false when that ended the connection. */
  countControl(): boolean;
  /** Counts a faulty or cancelled stream; false as above. */
  countReset(): boolean;
}

/** Turns frames into requests. Methods return false to stop the reading. */
export class RequestReceiver {
  /** Streams beyond this one are refused. */
  lastAcceptedId: number = Infinity;
  readonly #host: ReceiverHost;
  readonly #engine: H2Engine;
  readonly #streams: ConnectionStreams;
  readonly #heads: HeadDecoder;
  readonly #assembler: HeaderAssembler;
  readonly #budget: ByteBudget;
  readonly #headersStatus: StatusText;
  readonly #windowBytes: number;
  #window: number;

  /** A receiver that has received nothing. */
  constructor(host: ReceiverHost, streams: ConnectionStreams) {
    const { engine } = streams;
    this.#host = host;
    this.#engine = engine;
    this.#streams = streams;
    this.#heads = new HeadDecoder(engine.heads);
    this.#budget = new ByteBudget(
      engine.limits.maxBufferedBytes,
      engine.budget,
    );
    this.#assembler = new HeaderAssembler(engine.limits, this.#budget);
    this.#headersStatus = headersStatus(engine.limits.maxHeaderListBytes);
    this.#windowBytes = engine.limits.connectionWindowBytes;
    this.#window = this.#windowBytes;
  }

  /** The stream whose header block has begun and not ended; 0 when none. */
  get openBlockId(): number {
    return this.#assembler.streamId;
  }

  /** Drops a header block that has not ended, with the connection. */
  end(): void {
    this.#assembler.end();
  }

  /** Takes a HEADERS frame. */
  headers(frame: Frame): boolean {
    const { flags, streamId } = frame;
    if (streamId === 0) return this.#protocolError("HEADERS on stream 0");
    if (!unpad(frame)) return this.#protocolError("padding is too long");
    if ((flags & FLAG.PRIORITY) !== 0) {
      frame.start += 5;
      if (frame.start > frame.end) {
        return this.#host.fail(H2_ERROR.FRAME_SIZE_ERROR, "HEADERS too short");
      }
    }
    const endsStream = (flags & FLAG.END_STREAM) !== 0;
    if ((flags & FLAG.END_HEADERS) !== 0) {
      return this.#block(frame, streamId, endsStream);
    }
    return this.#assembler.begin(frame, streamId, endsStream) ||
      this.#tooManyHeaders();
  }

  /** Takes a CONTINUATION frame. */
  continuation(frame: Frame): boolean {
    const { streamId, endsStream } = this.#assembler;
    if (streamId === 0 || frame.streamId !== streamId) {
      return this.#protocolError("CONTINUATION without HEADERS");
    }
    if (!this.#assembler.append(frame)) return this.#tooManyHeaders();
    if ((frame.flags & FLAG.END_HEADERS) === 0) return true;
    return this.#block(this.#assembler.end(), streamId, endsStream);
  }

  /** Takes a DATA frame. */
  data(frame: Frame): boolean {
    const { streamId } = frame;
    if (streamId === 0) return this.#protocolError("DATA on stream 0");
    const length = frame.end - frame.start;
    if (!this.#receive(length)) return false;
    const stream = this.#streams.table.get(streamId);
    if (stream === undefined) return this.#dataOfClosed(streamId);
    if (stream.isRemoteClosed) {
      this.#streams.fail(stream, H2_ERROR.STREAM_CLOSED);
      return this.#host.countReset();
    }
    if (!unpad(frame)) return this.#protocolError("padding is too long");
    const endsStream = (frame.flags & FLAG.END_STREAM) !== 0;
    if (frame.start === frame.end && !endsStream) {
      if (!this.#host.countControl()) return false;
    }
    stream.receiveWindow -= length;
    if (stream.receiveWindow < 0) {
      this.#streams.fail(stream, H2_ERROR.FLOW_CONTROL_ERROR);
      return this.#host.countReset();
    }
    return this.#body(stream, frame, endsStream);
  }

  /** Charges the window of the connection, and refills it below half. */
  #receive(length: number): boolean {
    this.#window -= length;
    if (this.#window < 0) {
      return this.#host.fail(
        H2_ERROR.FLOW_CONTROL_ERROR,
        "more DATA than the window",
      );
    }
    if (this.#window < this.#windowBytes / 2) {
      writeWindowUpdate(
        this.#streams.output,
        0,
        this.#windowBytes - this.#window,
      );
      this.#window = this.#windowBytes;
    }
    return true;
  }

  #dataOfClosed(streamId: number): boolean {
    const { table } = this.#streams;
    if (streamId > table.lastId) {
      return this.#protocolError("DATA on an idle stream");
    }
    if (!table.isRemembered(streamId)) {
      writeReset(this.#streams.output, streamId, H2_ERROR.STREAM_CLOSED);
    }
    return this.#host.countControl();
  }

  /** A whole block of headers. */
  #block(
    block: ByteSpan,
    streamId: number,
    endsStream: boolean,
  ): boolean {
    const { table } = this.#streams;
    if (streamId <= table.lastId) {
      return this.#trailers(block, streamId, endsStream);
    }
    if ((streamId & 1) === 0) return this.#protocolError("even stream number");
    const head = this.#heads.request(block);
    if (head === undefined) return this.#compressionError();
    table.begin(streamId);
    if (
      streamId > this.lastAcceptedId ||
      table.busyCount >= this.#engine.limits.maxConcurrentStreams
    ) {
      if (endsStream) {
        writeReset(this.#streams.output, streamId, H2_ERROR.REFUSED_STREAM);
      } else this.#streams.reset(streamId, H2_ERROR.REFUSED_STREAM);
      return this.#host.countControl();
    }
    const stream = new H2Stream(this.#streams, {
      id: streamId,
      head,
      sendWindow: this.#streams.writer.initialWindow,
      receiveWindow: this.#engine.limits.streamWindowBytes,
    });
    stream.isRemoteClosed = endsStream;
    table.add(stream);
    return this.#begin(stream, head);
  }

  /** Begins a request; one whose headers alone decide is answered at once. */
  #begin(stream: H2Stream, head: RequestHead): boolean {
    switch (head.state) {
      case HEAD_STATE.OK:
        break;
      case HEAD_STATE.MALFORMED:
        this.#streams.fail(stream, H2_ERROR.PROTOCOL_ERROR);
        return this.#host.countReset();
      case HEAD_STATE.TOO_LARGE:
        this.#streams.reject(stream, this.#headersStatus);
        return this.#host.countReset();
      case HEAD_STATE.TOO_LARGE_NOT_GRPC:
        this.#streams.reject(stream, 431);
        return this.#host.countReset();
      case HEAD_STATE.NOT_POST:
        this.#streams.refuse(stream, 405);
        return true;
      case HEAD_STATE.NOT_GRPC:
        this.#streams.refuse(stream, 415);
        return true;
      case HEAD_STATE.BAD_TIMEOUT:
        this.#streams.finish(stream, BAD_TIMEOUT_STATUS);
        return true;
    }
    if (head.path < 0) this.#streams.finish(stream, UNKNOWN_METHOD_STATUS);
    else if (head.timeoutMs === 0) {
      this.#streams.finish(stream, DEADLINE_STATUS);
    } else if (this.#engine.streaming.has(head.path)) this.#open(stream);
    else if (stream.isRemoteClosed) this.#endOfBody(stream, undefined);
    return true;
  }

  /** Begins a streaming request, which the method answers while it goes on. */
  #open(stream: H2Stream): void {
    stream.intake = new MessageIntake({
      maxBytes: this.#engine.limits.maxReceiveBytes,
      budget: this.#budget,
      onEmpty: () => {
        if (stream.isClosed || stream.isRemoteClosed) return;
        this.#giveRoom(stream);
        this.#streams.written();
      },
    });
    if (stream.isRemoteClosed) stream.intake.end();
    stream.isHeld = true;
    this.#engine.handler.open(stream);
  }

  /** Handles a block on a stream that has begun: trailers, or an error. */
  #trailers(
    block: ByteSpan,
    streamId: number,
    endsStream: boolean,
  ): boolean {
    const trailers = this.#heads.trailers(block);
    if (trailers === undefined) return this.#compressionError();
    const { table } = this.#streams;
    const stream = table.get(streamId);
    if (stream === undefined) {
      if (table.isRemembered(streamId)) return this.#host.countControl();
      return this.#host.fail(
        H2_ERROR.STREAM_CLOSED,
        "HEADERS on a closed stream",
      );
    }
    if (stream.isRemoteClosed) {
      this.#streams.fail(stream, H2_ERROR.STREAM_CLOSED);
      return this.#host.countReset();
    }
    if (!endsStream || trailers.state !== HEAD_STATE.OK) {
      this.#streams.fail(stream, H2_ERROR.PROTOCOL_ERROR);
      return this.#host.countReset();
    }
    stream.isRemoteClosed = true;
    if (stream.intake !== undefined) {
      this.#endOfMessages(stream, stream.intake);
    } else this.#endOfBody(stream, stream.reader?.message);
    return true;
  }

  #body(stream: H2Stream, frame: Frame, endsStream: boolean): boolean {
    const { bytes, start, end } = frame;
    stream.receivedBytes += end - start;
    if (stream.intake !== undefined) {
      return this.#messages(stream, stream.intake, { ...frame, endsStream });
    }
    const whole = endsStream && stream.reader === undefined
      ? this.#wholeMessage(frame)
      : undefined;
    if (whole === undefined && start < end) {
      const reader = stream.reader ??= new MessageReader(
        this.#engine.limits.maxReceiveBytes,
        this.#budget,
      );
      const fault = reader.append({ bytes, start, end });
      if (fault !== undefined) {
        stream.isRemoteClosed = endsStream;
        const { isEncoded } = stream.head;
        this.#streams.finish(stream, faultStatus(fault, isEncoded));
        return true;
      }
    }
    if (endsStream) {
      stream.isRemoteClosed = true;
      this.#endOfBody(stream, whole ?? stream.reader?.message);
      return true;
    }
    this.#giveRoom(stream);
    return true;
  }

  /** Data of a request with several messages. */
  #messages(
    stream: H2Stream,
    intake: MessageIntake,
    { endsStream, ...span }: ByteSpan & { readonly endsStream: boolean },
  ): boolean {
    stream.isRemoteClosed = endsStream;
    const fault = intake.append(span);
    if (fault !== undefined) {
      const { isEncoded } = stream.head;
      this.#streams.finish(stream, faultStatus(fault, isEncoded));
    } else if (endsStream) this.#endOfMessages(stream, intake);
    else if (intake.isEmpty) this.#giveRoom(stream);
    return true;
  }

  #endOfMessages(stream: H2Stream, intake: MessageIntake): void {
    if (intake.isBetween) intake.end();
    else this.#streams.finish(stream, NO_MESSAGE_STATUS);
  }

  /** Lets the peer send more once half of the stream's window is used. */
  #giveRoom(stream: H2Stream): void {
    const { streamWindowBytes } = this.#engine.limits;
    if (stream.receiveWindow >= streamWindowBytes / 2) return;
    const more = streamWindowBytes - stream.receiveWindow;
    writeWindowUpdate(this.#streams.output, stream.id, more);
    stream.receiveWindow = streamWindowBytes;
  }

  /** Reads a message in place when its body is one frame, as nearly all are. */
  #wholeMessage({ bytes, start, end }: Frame): Uint8Array | undefined {
    const length = end - start - MESSAGE_PREFIX_BYTES;
    if (length < 0 || length > this.#engine.limits.maxReceiveBytes) {
      return undefined;
    }
    const told = bytes[start + 1]! << 24 | bytes[start + 2]! << 16 |
      bytes[start + 3]! << 8 | bytes[start + 4]!;
    if (bytes[start] !== 0 || told !== length) return undefined;
    return new Uint8Array(
      bytes.buffer,
      bytes.byteOffset + start + MESSAGE_PREFIX_BYTES,
      length,
    );
  }

  #endOfBody(stream: H2Stream, message: Uint8Array | undefined): void {
    const { contentLength } = stream.head;
    if (contentLength >= 0 && contentLength !== stream.receivedBytes) {
      this.#streams.fail(stream, H2_ERROR.PROTOCOL_ERROR);
      this.#host.countReset();
    } else if (message === undefined) {
      this.#streams.finish(stream, NO_MESSAGE_STATUS);
    } else {
      stream.isHeld = true;
      this.#engine.handler.request(stream, message);
    }
  }

  #protocolError(reason: string): false {
    return this.#host.fail(H2_ERROR.PROTOCOL_ERROR, reason);
  }

  #compressionError(): false {
    return this.#host.fail(
      H2_ERROR.COMPRESSION_ERROR,
      "headers cannot be decoded",
    );
  }

  #tooManyHeaders(): false {
    return this.#host.fail(H2_ERROR.ENHANCE_YOUR_CALM, "too many headers");
  }
}

/** Leaves the padding out; false when it is longer than the frame. */
function unpad(frame: Frame): boolean {
  if ((frame.flags & FLAG.PADDED) === 0) return true;
  if (frame.start >= frame.end) return false;
  const padding = frame.bytes[frame.start]!;
  frame.start++;
  frame.end -= padding;
  return frame.end >= frame.start;
}
