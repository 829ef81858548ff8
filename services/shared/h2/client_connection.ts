/**
 * One HTTP/2 connection of a gRPC client, as bytes in and bytes out (RFC 9113).
 * Whatever the server sends, calls end with a value: nothing here throws.
 *
 * @module
 */

import { BufferPool } from "../buffer_pool.ts";
import type { Clock } from "../clock.ts";
import type { TimerWheel } from "../timer_wheel.ts";
import type { ByteSpan } from "./byte_span.ts";
import {
  ClientStream,
  type StreamListener,
  type StreamLoss,
} from "./client_stream.ts";
import type { OutputPort } from "./connection.ts";
import { Alarm } from "./connection_alarms.ts";
import {
  DEFAULT_WINDOW_BYTES,
  FLAG,
  type Frame,
  FRAME_TYPE,
  FrameReader,
  H2_ERROR,
  type H2ErrorCode,
  MAX_31_BITS,
  MAX_FRAME_BYTES,
  PREFACE,
  read31Bits,
  read32Bits,
} from "./frame.ts";
import { HpackDecoder } from "./hpack.ts";
import { FloodGuard } from "./limits.ts";
import {
  OUTPUT_BYTES,
  OutputBatch,
  writeFrame,
  writeGoaway,
  writeReset,
  writeWindowUpdate,
} from "./output_batch.ts";
import { clientSettings, readSettings } from "./peer_settings.ts";
import {
  isGrpc,
  type ResponseHead,
  type ResponseHeads,
} from "./response_head.ts";

/** What the connections of a client have in common, and their bounds. */
export interface ClientConnectionOptions {
  /** Reads headers. */
  readonly heads: ResponseHeads;
  /** The time, for durations. */
  readonly clock: Clock;
  /** Deadlines. */
  readonly wheel: TimerWheel;
  /** Largest message that is taken. */
  readonly maxMessageBytes: number;
  /** How long a silent server is waited for before it is asked. */
  readonly keepaliveMs: number;
  /** How long its answer, or its first settings, may take. */
  readonly keepaliveTimeoutMs: number;
  /** Told when the connection takes no further streams. */
  readonly onRetired: () => void;
  /** Told when the server allows more streams at a time than before. */
  readonly onRoom: () => void;
  /** Told when the server leaves because it was asked too often. */
  readonly onTooManyPings: () => void;
}

/** What the server may send on a stream, and on the connection, at first. */
const STREAM_WINDOW_BYTES = 262_144;
const CONNECTION_WINDOW_BYTES = 1_048_576;
/** Unsent output at which messages wait in their streams. */
const HIGH_WATER_BYTES = 262_144;
const MAX_UNSENT_BYTES = 1_048_576;
const MAX_HEADER_LIST_BYTES = 65_536;
const MAX_HEADER_BLOCK_BYTES = 131_072;
/** Frames that carry no answer: at once, and with each second. */
const CONTROL_BURST = 10_000;
const CONTROL_PER_SECOND = 1_000;
/** What the server gets for each of our frames: it may return room, or ask. */
const CONTROL_PER_DATA = 4;
/** A server that sets no bound still gets no more streams than this. */
const MOST_STREAMS = 10_000;
const LAST_STREAM_ID = MAX_31_BITS - 2;

const KEEPALIVE_PING = Uint8Array.of(0x61, 0x6c, 0x69, 0x76, 0x65, 0, 0, 2);
const NO_BYTES = new Uint8Array(0);

