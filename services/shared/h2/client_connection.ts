/**
 * One HTTP/2 connection of a gRPC client, as bytes in and bytes out (RFC 9113).
 * Whatever the server sends, calls end with a value: nothing here throws.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { TimerWheel } from "../timer_wheel.ts";
import type { ByteSpan } from "./byte_span.ts";
import { ClientReceiver } from "./client_receiver.ts";
import { ClientSender } from "./client_sender.ts";
import {
  ClientStream,
  type StreamListener,
  type StreamLoss,
} from "./client_stream.ts";
import type { OutputPort } from "./connection.ts";
import { Alarm } from "./connection_alarms.ts";
import {
  DEFAULT_WINDOW_BYTES,
  H2_ERROR,
  type H2ErrorCode,
  MAX_31_BITS,
} from "./frame.ts";
import type { SettingsChange } from "./peer_settings.ts";
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
const MAX_HEADER_LIST_BYTES = 65_536;
/** What the server gets for each of our frames: it may return room, or ask. */
const CONTROL_PER_DATA = 4;
/** A server that sets no bound still gets no more streams than this. */
const MOST_STREAMS = 10_000;
const LAST_STREAM_ID = MAX_31_BITS - 2;
const KEEPALIVE_PING = Uint8Array.of(0x61, 0x6c, 0x69, 0x76, 0x65, 0, 0, 2);

/** A connection; its life begins with {@linkcode start}. */
export class H2ClientConnection {
  readonly #options: ClientConnectionOptions;
  readonly #port: OutputPort;
  readonly #sender: ClientSender;
  readonly #receiver: ClientReceiver;
  readonly #streams = new Map<number, ClientStream>();
  readonly #keepalive = new Alarm(() => this.#ask());
  readonly #silence = new Alarm(() => this.#silent());
  /** Of the peer: what a stream begins with, and how many there may be. */
  #peerWindowBytes = DEFAULT_WINDOW_BYTES;
  #maxStreams = MOST_STREAMS;
  #receivedBytes = 0;
  #nextId = 1;
  #lastProcessedId = Infinity;
  #leaving = "the server is leaving";
  readonly #first = Promise.withResolvers<string | undefined>();
  #isAsking = false;
  #isRetired = false;
  #isReading = false;
  #isOver = false;

