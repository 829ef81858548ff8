/**
 * Turns the header blocks and the data that a server receives into requests
 * (RFC 9113, section 8).
 *
 * @module
 */

import type { ByteBudget } from "../connection_memory.ts";
import type { ByteSpan } from "./byte_span.ts";
import type { ConnectionStreams } from "./connection_streams.ts";
import type { H2Engine } from "./engine.ts";
import { FLAG, type Frame, H2_ERROR } from "./frame.ts";
import type { ContentHandler } from "./frame_receiver.ts";
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

/** Makes requests of header blocks and data. */
export class RequestReceiver implements ContentHandler {
  /** Streams beyond this one are refused. */
  lastAcceptedId: number = Infinity;
  readonly #engine: H2Engine;
  readonly #streams: ConnectionStreams;
  readonly #heads: HeadDecoder;
  readonly #budget: ByteBudget;
  readonly #headersStatus: StatusText;

  /** A receiver that has received nothing; `budget` is of its connection. */
  constructor(streams: ConnectionStreams, budget: ByteBudget) {
    const { engine } = streams;
    this.#engine = engine;
    this.#streams = streams;
    this.#heads = new HeadDecoder(engine.heads);
    this.#budget = budget;
    this.#headersStatus = headersStatus(engine.limits.maxHeaderListBytes);
  }

  /** Takes a DATA frame without its padding. */
  data(frame: Frame, flowBytes: number): void {
    const { streamId } = frame;
    const { host, table } = this.#streams;
    const stream = table.get(streamId);
    if (stream === undefined) return this.#dataOfClosed(streamId);
    if (stream.isRemoteClosed) {
      return this.#streams.breach(stream, H2_ERROR.STREAM_CLOSED);
    }
    const endsStream = (frame.flags & FLAG.END_STREAM) !== 0;
    if (frame.start === frame.end && !endsStream && !host.countControl()) {
      return;
    }
    stream.receiveWindow -= flowBytes;
    if (stream.receiveWindow < 0) {
      return this.#streams.breach(stream, H2_ERROR.FLOW_CONTROL_ERROR);
    }
    this.#body(stream, frame, endsStream);
  }

  #dataOfClosed(streamId: number): void {
    const { host, table, output } = this.#streams;
    if (streamId > table.lastId) {
      return host.fail(H2_ERROR.PROTOCOL_ERROR, "DATA on an idle stream");
    }
    if (!table.isRemembered(streamId)) {
      writeReset(output, streamId, H2_ERROR.STREAM_CLOSED);
    }
    host.countControl();
  }

  /** Takes a whole block of headers. */
  block(block: ByteSpan, streamId: number, endsStream: boolean): void {
    const { host, table } = this.#streams;
    if (streamId <= table.lastId) {
      return this.#trailers(block, streamId, endsStream);
    }
    if ((streamId & 1) === 0) {
      return host.fail(H2_ERROR.PROTOCOL_ERROR, "even stream number");
    }
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
      host.countControl();
      return;
    }
    const stream = new H2Stream(this.#streams, {
      id: streamId,
      head,
      sendWindow: this.#streams.writer.initialWindow,
      receiveWindow: this.#engine.limits.streamWindowBytes,
    });
    stream.isRemoteClosed = endsStream;
    table.add(stream);
    this.#begin(stream, head);
  }

  /** Begins a request; one whose headers alone decide is answered at once. */
  #begin(stream: H2Stream, head: RequestHead): void {
    switch (head.state) {
      case HEAD_STATE.OK:
        break;
      case HEAD_STATE.MALFORMED:
        return this.#streams.breach(stream, H2_ERROR.PROTOCOL_ERROR);
      case HEAD_STATE.TOO_LARGE:
        return this.#streams.reject(stream, this.#headersStatus);
      case HEAD_STATE.TOO_LARGE_NOT_GRPC:
        return this.#streams.reject(stream, 431);
      case HEAD_STATE.NOT_POST:
        return this.#streams.refuse(stream, 405);
      case HEAD_STATE.NOT_GRPC:
        return this.#streams.refuse(stream, 415);
      case HEAD_STATE.BAD_TIMEOUT:
        return this.#streams.finish(stream, BAD_TIMEOUT_STATUS);
    }
    if (head.path < 0) this.#streams.finish(stream, UNKNOWN_METHOD_STATUS);
    else if (head.timeoutMs === 0) {
      this.#streams.finish(stream, DEADLINE_STATUS);
    } else if (this.#engine.streaming.has(head.path)) this.#open(stream);
    else if (stream.isRemoteClosed) this.#endOfBody(stream, undefined);
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
  #trailers(block: ByteSpan, streamId: number, endsStream: boolean): void {
    const trailers = this.#heads.trailers(block);
    if (trailers === undefined) return this.#compressionError();
    const { host, table } = this.#streams;
    const stream = table.get(streamId);
    if (stream === undefined) {
      if (table.isRemembered(streamId)) host.countControl();
      else host.fail(H2_ERROR.STREAM_CLOSED, "HEADERS on a closed stream");
      return;
    }
    if (stream.isRemoteClosed) {
      return this.#streams.breach(stream, H2_ERROR.STREAM_CLOSED);
    }
    if (!endsStream || trailers.state !== HEAD_STATE.OK) {
      return this.#streams.breach(stream, H2_ERROR.PROTOCOL_ERROR);
    }
    stream.isRemoteClosed = true;
    if (stream.intake !== undefined) {
      this.#endOfMessages(stream, stream.intake);
    } else this.#endOfBody(stream, stream.reader?.message);
  }

  #body(stream: H2Stream, frame: Frame, endsStream: boolean): void {
    const { bytes, start, end } = frame;
    stream.receivedBytes += end - start;
    if (stream.intake !== undefined) {
      const span = { bytes, start, end, endsStream };
      return this.#messages(stream, stream.intake, span);
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
        return this.#streams.finish(stream, faultStatus(fault, isEncoded));
      }
    }
    if (!endsStream) return this.#giveRoom(stream);
    stream.isRemoteClosed = true;
    this.#endOfBody(stream, whole ?? stream.reader?.message);
  }

  /** Data of a request with several messages. */
  #messages(
    stream: H2Stream,
    intake: MessageIntake,
    { endsStream, ...span }: ByteSpan & { readonly endsStream: boolean },
  ): void {
    stream.isRemoteClosed = endsStream;
    const fault = intake.append(span);
    if (fault !== undefined) {
      const { isEncoded } = stream.head;
      this.#streams.finish(stream, faultStatus(fault, isEncoded));
    } else if (endsStream) this.#endOfMessages(stream, intake);
    else if (intake.isEmpty) this.#giveRoom(stream);
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
      this.#streams.breach(stream, H2_ERROR.PROTOCOL_ERROR);
    } else if (message === undefined) {
      this.#streams.finish(stream, NO_MESSAGE_STATUS);
    } else {
      stream.isHeld = true;
      this.#engine.handler.request(stream, message);
    }
  }

  #compressionError(): void {
    this.#streams.host.fail(
      H2_ERROR.COMPRESSION_ERROR,
      "headers cannot be decoded",
    );
  }
}