/** A connection; its life begins with {@linkcode start}. */
export class H2ClientConnection {
  readonly #options: ClientConnectionOptions;
  readonly #port: OutputPort;
  readonly #output: OutputBatch;
  readonly #reader: FrameReader;
  readonly #decoder;
  readonly #control: FloodGuard;
  readonly #streams = new Map<number, ClientStream>();
  readonly #keepalive = new Alarm(() => this.#ask());
  readonly #silence = new Alarm(() => this.#silent());
  /** Of the peer: what a stream begins with, and how many there may be. */
  #peerWindowBytes = DEFAULT_WINDOW_BYTES;
  #maxStreams = MOST_STREAMS;
  #sendWindow = DEFAULT_WINDOW_BYTES;
  #receivedBytes = 0;
  #nextId = 1;
  #lastProcessedId = Infinity;
  #leaving = "the server is leaving";
  #blockBytes = NO_BYTES;
  #blockStreamId = 0;
  #blockEndsStream = false;
  readonly #first = Promise.withResolvers<string | undefined>();
  #hasSettings = false;
  #isAsking = false;
  #isRetired = false;
  #isCongested = false;
  #isFlushPlanned = false;
  #isReading = false;
  #isOver = false;

  /** A connection that is reached through `port`. */
  constructor(port: OutputPort, options: ClientConnectionOptions) {
    this.#options = options;
    this.#port = port;
    const pool = new BufferPool(OUTPUT_BYTES, 1);
    this.#output = new OutputBatch(pool, (bytes) => this.#write(bytes));
    this.#decoder = new HpackDecoder(options.heads.hpack);
    this.#control = new FloodGuard(
      options.clock,
      CONTROL_BURST,
      CONTROL_PER_SECOND,
    );
    this.#reader = new FrameReader({
      frame: (frame) => this.#frame(frame),
      preface: () => {},
      unreadable: () =>
        this.#fail(H2_ERROR.FRAME_SIZE_ERROR, "a frame is too large"),
    }, { expectsPreface: false });
  }

  /** Whether another stream can be opened now. */
  get hasRoom(): boolean {
    return !this.#isRetired && this.#streams.size < this.#maxStreams;
  }

  /** Whether it never takes another stream. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Number of open streams. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /**
   * Waits for the first settings of the server.
   *
   * @returns Why they can't come; undefined when they have.
   */
  ready(signal: AbortSignal): Promise<string | undefined> {
    const { promise, resolve } = this.#first;
    const end = (): void => resolve("the wait was ended");
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    return promise;
  }

  /** Says the first words of a client. */
  start(): void {
    const output = this.#output;
    output.reserve(PREFACE.length);
    output.append(new TextEncoder().encode(PREFACE));
    const settings = clientSettings({
      streamWindowBytes: STREAM_WINDOW_BYTES,
      maxHeaderListBytes: MAX_HEADER_LIST_BYTES,
    });
    writeFrame(output, settings, { type: FRAME_TYPE.SETTINGS, streamId: 0 });
    const more = CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES;
    writeWindowUpdate(output, 0, more);
    output.flush();
  }

  /**
   * Opens a stream, for which there must be room.
   *
   * @param block The encoded request headers, at most 32 KiB.
   */
  open(block: Uint8Array, listener: StreamListener): ClientStream {
    const stream = new ClientStream({
      id: this.#nextId,
      listener,
      sendWindow: this.#peerWindowBytes,
      receiveWindow: STREAM_WINDOW_BYTES,
      maxMessageBytes: this.#options.maxMessageBytes,
    });
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.#writeHeaders(stream.id, block);
    this.#watch();
    if (this.#nextId > LAST_STREAM_ID) this.#retire();
    this.#written();
    return stream;
  }

  /** Sends a message, with its prefix, after those before it. */
  send(stream: ClientStream, bytes: Uint8Array): Promise<void> {
    if (stream.isClosed || stream.isSendClosed) return Promise.resolve();
    return new Promise((sent) => {
      stream.outgoing.push({ bytes, at: 0, sent });
      this.#pump(stream);
      this.#written();
    });
  }

  /** Ends our side of a stream after what waits. */
  closeSend(stream: ClientStream): void {
    if (stream.isClosed || stream.isSendClosed) return;
    stream.isSendClosed = true;
    this.#pump(stream);
    this.#written();
  }

  /** Ends a stream; its listener hears no more of it. */
  cancel(stream: ClientStream): void {
    if (stream.isClosed) return;
    this.#reset(stream, H2_ERROR.CANCEL);
    this.#written();
  }

  /** The caller has messages that it has not taken: the server has to wait. */
  holdBack(stream: ClientStream): void {
    stream.isHeldBack = true;
  }

  /** The caller takes messages as they come, again. */
  letGo(stream: ClientStream): void {
    stream.isHeldBack = false;
    this.#returnRoom(stream);
    this.#written();
  }

  /** Takes bytes of the server, which must not change later. Never throws. */
  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#isReading = true;
    try {
      this.#reader.feed(bytes);
    } catch (error) {
      this.#fail(
        H2_ERROR.INTERNAL_ERROR,
        `internal error: ${error instanceof Error ? error.message : error}`,
      );
    }
    this.#isReading = false;
    if (!this.#isOver) this.#heard();
    this.#output.flush();
  }

  /** Everything that was written is on its way. */
  drained(): void {
    if (this.#isOver || !this.#isCongested) return;
    this.#isCongested = false;
    this.#pumpAll();
    this.#output.flush();
  }

  /** The connection is gone: the streams that are left are lost. */
  closed(reason: string): void {
    this.#end({ kind: "lost", reason });
  }

  /** Ends the connection and every stream on it. */
  close(): void {
    if (this.#isOver) return;
    writeGoaway(this.#output, 0, { code: H2_ERROR.NO_ERROR, reason: "" });
    this.#end({ kind: "lost", reason: "the client is closed" });
  }

  #frame(frame: Frame): boolean {
    const { type } = frame;
    if (!this.#hasSettings) {
      if (type !== FRAME_TYPE.SETTINGS || (frame.flags & FLAG.ACK) !== 0) {
        return this.#protocolError("SETTINGS do not come first");
      }
      this.#hasSettings = true;
      this.#first.resolve(undefined);
    }
    const isContinuation = type === FRAME_TYPE.CONTINUATION;
    if ((this.#blockStreamId !== 0) !== isContinuation) {
      return this.#protocolError("headers are not continued");
    }
    switch (type) {
      case FRAME_TYPE.DATA:
        return this.#data(frame);
      case FRAME_TYPE.HEADERS:
        return this.#headers(frame);
      case FRAME_TYPE.CONTINUATION:
        if (frame.streamId !== this.#blockStreamId) {
          return this.#protocolError("headers are not continued");
        }
        return this.#headerPart(frame, frame.flags);
      default:
        if (!this.#control.pass()) {
          return this.#fail(
            H2_ERROR.ENHANCE_YOUR_CALM,
            "too many frames without use",
          );
        }
        return this.#controlFrame(frame);
    }
  }

  #controlFrame(frame: Frame): boolean {
    const { type, streamId, bytes, start, end } = frame;
    const length = end - start;
    switch (type) {
      case FRAME_TYPE.SETTINGS:
        if (streamId !== 0) return this.#protocolError("SETTINGS of a stream");
        return this.#settings(frame);
      case FRAME_TYPE.PING:
        if (length !== 8 || streamId !== 0) {
          return this.#protocolError("PING is not valid");
        }
        return this.#ping(frame);
      case FRAME_TYPE.GOAWAY:
        if (length < 8 || streamId !== 0) {
          return this.#protocolError("GOAWAY is not valid");
        }
        return this.#goaway(frame);
      case FRAME_TYPE.RST_STREAM:
        if (length !== 4 || streamId === 0) {
          return this.#protocolError("RST_STREAM is not valid");
        }
        return this.#wasReset(streamId, read32Bits(bytes, start));
      case FRAME_TYPE.WINDOW_UPDATE:
        if (length !== 4) {
          return this.#protocolError("WINDOW_UPDATE is not valid");
        }
        return this.#windowUpdate(streamId, read31Bits(bytes, start));
      case FRAME_TYPE.PUSH_PROMISE:
        return this.#protocolError("PUSH_PROMISE, which was forbidden");
      default:
        return true;
    }
  }

  #settings(frame: Frame): boolean {
    if ((frame.flags & FLAG.ACK) !== 0) return true;
    const outcome = readSettings(frame);
    if (outcome.kind === "failed") {
      return this.#fail(outcome.code, "SETTINGS are not valid");
    }
    // Our headers use no table, so its size means nothing here.
    const { initialWindowBytes, maxConcurrentStreams } = outcome.change;
    const before = this.#maxStreams;
    if (maxConcurrentStreams !== undefined) {
      this.#maxStreams = Math.min(maxConcurrentStreams, MOST_STREAMS);
    }
    if (initialWindowBytes !== undefined) {
      const more = initialWindowBytes - this.#peerWindowBytes;
      this.#peerWindowBytes = initialWindowBytes;
      for (const stream of this.#streams.values()) {
        stream.sendWindow += more;
        if (stream.sendWindow > MAX_31_BITS) {
          return this.#fail(H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
        }
      }
    }
    writeFrame(this.#output, NO_BYTES, {
      type: FRAME_TYPE.SETTINGS,
      flags: FLAG.ACK,
      streamId: 0,
    });
    this.#pumpAll();
    if (this.#maxStreams > before) this.#options.onRoom();
    return !this.#isOver;
  }

  #ping({ flags, bytes, start, end }: Frame): boolean {
    if ((flags & FLAG.ACK) === 0) {
      writeFrame(this.#output, bytes.subarray(start, end), {
        type: FRAME_TYPE.PING,
        flags: FLAG.ACK,
        streamId: 0,
      });
    }
    return true;
  }

  #goaway({ bytes, start, end }: ByteSpan): boolean {
    const lastId = read31Bits(bytes, start);
    const code = read32Bits(bytes, start + 4);
    this.#lastProcessedId = Math.min(this.#lastProcessedId, lastId);
    if (code !== H2_ERROR.NO_ERROR) {
      this.#leaving = `the server is leaving with HTTP/2 error ${code}`;
    }
    const words = bytes.subarray(start + 8, Math.min(end, start + 8 + 64));
    // The words are part of the rules: gRFC A8, "Server Enforcement".
    if (
      code === H2_ERROR.ENHANCE_YOUR_CALM &&
      new TextDecoder().decode(words) === "too_many_pings"
    ) this.#options.onTooManyPings();
    this.#retire();
    const loss: StreamLoss = { kind: "unprocessed", reason: this.#leaving };
    for (const stream of [...this.#streams.values()]) {
      if (stream.id > this.#lastProcessedId) this.#lose(stream, loss);
    }
    return !this.#isOver;
  }

  #wasReset(streamId: number, code: number): boolean {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#isKnown(streamId);
    this.#lose(
      stream,
      code === H2_ERROR.REFUSED_STREAM
        ? { kind: "unprocessed", reason: "the server refused the stream" }
        : { kind: "reset", code },
    );
    return !this.#isOver;
  }

  #windowUpdate(streamId: number, more: number): boolean {
    if (streamId === 0) {
      this.#sendWindow += more;
      if (more === 0 || this.#sendWindow > MAX_31_BITS) {
        return this.#fail(H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
      }
      this.#pumpAll();
      return !this.#isOver;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#isKnown(streamId);
    stream.sendWindow += more;
    if (more === 0 || stream.sendWindow > MAX_31_BITS) {
      this.#break(stream, H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
    } else this.#pump(stream);
    return !this.#isOver;
  }

  /** A stream that has ended may still be spoken of; one to come may not. */
  #isKnown(streamId: number): boolean {
    return (streamId % 2 === 1 && streamId < this.#nextId) ||
      this.#protocolError("a frame of a stream that was not opened");
  }

  #data(frame: Frame): boolean {
    const { streamId, flags } = frame;
    const stream = this.#streams.get(streamId);
    const length = frame.end - frame.start;
    const isTooMuch = this.#receivedBytes + length > CONNECTION_WINDOW_BYTES;
    if (isTooMuch) {
      return this.#fail(H2_ERROR.FLOW_CONTROL_ERROR, "too much data");
    }
    this.#receivedBytes += length;
    // Streams have windows of their own: one that waits must not hold others.
    if (this.#receivedBytes >= CONNECTION_WINDOW_BYTES / 2) {
      writeWindowUpdate(this.#output, 0, this.#receivedBytes);
      this.#receivedBytes = 0;
    }
    // Data without content costs the server nothing.
    if (length === 0 && !this.#control.pass()) {
      return this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "too much empty data");
    }
    if (stream === undefined) return this.#isKnown(streamId);
    stream.receiveWindow -= length;
    stream.unreturnedBytes += length;
    if (stream.receiveWindow < 0) {
      this.#break(stream, H2_ERROR.FLOW_CONTROL_ERROR, "too much data");
      return !this.#isOver;
    }
    const content = unpadded(frame);
    if (content === undefined) return this.#protocolError("padding is wrong");
    if (stream.head === undefined) {
      this.#break(stream, H2_ERROR.PROTOCOL_ERROR, "data before headers");
      return !this.#isOver;
    }
    const loss = stream.data(content);
    if (loss !== undefined) {
      this.#reset(stream, H2_ERROR.CANCEL);
      stream.listener.lost(loss);
      return !this.#isOver;
    }
    if (stream.isClosed) return !this.#isOver;
    if ((flags & FLAG.END_STREAM) !== 0) {
      // The status is in trailers, or in headers that nothing follows.
      const { head } = stream;
      this.#finish(stream, {
        ...head,
        grpcStatus: undefined,
        grpcMessage: undefined,
      });
    } else this.#returnRoom(stream);
    return !this.#isOver;
  }

  #headers(frame: Frame): boolean {
    const content = unpadded(frame);
    if (content === undefined) return this.#protocolError("padding is wrong");
    const { flags, streamId } = frame;
    if (streamId === 0) return this.#protocolError("HEADERS of no stream");
    if ((flags & FLAG.PRIORITY) !== 0) content.start += 5;
    if (content.start > content.end) {
      return this.#protocolError("HEADERS are too short");
    }
    this.#blockStreamId = streamId;
    this.#blockEndsStream = (flags & FLAG.END_STREAM) !== 0;
    this.#blockBytes = NO_BYTES;
    return this.#headerPart(content, flags);
  }

  #headerPart({ bytes, start, end }: ByteSpan, flags: number): boolean {
    const isLast = (flags & FLAG.END_HEADERS) !== 0;
    const kept = this.#blockBytes;
    const length = kept.length + end - start;
    if (!this.#control.pass()) {
      return this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "too many headers");
    }
    if (length > MAX_HEADER_BLOCK_BYTES) {
      return this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "headers are too large");
    }
    if (isLast && kept.length === 0) {
      return this.#headerBlock({ bytes, start, end });
    }
    const joined = new Uint8Array(length);
    joined.set(kept);
    joined.set(bytes.subarray(start, end), kept.length);
    this.#blockBytes = joined;
    if (!isLast) return true;
    return this.#headerBlock({ bytes: joined, start: 0, end: length });
  }

  #headerBlock(block: ByteSpan): boolean {
    const streamId = this.#blockStreamId;
    this.#blockStreamId = 0;
    this.#blockBytes = NO_BYTES;
    const { reader } = this.#options.heads;
    reader.begin();
    // Decoded in any case: later blocks build on its entries.
    if (!this.#decoder.decode(block)) {
      return this.#fail(H2_ERROR.COMPRESSION_ERROR, "headers are unreadable");
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#isKnown(streamId);
    const { head } = reader;
    if (head.sizeBytes > MAX_HEADER_LIST_BYTES) {
      this.#break(stream, H2_ERROR.CANCEL, "its headers are too large");
    } else this.#answerHead(stream, head);
    return !this.#isOver;
  }

  #answerHead(stream: ClientStream, head: ResponseHead): void {
    if (stream.head === undefined) {
      if (head.status === undefined) {
        this.#break(stream, H2_ERROR.PROTOCOL_ERROR, "no status in headers");
      } else if (this.#blockEndsStream) {
        this.#finish(stream, head);
      } else if (!isGrpc(head.contentType) && !isInformational(head)) {
        // The page of a proxy, whose status says what is to be known.
        this.#reset(stream, H2_ERROR.CANCEL);
        stream.listener.ended({ ...head, grpcStatus: undefined });
      } else if (!isInformational(head)) {
        stream.head = head;
        this.#control.earn(1);
      }
    } else if (this.#blockEndsStream) {
      // Trailers have no HTTP status; that of the headers goes with them.
      const { status, contentType } = stream.head;
      this.#finish(stream, { ...head, status, contentType });
    } else {
      this.#break(stream, H2_ERROR.PROTOCOL_ERROR, "headers within data");
    }
  }

  #finish(stream: ClientStream, head: ResponseHead): void {
    if (stream.isWithinMessage) {
      this.#break(stream, H2_ERROR.CANCEL, "a message was cut short");
      return;
    }
    // The server needs nothing more of us; RFC 9113, section 8.1.
    if (!stream.isEndSent) {
      writeReset(this.#output, stream.id, H2_ERROR.NO_ERROR);
    }
    this.#control.earn(1);
    this.#forget(stream);
    stream.listener.ended(head);
  }

  #break(stream: ClientStream, code: H2ErrorCode, reason: string): void {
    this.#reset(stream, code);
    stream.listener.lost({ kind: "broken", reason });
  }

  #reset(stream: ClientStream, code: H2ErrorCode): void {
    if (!this.#isOver) writeReset(this.#output, stream.id, code);
    this.#forget(stream);
  }

  #lose(stream: ClientStream, loss: StreamLoss): void {
    this.#forget(stream);
    stream.listener.lost(loss);
  }

  #forget(stream: ClientStream): void {
    stream.isClosed = true;
    this.#streams.delete(stream.id);
    for (const { sent } of stream.outgoing) sent();
    stream.outgoing.length = 0;
    if (this.#isRetired && this.#streams.size === 0) {
      this.#end({ kind: "lost", reason: this.#leaving });
    } else if (this.#streams.size === 0) {
      this.#options.wheel.remove(this.#keepalive);
    }
  }

  /** Gives room back for what the caller has taken, some at a time. */
  #returnRoom(stream: ClientStream): void {
    if (stream.isClosed || stream.isHeldBack) return;
    const { unreturnedBytes } = stream;
    if (unreturnedBytes < STREAM_WINDOW_BYTES / 2) return;
    stream.unreturnedBytes = 0;
    stream.receiveWindow += unreturnedBytes;
    writeWindowUpdate(this.#output, stream.id, unreturnedBytes);
  }

  #pumpAll(): void {
    for (const stream of this.#streams.values()) this.#pump(stream);
  }

  /** Sends what both windows, and the way to the server, have room for. */
  #pump(stream: ClientStream): void {
    const { outgoing } = stream;
    while (outgoing.length > 0) {
      const message = outgoing[0]!;
      const size = Math.min(
        message.bytes.length - message.at,
        stream.sendWindow,
        this.#sendWindow,
        MAX_FRAME_BYTES,
      );
      if (size <= 0 || this.#isCongested) return;
      const part = message.bytes.subarray(message.at, message.at + size);
      message.at += size;
      stream.sendWindow -= size;
      this.#sendWindow -= size;
      const isWhole = message.at === message.bytes.length;
      if (isWhole) outgoing.shift();
      stream.isEndSent = isWhole && outgoing.length === 0 &&
        stream.isSendClosed;
      writeFrame(this.#output, part, {
        type: FRAME_TYPE.DATA,
        flags: stream.isEndSent ? FLAG.END_STREAM : 0,
        streamId: stream.id,
      });
      this.#control.earn(CONTROL_PER_DATA);
      if (isWhole) message.sent();
    }
    if (!stream.isSendClosed || stream.isEndSent || stream.isClosed) return;
    stream.isEndSent = true;
    writeFrame(this.#output, NO_BYTES, {
      type: FRAME_TYPE.DATA,
      flags: FLAG.END_STREAM,
      streamId: stream.id,
    });
  }

  #writeHeaders(streamId: number, block: Uint8Array): void {
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

  /** While calls run, a server that is silent is asked whether it is there. */
  #watch(): void {
    const { wheel, keepaliveMs } = this.#options;
    if (this.#streams.size === 1) wheel.add(this.#keepalive, keepaliveMs);
  }

  #heard(): void {
    const { wheel, keepaliveMs } = this.#options;
    if (this.#isAsking) {
      this.#isAsking = false;
      wheel.remove(this.#silence);
    }
    if (this.#streams.size > 0) wheel.add(this.#keepalive, keepaliveMs);
  }

  #ask(): void {
    const { wheel, keepaliveTimeoutMs } = this.#options;
    this.#isAsking = true;
    wheel.add(this.#silence, keepaliveTimeoutMs);
    writeFrame(this.#output, KEEPALIVE_PING, {
      type: FRAME_TYPE.PING,
      streamId: 0,
    });
    this.#output.flush();
  }

  #silent(): void {
    this.#end({ kind: "lost", reason: "the server does not answer" });
    this.#port.destroy();
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#options.onRetired();
    if (this.#streams.size === 0) {
      this.#end({ kind: "lost", reason: this.#leaving });
    }
  }

  #protocolError(reason: string): false {
    return this.#fail(H2_ERROR.PROTOCOL_ERROR, reason);
  }

  /** A connection error (RFC 9113, section 5.4.1). */
  #fail(code: H2ErrorCode, reason: string): false {
    if (this.#isOver) return false;
    writeGoaway(this.#output, 0, { code, reason });
    this.#end({
      kind: "lost",
      reason: this.#hasSettings
        ? `the server broke the rules of HTTP/2: ${reason}`
        : "the server does not begin as HTTP/2 does; it may speak HTTP/1, or TLS",
    });
    return false;
  }

  /** Sends what there is to send, and nothing after it. */
  #end(loss: StreamLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader.end();
    const { wheel } = this.#options;
    wheel.remove(this.#keepalive);
    wheel.remove(this.#silence);
    this.#output.flush();
    this.#port.end();
    if (!this.#isRetired) {
      this.#isRetired = true;
      this.#options.onRetired();
    }
    if (loss.kind === "lost") this.#first.resolve(loss.reason);
    for (const stream of [...this.#streams.values()]) this.#lose(stream, loss);
  }

  #written(): void {
    if (this.#isReading || this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    // What calls of one turn send leaves in one write.
    queueMicrotask(() => {
      this.#isFlushPlanned = false;
      this.#output.flush();
    });
  }

  #write(bytes: Uint8Array): void {
    this.#port.write(bytes);
    const { unsentBytes } = this.#port;
    if (unsentBytes <= HIGH_WATER_BYTES) return;
    this.#isCongested = true;
    if (unsentBytes <= MAX_UNSENT_BYTES || this.#isOver) return;
    this.#end({ kind: "lost", reason: "the server takes no requests" });
    this.#port.destroy();
  }
}

/** Headers that come before those of the answer (RFC 9110, section 15.2). */
function isInformational({ status }: ResponseHead): boolean {
  return status?.startsWith("1") ?? false;
}

/** The content of DATA or HEADERS; undefined when the padding is too long. */
function unpadded(frame: Frame): ByteSpan | undefined {
  const { bytes, flags } = frame;
  let { start, end } = frame;
  if ((flags & FLAG.PADDED) !== 0) {
    if (start === end) return undefined;
    end -= bytes[start]!;
    start++;
    if (end < start) return undefined;
  }
  return { bytes, start, end };
}