  /** A connection that is reached through `port`. */
  constructor(port: OutputPort, options: ClientConnectionOptions) {
    this.#options = options;
    this.#port = port;
    this.#sender = new ClientSender(port, {
      streams: { [Symbol.iterator]: () => this.#streams.values() },
      sentData: () => this.#receiver.earn(CONTROL_PER_DATA),
      stuck: () => this.#stuck(),
    });
    const isOver = (): boolean => this.#isOver;
    this.#receiver = new ClientReceiver({
      get isOver() {
        return isOver();
      },
      settings: (change) => this.#settings(change),
      ping: (payload) => this.#sender.ping(payload, { isAnswer: true }),
      goaway: (lastId, why) => this.#goaway(lastId, why),
      wasReset: (streamId, code) => this.#wasReset(streamId, code),
      windowUpdate: (streamId, more) => this.#windowUpdate(streamId, more),
      data: (streamId, part) => this.#data(streamId, part),
      head: (streamId, from) => this.#head(streamId, from),
      fail: (code, reason) => this.#fail(code, reason),
    }, options);
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
    this.#sender.begin({
      streamWindowBytes: STREAM_WINDOW_BYTES,
      connectionWindowBytes: CONNECTION_WINDOW_BYTES,
      maxHeaderListBytes: MAX_HEADER_LIST_BYTES,
    });
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
    this.#sender.headers(stream.id, block);
    this.#watch();
    if (this.#nextId > LAST_STREAM_ID) this.#retire();
    this.#flushSoon();
    return stream;
  }

  /** Sends a message, with its prefix, after those before it. */
  send(stream: ClientStream, bytes: Uint8Array): Promise<void> {
    if (stream.isClosed || stream.isSendClosed) return Promise.resolve();
    return new Promise((sent) => {
      stream.outgoing.push({ bytes, at: 0, sent });
      this.#sender.pump(stream);
      this.#flushSoon();
    });
  }

  /** Ends our side of a stream after what waits. */
  closeSend(stream: ClientStream): void {
    if (stream.isClosed || stream.isSendClosed) return;
    stream.isSendClosed = true;
    this.#sender.pump(stream);
    this.#flushSoon();
  }

  /** Ends a stream; its listener hears no more of it. */
  cancel(stream: ClientStream): void {
    if (stream.isClosed) return;
    this.#reset(stream, H2_ERROR.CANCEL);
    this.#flushSoon();
  }

  /** The caller has messages that it has not taken: the server has to wait. */
  holdBack(stream: ClientStream): void {
    stream.isHeldBack = true;
  }

  /** The caller takes messages as they come, again. */
  letGo(stream: ClientStream): void {
    stream.isHeldBack = false;
    this.#returnRoom(stream);
    this.#flushSoon();
  }

  /** Takes bytes of the server, which must not change later. Never throws. */
  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#isReading = true;
    try {
      this.#receiver.feed(bytes);
    } catch (error) {
      this.#fail(
        H2_ERROR.INTERNAL_ERROR,
        `internal error: ${error instanceof Error ? error.message : error}`,
      );
    }
    this.#isReading = false;
    if (!this.#isOver) this.#heard();
    this.#sender.flush();
  }

  /** Everything that was written is on its way. */
  drained(): void {
    if (!this.#isOver) this.#sender.drained();
  }

  /** The connection is gone: the streams that are left are lost. */
  closed(reason: string): void {
    this.#end({ kind: "lost", reason });
  }

  /** Ends the connection and every stream on it. */
  close(): void {
    if (this.#isOver) return;
    this.#sender.goaway(H2_ERROR.NO_ERROR, "");
    this.#end({ kind: "lost", reason: "the client is closed" });
  }

  #settings(change: Readonly<SettingsChange>): void {
    this.#first.resolve(undefined);
    // Our headers use no table, so its size means nothing here.
    const { initialWindowBytes, maxConcurrentStreams } = change;
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
    this.#sender.acknowledgeSettings();
    this.#sender.pumpAll();
    if (this.#maxStreams > before) this.#options.onRoom();
  }

  #goaway(
    lastId: number,
    { code, words }: { readonly code: number; readonly words: Uint8Array },
  ): void {
    this.#lastProcessedId = Math.min(this.#lastProcessedId, lastId);
    if (code !== H2_ERROR.NO_ERROR) {
      this.#leaving = `the server is leaving with HTTP/2 error ${code}`;
    }
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
  }

  #wasReset(streamId: number, code: number): void {
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    this.#lose(
      stream,
      code === H2_ERROR.REFUSED_STREAM
        ? { kind: "unprocessed", reason: "the server refused the stream" }
        : { kind: "reset", code },
    );
  }

  #windowUpdate(streamId: number, more: number): void {
    if (streamId === 0) {
      if (this.#sender.widen(more)) return this.#sender.pumpAll();
      return this.#fail(H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
    }
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    stream.sendWindow += more;
    if (more === 0 || stream.sendWindow > MAX_31_BITS) {
      this.#break(stream, H2_ERROR.FLOW_CONTROL_ERROR, "a window is wrong");
    } else this.#sender.pump(stream);
  }

  /** A stream that has ended may still be spoken of; one to come may not. */
  #streamOf(streamId: number): ClientStream | undefined {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      const wasOpen = streamId % 2 === 1 && streamId < this.#nextId;
      if (!wasOpen) {
        this.#fail(
          H2_ERROR.PROTOCOL_ERROR,
          "a frame of a stream that was not opened",
        );
      }
    }
    return stream;
  }

  #data(
    streamId: number,
    { content, flowBytes, isLast }: {
      readonly content: ByteSpan | undefined;
      readonly flowBytes: number;
      readonly isLast: boolean;
    },
  ): void {
    this.#receivedBytes += flowBytes;
    // Streams have windows of their own: one that waits must not hold others.
    if (this.#receivedBytes >= CONNECTION_WINDOW_BYTES / 2) {
      this.#sender.returnRoom(0, this.#receivedBytes);
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
      return this.#fail(H2_ERROR.PROTOCOL_ERROR, "padding is wrong");
    }
    if (stream.head === undefined) {
      const code = H2_ERROR.PROTOCOL_ERROR;
      return this.#break(stream, code, "data before headers");
    }
    const loss = stream.data(content);
    if (loss !== undefined) {
      this.#reset(stream, H2_ERROR.CANCEL);
      return stream.listener.lost(loss);
    }
    if (stream.isClosed) return;
    if (!isLast) return this.#returnRoom(stream);
    // The status is in trailers, or in headers that nothing follows.
    const { head } = stream;
    this.#finish(stream, {
      ...head,
      grpcStatus: undefined,
      grpcMessage: undefined,
    });
  }

  #head(
    streamId: number,
    { head, isLast }: { readonly head: ResponseHead; readonly isLast: boolean },
  ): void {
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    if (head.sizeBytes > MAX_HEADER_LIST_BYTES) {
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
      this.#receiver.earn(1);
    } else {
      // The page of a proxy, whose status says what is to be known.
      this.#reset(stream, H2_ERROR.CANCEL);
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
      this.#sender.reset(stream.id, H2_ERROR.NO_ERROR);
    }
    this.#receiver.earn(1);
    this.#forget(stream);
    stream.listener.ended(head);
  }

  #break(stream: ClientStream, code: H2ErrorCode, reason: string): void {
    this.#reset(stream, code);
    stream.listener.lost({ kind: "broken", reason });
  }

  #reset(stream: ClientStream, code: H2ErrorCode): void {
    if (!this.#isOver) this.#sender.reset(stream.id, code);
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
    this.#sender.returnRoom(stream.id, unreturnedBytes);
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
    this.#sender.ping(KEEPALIVE_PING, { isAnswer: false });
    this.#sender.flush();
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

  /** A connection error (RFC 9113, section 5.4.1). */
  #fail(code: H2ErrorCode, reason: string): void {
    if (this.#isOver) return;
    this.#sender.goaway(code, reason);
    this.#end({
      kind: "lost",
      reason: this.#receiver.hasSettings
        ? `the server broke the rules of HTTP/2: ${reason}`
        : "the server does not begin as HTTP/2 does; it may speak HTTP/1, or TLS",
    });
  }

  /** Sends what there is to send, and nothing after it. */
  #end(loss: StreamLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.end();
    const { wheel } = this.#options;
    wheel.remove(this.#keepalive);
    wheel.remove(this.#silence);
    this.#sender.flush();
    this.#port.end();
    if (!this.#isRetired) {
      this.#isRetired = true;
      this.#options.onRetired();
    }
    if (loss.kind === "lost") this.#first.resolve(loss.reason);
    for (const stream of [...this.#streams.values()]) this.#lose(stream, loss);
  }

  /** Within a read, all is sent at its end. */
  #flushSoon(): void {
    if (!this.#isReading) this.#sender.flushSoon();
  }

  #stuck(): void {
    if (this.#isOver) return;
    this.#end({ kind: "lost", reason: "the server takes no requests" });
    this.#port.destroy();
  }
}

/** Headers that come before those of the answer (RFC 9110, section 15.2). */
function isInformational({ status }: ResponseHead): boolean {
  return status?.startsWith("1") ?? false;
}
